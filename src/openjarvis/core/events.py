"""The event bus: what happens in a run, told to whoever subscribed."""

import logging
import time
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from threading import Lock, current_thread, main_thread
from typing import Any, NamedTuple

from openjarvis.core.origin import origin_of

_log = logging.getLogger("openjarvis.events")

HISTORY_LIMIT = 10_000
"""How many events a recording bus keeps; the oldest go first."""


class EventType(StrEnum):
    """The kinds of events; their payload keys are listed in `docs/tools.md`."""

    TOOL_CALL_START = "tool_call_start"
    TOOL_CALL_END = "tool_call_end"
    TOOL_TIMEOUT = "tool_timeout"
    AGENT_TURN_START = "agent_turn_start"
    AGENT_TURN_END = "agent_turn_end"
    INFERENCE_START = "inference_start"
    INFERENCE_END = "inference_end"
    MEMORY_STORE = "memory_store"
    MEMORY_RETRIEVE = "memory_retrieve"
    TELEMETRY_RECORD = "telemetry_record"
    SCHEDULER_TASK_START = "scheduler_task_start"
    SCHEDULER_TASK_END = "scheduler_task_end"


class Event(NamedTuple):
    """Something that happened; `timestamp` is seconds since the epoch."""

    event_type: EventType
    timestamp: float
    data: dict[str, Any]


Subscriber = Callable[[Event], None]


class EventBus:
    """Delivers events to subscribers, in the publishing thread.

    Any thread may call any method. A subscriber that raises is logged, by the type and the line of
    what it raised; it stops neither the other subscribers nor the call that published. Only Ctrl-C
    passes, in the main thread.
    """

    def __init__(self, record_history: bool = False) -> None:
        # The table is replaced, never changed in place, so that `publish` reads it without a lock.
        self._subscribers: dict[EventType, tuple[Subscriber, ...]] = {}
        self._lock = Lock()
        self._history: deque[Event] | None = deque(maxlen=HISTORY_LIMIT) if record_history else None

    def subscribe(self, event_type: EventType, callback: Subscriber) -> None:
        """Call `callback` with every later event of this type."""
        with self._lock:
            present = self._subscribers.get(event_type, ())
            self._subscribers = {**self._subscribers, event_type: (*present, callback)}

    def unsubscribe(self, event_type: EventType, callback: Subscriber) -> None:
        """Stop calling `callback`; one that was never subscribed is fine."""
        with self._lock:
            present = list(self._subscribers.get(event_type, ()))
            if callback in present:
                present.remove(callback)
                self._subscribers = {**self._subscribers, event_type: tuple(present)}

    def publish(self, event_type: EventType, data: dict[str, Any] | None = None) -> Event:
        """Deliver an event and return it."""
        event = Event(event_type, time.time(), {} if data is None else data)
        if self._history is not None:
            self._history.append(event)
        for callback in self._subscribers.get(event_type, ()):
            try:
                callback(event)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                    raise
                _log.error("A subscriber of %s raised %s", event_type, origin_of(error))
        return event

    @property
    def history(self) -> list[Event]:
        """The events so far, oldest first; empty unless the bus was made to record."""
        return list(self._history or ())

    def clear_history(self) -> None:
        """Forget the recorded events."""
        if self._history is not None:
            self._history.clear()


_shared: EventBus | None = None
_shared_lock = Lock()


def get_event_bus() -> EventBus:
    """Return the bus that parts share when none was given to them."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = EventBus()
        return _shared


def reset_event_bus() -> None:
    """Drop the shared bus; the next `get_event_bus` makes a new one."""
    global _shared
    with _shared_lock:
        _shared = None
