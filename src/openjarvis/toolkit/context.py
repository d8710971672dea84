"""What a running tool may know of its call: a parameter annotated `ToolContext` receives it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from openjarvis.core.events import EventBus


def unheard(text: str) -> None:
    """Drop progress that nobody listens to."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """One call, as the tool sees it.

    `context` is the object the caller gave to `generate(context=…)`. `progress(text)` tells the
    caller how far the tool is. `idempotency_key` is the same when the very same call is run again
    after a crash, so that a payment, say, happens once. `approve` decides about the call (an
    `openjarvis.execution.approval.Approver`, None where there is none); a tool that passes on what
    others ask puts it before the same approver.
    """

    call_id: str = ""
    context: Any = None
    bus: EventBus | None = None
    progress: Callable[[str], None] = unheard
    idempotency_key: str = ""
    approve: Any = None
