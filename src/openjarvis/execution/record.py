"""What is kept of a call: its record, and one log line."""

import logging
import os
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from openjarvis.safety.secrets import mask_secrets

_log = logging.getLogger("openjarvis.tools")
# A library is silent until its program says where logs go.
logging.getLogger("openjarvis").addHandler(logging.NullHandler())


class Outcome(StrEnum):
    """How a call ended."""

    RAN = "ran"
    DENIED = "denied"
    FAILED = "failed"
    UNKNOWN_TOOL = "unknown_tool"
    NOT_RUN = "not_run"


class Detail(StrEnum):
    """Which kind of failure it was."""

    INVALID_ARGUMENTS = "invalid_arguments"
    RAISED = "raised"
    TIMED_OUT = "timed_out"
    REPEATED = "repeated"
    INTERRUPTED = "interrupted"


@dataclass(slots=True)
class CallRecord:
    """One call, as it was asked for and as it ended.

    `input` is the JSON text the model wrote, `repaired` the text that was read instead where it had
    to be mended, `arguments` what ran (None where nothing could be read). `output` is the text that
    went back to the model, exactly. `started_at` is in UTC, `latency_seconds` wall time.
    """

    call_id: str
    name: str
    input: str
    arguments: dict[str, Any] | None = None
    output: str = ""
    outcome: Outcome = Outcome.NOT_RUN
    detail: Detail | None = None
    latency_seconds: float = 0.0
    step: int = 1
    started_at: datetime | None = None
    repaired: str | None = None


def log_call(record: CallRecord) -> None:
    """Write the one log line of a call.

    What the model wrote is added only when `AI_LOG_PROMPT` is set, what the tool answered only when
    `AI_LOG_COMPLETION` is: a tool's output is often rows of a database.
    """
    level = logging.DEBUG if record.outcome is Outcome.RAN else logging.WARNING
    if not _log.isEnabledFor(level):
        return
    name, outcome = one_line(record.name, 64), record.outcome.value
    fields: dict[str, Any] = {"tool": name, "outcome": outcome}
    text = "llm tool %s %s tool=%s outcome=%s"
    values: list[str] = [outcome, name, name, outcome]
    for switch, field, value in (
        ("AI_LOG_PROMPT", "input", record.input),
        ("AI_LOG_COMPLETION", "output", record.output),
    ):
        if os.environ.get(switch):
            fields[field] = one_line(mask_secrets(value), 10_000)
            text += f" {field}=%s"
            values.append(fields[field])
    _log.log(level, text, *values, extra=fields)


def one_line(text: str, limit: int) -> str:
    """Return the beginning of `text` on one line, with control characters escaped."""
    cut = text[:limit] + ("…" if len(text) > limit else "")
    if cut.isprintable():
        return cut
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in cut
    )
