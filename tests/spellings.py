"""The same tool in each of the spellings, for tests that must hold for all of them."""

import asyncio
from collections.abc import Callable
from typing import Any

from openjarvis.core.types import ToolResult
from openjarvis.dropins import contract
from openjarvis.dropins.adapter import DropInTool
from openjarvis.toolkit.base import BaseTool, Tool, ToolSpec
from openjarvis.toolkit.function import tool
from openjarvis.toolkit.toolset import ToolSet
from openjarvis.toolkit.typed import TypedTool

SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
}
Body = Callable[[int], Any]


def typed_function(body: Body, **spec: Any) -> Tool:
    @tool("work", "Work on a number.", **spec)
    def work(number: int) -> Any:
        return body(number)

    return work


def async_function(body: Body, **spec: Any) -> Tool:
    @tool("work", "Work on a number.", **spec)
    async def work(number: int) -> Any:
        await asyncio.sleep(0)
        return body(number)

    return work


def typed_class(body: Body, **spec: Any) -> Tool:
    class Work(TypedTool):
        """Work on a number."""

        name = "work"

        def run(self, number: int) -> Any:
            return body(number)

    for field, value in spec.items():
        setattr(Work, field, value)
    return Work()


def spec_class(body: Body, **spec: Any) -> Tool:
    class Work(BaseTool):
        tool_id = "work"

        @property
        def spec(self) -> ToolSpec:
            return ToolSpec("work", "Work on a number.", SCHEMA, **spec)

        def execute(self, **params: Any) -> ToolResult:
            return ToolResult("work", str(body(params["number"])))

    return Work()


def async_spec_class(body: Body, **spec: Any) -> Tool:
    class Work(BaseTool):
        tool_id = "work"

        @property
        def spec(self) -> ToolSpec:
            return ToolSpec("work", "Work on a number.", SCHEMA, **spec)

        async def execute(self, **params: Any) -> ToolResult:  # type: ignore[override]
            await asyncio.sleep(0)
            return ToolResult("work", str(body(params["number"])))

    return Work()


def duck(body: Body, **spec: Any) -> Tool:
    class Work:
        spec = ToolSpec("work", "Work on a number.", SCHEMA)

        def execute(self, **params: Any) -> ToolResult:
            return ToolResult("work", str(body(params["number"])))

    for field, value in spec.items():
        setattr(Work.spec, field, value)
    return Work()


def dropped_in(body: Body, **spec: Any) -> Tool:
    class Work(contract.BaseTool):
        def manifest(self) -> contract.ToolManifest:
            return contract.ToolManifest(
                name="work",
                description="Work on a number.",
                parameters={"number": {"type": "integer"}},
                **spec,
            )

        def execute(self, params: dict[str, Any]) -> contract.ToolResult:
            return contract.ToolResult(success=True, data=str(body(params["number"])))

    return DropInTool(Work(), "work.py:1")


def renamed(body: Body, **spec: Any) -> Tool:
    (made,) = ToolSet([typed_function(body, **spec)]).rename({"work": "x"}).rename({"x": "work"})
    return made  # type: ignore[return-value]


SPELLINGS = [
    typed_function,
    async_function,
    typed_class,
    spec_class,
    async_spec_class,
    duck,
    dropped_in,
    renamed,
]
