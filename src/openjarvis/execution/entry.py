"""A tool as the executor keeps it: its spec read once, its schema compiled, its calls counted."""

import inspect
from collections.abc import Callable
from typing import Any

from openjarvis.core import background_loop
from openjarvis.core.workers import Job
from openjarvis.toolkit.base import BaseTool, Tool, ToolSpec, openai_function
from openjarvis.toolkit.check import Checker
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.toolset import RenamedTool
from openjarvis.toolkit.typed import SignatureTool

_CONTAINERS = (dict, list)
MAX_LEFT_RUNNING = 8
"""How many calls of one tool may hang behind their deadline before it is not started again."""


class Entry:
    """One tool of an executor. Only `left_running` changes, and any thread may change it."""

    __slots__ = (
        "_target",
        "checker",
        "is_async",
        "left_running",
        "seconds",
        "signature",
        "spec",
        "tool",
    )

    def __init__(self, tool: Tool, default_timeout: float) -> None:
        """Read `tool`.

        Raises:
            ToolDefinitionError: when its parameters are no JSON Schema.
        """
        self.tool = tool
        self.spec: ToolSpec = tool.spec
        self.checker = Checker(self.spec.parameters, owner=self.spec.name)
        self.seconds = self.spec.timeout_seconds or default_timeout
        target: Any = tool.inner if isinstance(tool, RenamedTool) else tool
        self._target = target
        self.signature = target if isinstance(target, SignatureTool) else None
        self.is_async = (
            target.is_async
            if isinstance(target, SignatureTool)
            else inspect.iscoroutinefunction(target.execute)
        )
        self.left_running: list[Job] = []

    def keywords(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return checked `arguments` as what the tool is called with; nothing is shared with them.

        Raises:
            ArgumentsError: naming each value that is of no use.
        """
        copied: dict[str, Any] = json_copy(arguments)
        return copied if self.signature is None else self.signature.bind(copied)

    def invoke(self, keywords: dict[str, Any], context: Callable[[], ToolContext]) -> Any:
        """Call the tool; an async one gives its coroutine."""
        if self.signature is None:
            value = self._target.execute(**keywords)
        elif self.signature.signature.context_parameter is None:
            value = self.signature.target(**keywords)
        else:
            value = self.signature.invoke(keywords, context())
        if not self.is_async and inspect.iscoroutine(value):
            return background_loop.run(value)  # async behind a plain face: a partial, a lambda
        return value

    def definition(self) -> dict[str, Any]:
        """Return the definition that an OpenAI-compatible model gets."""
        if isinstance(self.tool, BaseTool):
            return self.tool.to_openai_function()
        return openai_function(self.spec)

    def is_hung(self) -> bool:
        """Tell whether so many calls hang behind their deadline that no more should be started."""
        if not self.left_running:
            return False
        self.left_running = [job for job in self.left_running if not job.is_done()]
        return len(self.left_running) >= MAX_LEFT_RUNNING


def json_copy(value: Any) -> Any:
    """Return a copy of JSON values that shares nothing that can be changed."""
    if type(value) is dict:
        for item in value.values():
            if type(item) in _CONTAINERS:
                return {key: json_copy(item) for key, item in value.items()}
        return value.copy()  # flat, as the arguments of most calls are
    if type(value) is list:
        return [json_copy(item) for item in value]
    return value
