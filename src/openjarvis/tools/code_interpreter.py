"""The tool that runs a piece of Python in a sandboxed process."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

from openjarvis.core.errors import ToolError
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.sandbox.code_output import code_result
from openjarvis.sandbox.limits import Limits
from openjarvis.sandbox.session import Sandbox
from openjarvis.toolkit.base import ToolSpec
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool
from openjarvis.tools.settings import settings_of

STARTING_SECONDS = 25.0
"""What starting and ending a sandbox may take on a busy machine, beside the code's own time."""


@dataclass(frozen=True, slots=True)
class CodeSettings:
    """`[tools.code_interpreter]`; `allow_unsandboxed` runs code even where it could read files."""

    timeout: float = 30.0
    max_output: int = 10_000
    memory_mb: int = 1024
    allow_unsandboxed: bool = False

    def limits(self) -> Limits:
        """Return these settings as limits of a sandbox."""
        return Limits(timeout_seconds=self.timeout, memory_bytes=self.memory_mb << 20)


@ToolRegistry.register("code_interpreter")
class CodeInterpreterTool(TypedTool):
    """Run Python code and return what it prints, with the value of a last expression.

    Call it to compute, to work on data, or to try out code. Each call starts afresh; it sees no
    network and none of the user's files.
    """

    name = "code_interpreter"
    category = "code"
    destructive = False
    open_world = False
    required = ("code",)
    examples = (
        ("Run this Python: print(sum(range(10)))", {"code": "print(sum(range(10)))"}),
        "Use Python to work out the standard deviation of 3, 5 and 9",
    )

    def __init__(
        self,
        timeout: float = 30,
        max_output: int = 10_000,
        *,
        sandbox: Sandbox | None = None,
        allow_unsandboxed: bool = False,
    ) -> None:
        """Give the code `timeout` seconds and show `max_output` characters of what it writes."""
        self._max_output = max_output
        self._sandbox = sandbox or Sandbox(
            Limits(timeout_seconds=timeout), allow_unsandboxed=allow_unsandboxed
        )

    @classmethod
    def build(cls, services: Services) -> Self:
        settings = settings_of(services, cls.name, CodeSettings)
        sandbox = Sandbox(settings.limits(), allow_unsandboxed=settings.allow_unsandboxed)
        return cls(max_output=settings.max_output, sandbox=sandbox)

    @cached_property
    def spec(self) -> ToolSpec:
        seconds = self._sandbox.limits.timeout_seconds + STARTING_SECONDS
        return replace(super().spec, timeout_seconds=seconds)

    def run(self, code: Annotated[str, "The Python code to run"] = "") -> ToolResult:
        if not code.strip():
            raise ToolError("No code: give the Python code to run.")
        execution = self._sandbox.run(code)
        return code_result(
            self.name,
            execution,
            sandbox=self._sandbox.isolation.describe(),
            seconds=self._sandbox.limits.timeout_seconds,
            max_output=self._max_output,
        )
