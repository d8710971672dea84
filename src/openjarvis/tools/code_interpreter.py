"""The tool that runs a piece of Python in a sandboxed process."""

from typing import Annotated, Self

from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.sandbox.session import Sandbox
from openjarvis.toolkit.services import Services
from openjarvis.tools.sandboxed import SandboxedTool, SandboxSettings, require_code
from openjarvis.tools.settings import settings_of


@ToolRegistry.register("code_interpreter")
class CodeInterpreterTool(SandboxedTool):
    """Run Python code and return what it prints, with the value of a last expression.

    Call it to compute, to work on data, or to try out code. Each call starts afresh; it sees no
    network and none of the user's files.
    """

    name = "code_interpreter"
    examples = (
        ("Run this Python: print(sum(range(10)))", {"code": "print(sum(range(10)))"}),
        "Use Python to work out the standard deviation of 3, 5 and 9",
    )

    def __init__(
        self, timeout: float = 30, max_output: int = 10_000, *, sandbox: Sandbox | None = None
    ) -> None:
        """Give the code `timeout` seconds and show `max_output` characters of what it writes."""
        super().__init__(
            sandbox or SandboxSettings(timeout=timeout).sandbox(), max_output=max_output
        )

    @classmethod
    def build(cls, services: Services) -> Self:
        settings = settings_of(services, cls.name, SandboxSettings)
        return cls(max_output=settings.max_output, sandbox=settings.sandbox())

    def run(self, code: Annotated[str, "The Python code to run"] = "") -> ToolResult:
        require_code(code)
        return self._result(self._sandbox.run(code))
