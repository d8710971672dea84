"""Stand-ins for a clock and for a system that answers prompts."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

from openjarvis.scheduler.store import SchedulerStore

MakeStore = Callable[[], SchedulerStore]
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


class FakeClock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


class FakeSystem:
    """Answers prompts with `answer(prompt)` and remembers what it was asked."""

    def __init__(self, answer: Callable[[str], str] = lambda prompt: f"done: {prompt}") -> None:
        self.answer = answer
        self.prompts: list[str] = []
        self.requests: list[dict[str, Any]] = []

    def ask_full(self, prompt: str, **request: Any) -> dict[str, Any]:
        self.prompts.append(prompt)
        self.requests.append(request)
        return {"content": self.answer(prompt)}


class Gate:
    """An answer that waits until it is let through."""

    def __init__(self) -> None:
        self.entered = Event()
        self.opened = Event()

    def __call__(self, prompt: str) -> str:
        self.entered.set()
        assert self.opened.wait(10), "nobody opened the gate"
        return prompt
