"""One validated call from JSON text to `ToolResult`, with approver, events and record."""

import asyncio
from typing import Any

from benchmarks.measure import Cost, bare_call, cost, cost_of_all, pin_to_one_cpu, row
from openjarvis.core.events import EventBus, EventType
from openjarvis.core.types import ToolCall, ToolResult
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.policy import policy
from openjarvis.execution.trip import Run
from openjarvis.toolkit.base import BaseTool, ToolSpec
from openjarvis.toolkit.function import tool

REPEATABLE = {"repeatable": True}


@tool(metadata=REPEATABLE)
def add(a: int, b: int = 1) -> int:
    return a + b


@tool(metadata=REPEATABLE)
async def add_async(a: int, b: int = 1) -> int:
    return a + b


class Add(BaseTool):
    tool_id = "add_class"
    spec = ToolSpec(
        "add_class",
        "Add.",
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a"],
        },
        metadata=REPEATABLE,
    )

    def execute(self, **params: Any) -> ToolResult:
        return ToolResult("add_class", str(params["a"] + params["b"]))


def call(name: str) -> ToolCall:
    return ToolCall("c1", name, '{"a": 3, "b": 4}')


async def allow(request: object) -> bool:
    return True


def executor(approve: Any) -> ToolExecutor:
    bus = EventBus()
    bus.subscribe(EventType.TOOL_CALL_START, lambda event: None)
    bus.subscribe(EventType.TOOL_CALL_END, lambda event: None)
    return ToolExecutor([add, add_async, Add()], bus, approve=approve)


def sync_cost(name: str, approve: Any) -> Cost:
    road, made = executor(approve), call(name)

    def one() -> None:
        run.records.clear()
        road.perform(made, run)

    run = Run()
    return cost(one, times=2_000)


def async_cost(name: str, approve: Any) -> Cost:
    road, made, run = executor(approve), call(name), Run()

    async def many() -> None:
        for _ in range(5_000):
            run.records.clear()
            await road.aperform(made, run)

    return cost_of_all(lambda: asyncio.run(many()), times=5_000)


def table(title: str) -> None:
    bare = bare_call().cpu
    print(f"{title}; json.loads and a bare call: {bare:.2f} CPU µs")
    for name, one, budget in (
        ("typed async tool, async approver", async_cost("add_async", allow), 15),
        ("typed async tool, policy", async_cost("add_async", policy()), 15),
        ("typed sync tool within its deadline, policy", sync_cost("add", policy()), 30),
        ("typed sync tool, plain approver", sync_cost("add", lambda request: True), 30),
        ("spec class, hand-written schema, policy", sync_cost("add_class", policy()), 30),
    ):
        row(name, one.cpu, "CPU µs", budget, f"{one.cpu / bare:.1f}x bare, wall {one.wall:.1f} µs")


if __name__ == "__main__":
    table("on all processors")
    if pin_to_one_cpu():
        table("on one processor")
