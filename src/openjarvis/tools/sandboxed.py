"""What the tools that run code in the sandbox share: settings, deadline, form of a result."""

from dataclasses import dataclass, replace
from functools import cached_property

from openjarvis.core.errors import ToolError
from openjarvis.core.types import ToolResult
from openjarvis.sandbox.code_output import code_result
from openjarvis.sandbox.limits import Limits
from openjarvis.sandbox.outcome import Execution
from openjarvis.sandbox.session import Sandbox
from openjarvis.toolkit.base import ToolSpec
from openjarvis.toolkit.typed import TypedTool

_STARTING_SECONDS = 25.0
"""What starting and ending a sandbox may take on a busy machine, beside the code's own time."""


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """The section of such a tool; `allow_unsandboxed` runs code even where it could read files."""

    timeout: float = 30.0
    max_output: int = 10_000
    memory_mb: int = 1024
    allow_unsandboxed: bool = False

    def sandbox(self, *, idle_seconds: float = Limits().idle_seconds) -> Sandbox:
        """Return a sandbox with these settings."""
        limits = Limits(
            timeout_seconds=self.timeout,
            memory_bytes=self.memory_mb << 20,
            idle_seconds=idle_seconds,
        )
        return Sandbox(limits, allow_unsandboxed=self.allow_unsandboxed)


class SandboxedTool(TypedTool):
    """A tool whose `run` takes `code` and gives it to `_sandbox`."""

    category = "code"
    destructive = False
    open_world = False
    required = ("code",)

    def __init__(self, sandbox: Sandbox, *, max_output: int) -> None:
        self._sandbox = sandbox
        self._max_output = max_output

    @cached_property
    def spec(self) -> ToolSpec:
        # The sandbox's own time-out tells more and leaves nothing behind: it must come first.
        seconds = self._sandbox.limits.timeout_seconds + _STARTING_SECONDS
        return replace(super().spec, timeout_seconds=seconds)

    def _result(self, execution: Execution, *, note: str = "") -> ToolResult:
        return code_result(
            self.name,
            execution,
            sandbox=self._sandbox.isolation.describe(),
            seconds=self._sandbox.limits.timeout_seconds,
            max_output=self._max_output,
            note=note,
        )


def require_code(code: str) -> None:
    """Check that there is code.

    Raises:
        ToolError: when there is none.
    """
    if not code.strip():
        raise ToolError("No code: give the Python code to run.")
