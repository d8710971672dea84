"""The tool that keeps a Python session: what one call defines, the next one sees."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

from openjarvis.core.errors import ToolError
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.sandbox.code_output import code_result
from openjarvis.sandbox.limits import Limits
from openjarvis.sandbox.session import Sandbox
from openjarvis.sandbox.sessions import Sessions
from openjarvis.toolkit.base import ToolSpec
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool
from openjarvis.tools.code_interpreter import STARTING_SECONDS
from openjarvis.tools.settings import settings_of


@dataclass(frozen=True, slots=True)
class ReplSettings:
    """`[tools.repl]`; `allow_unsandboxed` runs code even where it could read files."""

    timeout: float = 30.0
    max_output: int = 10_000
    max_sessions: int = 8
    idle_seconds: float = 1800.0
    memory_mb: int = 1024
    allow_unsandboxed: bool = False


@ToolRegistry.register("repl")
class ReplTool(TypedTool):
    """Run Python code in a session whose variables, functions and imports stay for the next call.

    Call it for work in several steps on the same data. It echoes the value of a last expression. It
    sees no network and none of the user's files.
    """

    name = "repl"
    category = "code"
    destructive = False
    open_world = False
    metadata = {"repeatable": True}  # noqa: RUF012 - state changes between equal calls
    required = ("code",)
    examples = (
        ("In the Python session, set x to 42", {"code": "x = 42"}),
        "Load these numbers into the Python session and then plot their mean",
    )

    def __init__(
        self,
        timeout: float = 30,
        max_output: int = 10_000,
        max_sessions: int = 8,
        *,
        sandbox: Sandbox | None = None,
        allow_unsandboxed: bool = False,
    ) -> None:
        """Keep at most `max_sessions`, each call with `timeout` seconds."""
        self._max_output = max_output
        self._sandbox = sandbox or Sandbox(
            Limits(timeout_seconds=timeout), allow_unsandboxed=allow_unsandboxed
        )
        self._sessions = Sessions(self._sandbox, most=max_sessions)

    @classmethod
    def build(cls, services: Services) -> Self:
        settings = settings_of(services, cls.name, ReplSettings)
        limits = Limits(
            timeout_seconds=settings.timeout,
            memory_bytes=settings.memory_mb << 20,
            idle_seconds=settings.idle_seconds,
        )
        sandbox = Sandbox(limits, allow_unsandboxed=settings.allow_unsandboxed)
        return cls(
            max_output=settings.max_output, max_sessions=settings.max_sessions, sandbox=sandbox
        )

    @cached_property
    def spec(self) -> ToolSpec:
        seconds = self._sandbox.limits.timeout_seconds + STARTING_SECONDS
        return replace(super().spec, timeout_seconds=seconds)

    def run(
        self,
        code: Annotated[str, "The Python code to run"] = "",
        session_id: Annotated[str, "Which session; each name has variables of its own"] = "default",
        reset: Annotated[bool, "Forget everything of the session first"] = False,
    ) -> ToolResult:
        if reset:
            self._sessions.reset(session_id)
        if not code.strip():
            return self._without_code(session_id, reset)
        turn = self._sessions.run(session_id, code)
        notes = []
        if turn.is_new_after_end:
            notes.append("The earlier session had ended; this one starts without its variables.")
        if turn.execution.ending is not None:
            notes.append("This session is over and its variables are lost; other sessions go on.")
        result = code_result(
            self.name,
            turn.execution,
            sandbox=self._sandbox.isolation.describe(),
            seconds=self._sandbox.limits.timeout_seconds,
            max_output=self._max_output,
            note="\n".join(notes),
        )
        result.metadata |= {"session_id": session_id, "execution_count": turn.count}
        return result

    def close(self) -> None:
        """End all sessions."""
        self._sessions.close()

    def _without_code(self, session_id: str, was_reset: bool) -> ToolResult:
        if not was_reset:
            raise ToolError("No code: give the Python code to run.")
        return ToolResult(
            self.name,
            f"The session {session_id[:80]!r} was reset.",
            metadata={"session_id": session_id, "execution_count": 0},
        )
