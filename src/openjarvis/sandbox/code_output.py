"""What a model reads of code that ran: its output, bounded, and how it ended."""

from collections.abc import Mapping, Sequence

from openjarvis.core.types import ToolResult
from openjarvis.sandbox.outcome import Ending, Execution

_WHY = {
    Ending.TIMED_OUT: "Execution timed out after {seconds:g} s.",
    Ending.FLOODED: "The code was stopped: it wrote more output than any limit allows.",
    Ending.DISK_FULL: "The code was stopped: it wrote more to disk than it may.",
    Ending.CRASHED: "The interpreter crashed ({code}).",
    Ending.EXITED: "The interpreter ended itself ({code}).",
    Ending.CLOSED: "The session was reset or closed before this code was done.",
}


def code_result(
    tool: str,
    execution: Execution,
    *,
    sandbox: Mapping[str, Sequence[str]],
    seconds: float,
    max_output: int,
    note: str = "",
) -> ToolResult:
    """Return the result of a call: `note` comes first, then why it was ended, then the output."""
    parts = [note, _why(execution, seconds), shown(execution, max_output)]
    return ToolResult(
        tool,
        "\n".join(part for part in parts if part) or "(no output)",
        success=execution.ending is None and execution.returncode == 0,
        metadata={"returncode": execution.returncode, "sandbox": dict(sandbox)},
    )


def shown(execution: Execution, max_output: int) -> str:
    """Return standard output, then standard error, together at most `max_output` characters."""
    text = execution.stdout
    if text and execution.stderr and not text.endswith("\n"):
        text += "\n"
    text += execution.stderr
    if len(text) <= max_output and not execution.is_cut:
        return text.rstrip("\n")
    total = "more" if execution.is_cut else f"{len(text):,}"
    return f"{text[:max_output]}\n[Output truncated at {max_output:,} characters of {total}]"


def _why(execution: Execution, seconds: float) -> str:
    if execution.ending is None:
        return ""
    code = execution.returncode
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return _WHY[execution.ending].format(seconds=seconds, code=how)
