"""The loop with a scripted engine: what a step costs, at 50 steps and at 500."""

import asyncio

from benchmarks.measure import bare_call, cost_of_all, pin_to_one_cpu, row
from openjarvis import llm
from openjarvis.testing import ScriptedEngine, calls, says


@llm.tool
async def add(a: int, b: int = 1) -> int:
    return a + b


@llm.tool
def add_sync(a: int, b: int = 1) -> int:
    return a + b


def engine(name: str, steps: int) -> ScriptedEngine:
    return ScriptedEngine([calls(name, a=number) for number in range(steps - 1)] + [says("done")])


def async_step(steps: int) -> float:
    def run() -> None:
        request = llm.agenerate(
            messages=[llm.user("Go")], tools=[add], engine=engine("add", steps), max_steps=steps
        )
        asyncio.run(request)

    return cost_of_all(run, times=steps).cpu


def sync_step(steps: int) -> float:
    def run() -> None:
        llm.generate(
            messages=[llm.user("Go")],
            tools=[add_sync],
            engine=engine("add_sync", steps),
            max_steps=steps,
        )

    return cost_of_all(run, times=steps).cpu


def table(title: str) -> None:
    bare = bare_call().cpu
    print(title)
    for name, step in (("async tool", async_step), ("sync tool", sync_step)):
        few, many = step(50), step(500)
        row(f"a step of 50, {name}", few, "CPU µs", 40, f"{few / bare:.1f}x bare")
        row(f"a step of 500, {name}", many, "CPU µs", 40, f"{many / bare:.1f}x bare")
        row(f"500 against 50, {name}", many / few, "x", 1.2)


if __name__ == "__main__":
    table("on all processors")
    if pin_to_one_cpu():
        table("on one processor")
