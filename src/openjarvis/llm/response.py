"""What a run of the loop gives back."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from openjarvis.core.types import Message
from openjarvis.execution.record import CallRecord
from openjarvis.llm.limits import Limits, Spending

PAUSE = "pause"
"""An engine's finish reason for a turn that goes on when it is sent back."""


class FinishReason(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    TOOL_USE = "tool_use"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class Source:
    """Something that an answer rests on."""

    title: str
    url: str


@dataclass(slots=True, repr=False)
class Response:
    """The end of a run, or where it stands.

    `text` is the final answer; with `FinishReason.TOOL_USE` it is not, and the last calls are
    `NOT_RUN`. `steps` counts model turns, `usage` sums their tokens. `messages` is the whole
    exchange, without the system text, ready to be sent again. `spending` is what `cost_usd` is
    reckoned from, when it is asked for.
    """

    text: str = ""
    steps: int = 0
    tool_calls: list[CallRecord] = field(default_factory=list)
    finish_reason: FinishReason = FinishReason.STOP
    sources: list[Source] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    model: str = ""
    engine: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    spending: Spending = field(default_factory=lambda: Spending(Limits()))

    @property
    def cost_usd(self) -> float | None:
        """What the model turns cost in US dollars; None when it is not known."""
        return self.spending.cost_usd

    def __repr__(self) -> str:
        # Short on purpose: a long exchange in every log line and traceback helps nobody.
        return (
            f"<Response {self.finish_reason.value} after {self.steps} steps, "
            f"{len(self.tool_calls)} tool calls: {self.text[:60]!r}>"
        )


def finish_reason(said: Any, *, has_calls: bool) -> FinishReason:
    """Return an engine's finish reason as ours; an unknown one is a plain stop."""
    if said in ("length", "max_tokens", PAUSE):
        return FinishReason.LENGTH
    if said in ("content_filter", "safety", "refusal"):
        return FinishReason.CONTENT_FILTER
    return FinishReason.TOOL_USE if has_calls else FinishReason.STOP
