"""The tool that runs the code blocks of `rlm`, in the session of one run."""

from typing import Annotated

from openjarvis.agents.code_protocol import MAX_OUTPUT
from openjarvis.agents.rlm_prelude import ASK, PRELUDE, REPORT
from openjarvis.agents.rlm_queries import Queries
from openjarvis.core.types import ToolResult
from openjarvis.sandbox.code_output import code_result
from openjarvis.sandbox.isolation import SandboxRefused
from openjarvis.sandbox.session import Sandbox
from openjarvis.toolkit.typed import TypedTool

RLM_REPL = "rlm_repl"


class RLMRepl(TypedTool):
    """Run Python in the session that holds the context."""

    name = RLM_REPL
    category = "code"
    destructive = False
    open_world = False
    metadata = {"repeatable": True}  # noqa: RUF012 - state changes between equal calls
    # The code has the session's time; its questions to sub-models take theirs on top of it.
    timeout_seconds = 3_600.0

    def __init__(self, sandbox: Sandbox, context: str, queries: Queries) -> None:
        """Open the session.

        Raises:
            SandboxRefused: when it cannot be opened, or does not take the context.
        """
        self._sandbox = sandbox
        self._queries = queries
        self._session = sandbox.open()
        steps = (
            self._session.connect(ASK, queries.answer),
            self._session.run(PRELUDE),
            self._session.define("context", context),
        )
        failed = next((step for step in steps if step.returncode or step.ending), None)
        if failed is not None:
            self.close()
            raise SandboxRefused(
                f"The session could not take the context: {failed.ending or failed.stderr[:500]}"
            )

    def run(self, code: Annotated[str, "The Python code to run"]) -> ToolResult:
        execution = self._session.run(code)
        self._session.run(REPORT)
        lost = execution.ending is not None
        return code_result(
            self.name,
            execution,
            sandbox=self._sandbox.isolation.describe(),
            seconds=self._sandbox.limits.timeout_seconds,
            max_output=MAX_OUTPUT,
            note="The session is over, and `context` with it. Give your answer." if lost else "",
        )

    def close(self) -> None:
        """End the session."""
        self._session.close()
