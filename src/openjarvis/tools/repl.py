"""The tool that keeps a Python session: what one call defines, the next one sees."""

from dataclasses import dataclass
from typing import Annotated, Self

from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.sandbox.session import Sandbox
from openjarvis.sandbox.sessions import Sessions, Turn
from openjarvis.toolkit.services import Services
from openjarvis.tools.sandboxed import SandboxedTool, SandboxSettings, require_code
from openjarvis.tools.settings import settings_of

_HAD_ENDED = "The earlier session had ended; this one starts without its variables."
_IS_OVER = "This session is over and its variables are lost; other sessions go on."


@dataclass(frozen=True, slots=True)
class ReplSettings(SandboxSettings):
    """`[tools.repl]`."""

    max_sessions: int = 8
    idle_seconds: float = 1800.0


@ToolRegistry.register("repl")
class ReplTool(SandboxedTool):
    """Run Python code in a session whose variables, functions and imports stay for the next call.

    Call it for work in several steps on the same data. It echoes the value of a last expression. It
    sees no network and none of the user's files.
    """

    name = "repl"
    metadata = {"repeatable": True}  # noqa: RUF012 - the state may differ between equal calls
    examples = (
        ("In the Python session, set x to 42", {"code": "x = 42"}),
        "Load these numbers into the Python session and then work out their mean",
    )

    def __init__(
        self,
        timeout: float = 30,
        max_output: int = 10_000,
        max_sessions: int = 8,
        *,
        sandbox: Sandbox | None = None,
    ) -> None:
        """Keep at most `max_sessions`, each call with `timeout` seconds."""
        super().__init__(
            sandbox or SandboxSettings(timeout=timeout).sandbox(), max_output=max_output
        )
        self._sessions = Sessions(self._sandbox, most=max_sessions)

    @classmethod
    def build(cls, services: Services) -> Self:
        settings = settings_of(services, cls.name, ReplSettings)
        made = cls(
            max_output=settings.max_output,
            max_sessions=settings.max_sessions,
            sandbox=settings.sandbox(idle_seconds=settings.idle_seconds),
        )
        services.to_close.add(made)
        return made

    def run(
        self,
        code: Annotated[str, "The Python code to run"] = "",
        session_id: Annotated[str, "Which session; each name has variables of its own"] = "default",
        reset: Annotated[bool, "Forget everything of the session first"] = False,
    ) -> ToolResult:
        if reset:
            self._sessions.reset(session_id)
            if not code.strip():
                return self._in_session(
                    ToolResult(self.name, f"The session {session_id[:80]!r} was reset."),
                    session_id,
                    count=0,
                )
        require_code(code)
        turn = self._sessions.run(session_id, code)
        result = self._result(turn.execution, note=_note(turn))
        return self._in_session(result, session_id, count=turn.count)

    def close(self) -> None:
        """End all sessions."""
        self._sessions.close()

    def _in_session(self, result: ToolResult, session_id: str, *, count: int) -> ToolResult:
        result.metadata |= {"session_id": session_id, "execution_count": count}
        return result


def _note(turn: Turn) -> str:
    notes = [_HAD_ENDED] if turn.is_new_after_end else []
    return "\n".join([*notes, _IS_OVER] if turn.execution.ending is not None else notes)
