"""One call on its way along the road: what is known of it so far, and how long it may take."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

from openjarvis.core.cancellation import Cancellation
from openjarvis.core.types import ToolCall, ToolResult
from openjarvis.execution.approval import Approver
from openjarvis.execution.deadline import TimedOut
from openjarvis.execution.entry import Entry
from openjarvis.execution.guard import RepeatGuard
from openjarvis.execution.record import CallRecord, Detail, Outcome


@dataclass(slots=True)
class Run:
    """What the calls of one run share: one `generate`, one turn of an agent, one call of a host.

    `approve` replaces the executor's approver for this run. `records` gets every call as it ends,
    in that order. `on_progress(call_id, text)` hears what running tools say.
    """

    context: Any = None
    approve: Approver | None = None
    agent: str = ""
    step: int = 1
    guard: RepeatGuard = field(default_factory=RepeatGuard)
    records: list[CallRecord] = field(default_factory=list)
    on_progress: Callable[[str, str], None] | None = None
    run_id: str = field(default_factory=lambda: uuid4().hex)


class Stopped(Exception):
    """A call ends before its tool has run to its end; `text` is what the model is told."""

    def __init__(
        self,
        outcome: Outcome,
        detail: Detail | None,
        text: str,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(text)
        self.outcome = outcome
        self.detail = detail
        self.text = text
        self.metadata = metadata or {}


class Performed(NamedTuple):
    """A finished call: what goes back to the model, and what is kept."""

    result: ToolResult
    record: CallRecord


class Trip:
    """The state of one call. The thread that called owns it; the worker only starts the tool."""

    __slots__ = (
        "_gate",
        "_is_given_up",
        "_started",
        "arguments",
        "asked_seconds",
        "audit_row",
        "began",
        "call",
        "cancellation",
        "found",
        "input",
        "key",
        "keywords",
        "performed",
        "repaired",
        "run",
        "stage",
        "started_at",
        "step",
    )

    def __init__(self, call: ToolCall, run: Run) -> None:
        if type(call.name) is not str or type(call.id) is not str:
            call = ToolCall(str(call.id), str(call.name), call.arguments)
        self.call = call
        self.input = call.arguments if type(call.arguments) is str else str(call.arguments)
        self.run = run
        self.step = run.step
        self.began = time.perf_counter()
        self.started_at = datetime.now(UTC)
        self.found: Entry | None = None
        self.arguments: dict[str, Any] | None = None
        self.repaired: str | None = None
        self.keywords: dict[str, Any] = {}
        self.key: tuple[str, str] | None = None
        self.asked_seconds: float | None = None
        self.audit_row: int | None = None
        self.performed: Performed | None = None
        self.stage = 0
        self.cancellation = Cancellation()
        self._started: float | None = None
        self._is_given_up = False
        self._gate = Lock()

    @property
    def entry(self) -> Entry:
        """The tool of a call that was found."""
        if self.found is None:
            raise AssertionError(f"{self.call.name!r} was not found, and yet went on")
        return self.found

    @property
    def is_running(self) -> bool:
        """Whether the tool has been started."""
        return self._started is not None

    def start(self, note: Callable[["Trip"], None]) -> bool:
        """Start the tool's clock, having noted it; False when the caller has given the call up."""
        with self._gate:
            if self._is_given_up:
                return False
            note(self)
            self._started = time.monotonic()
            return True

    def give_up(self) -> bool:
        """Keep the tool from starting; False when it has started already."""
        with self._gate:
            self._is_given_up = True
            return self._started is None

    def waits(self, slack: float = 0.0) -> Iterator[float]:
        """Yield how long to wait for the call, in seconds, again and again until its time is over.

        `slack` is added to the tool's time where the tool watches its own deadline.

        Raises:
            TimedOut: when there is nothing left to wait for: the approver had `asked_seconds`, the
                tool has its own time from its start. `is_running` tells them apart.
        """
        entry = self.entry
        asked = time.monotonic()
        allowed = entry.seconds if self.asked_seconds is None else self.asked_seconds
        yield min(allowed, entry.seconds)
        while True:
            if self._started is not None:
                left = self._started + entry.seconds + slack - time.monotonic()
                if left <= 0:
                    raise TimedOut(entry.seconds, is_running=True)
            else:
                left = asked + allowed - time.monotonic()
                if left <= 0 and self.give_up():
                    raise TimedOut(allowed, is_running=False)
            yield max(left, 0.001)
