"""Twenty calls in one turn, each taking 50 ms."""

import asyncio
import time

from benchmarks.measure import cost_of_all, row
from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.trip import Run
from openjarvis.toolkit.function import tool

CALLS = 20


@tool
def wait(number: int) -> int:
    time.sleep(0.05)
    return number


@tool
async def wait_async(number: int) -> int:
    await asyncio.sleep(0.05)
    return number


def calls(name: str) -> list[ToolCall]:
    return [ToolCall(str(n), name, f'{{"number": {n}}}') for n in range(CALLS)]


if __name__ == "__main__":
    road = ToolExecutor([wait, wait_async])
    for name in ("wait", "wait_async"):
        batch = calls(name)
        sync = cost_of_all(lambda batch=batch: road.perform_all(batch, Run()), times=1)
        row(f"{CALLS} calls of {name}, sync driver", sync.wall / 1e3, "ms", 75)
        concurrent = cost_of_all(
            lambda batch=batch: asyncio.run(road.aperform_all(batch, Run())), times=1
        )
        row(f"{CALLS} calls of {name}, async driver", concurrent.wall / 1e3, "ms", 75)
