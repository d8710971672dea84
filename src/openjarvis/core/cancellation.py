"""Tells code in a worker that nobody waits for it any more.

Python cannot stop a thread. Code that holds something that can be ended, a process say, names it
with `ended_when_cancelled`; whoever gives a call up ends it with `cancel`.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from openjarvis.core.origin import origin_of

_log = logging.getLogger("openjarvis.tools")


class Cancelled(Exception):
    """Nobody waits for this call any more."""


class Cancellation:
    """What reaches one call, and the calls that it makes in its turn. Any thread may use it.

    In a `with` block it reaches what runs there, in this thread or task and the workers it starts;
    the block raises `Cancelled` where the call around it was given up already.
    """

    __slots__ = ("_above", "_before", "_ends", "_is_cancelled", "_lock")

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_cancelled = False
        self._ends: dict[object, Callable[[], object]] = {}

    def __enter__(self) -> None:
        # Written out, for every call of a tool comes through here.
        self._above = _present.get()
        if self._above is not None:
            self._above.hold(self, self.cancel)
        self._before = _present.set(self)

    def __exit__(self, *_: object) -> None:
        _present.reset(self._before)
        if self._above is not None:
            self._above.release(self)

    def cancel(self) -> bool:
        """End what the call holds, in this thread; tell whether it held anything.

        It can hold nothing more. Twice is fine. An end that raises is logged, and the others come.
        """
        with self._lock:
            self._is_cancelled = True
            ends, self._ends = list(self._ends.values()), {}
        for end in ends:
            try:
                end()
            except Exception as error:  # noqa: BLE001 - a tool's own; the others must end too
                _log.error("What a cancelled call held was not ended: %s", origin_of(error))
        return bool(ends)

    def hold(self, key: object, end: Callable[[], object]) -> None:
        """Have `end` called by `cancel`, until `key` is released.

        Raises:
            Cancelled: when the call was given up before.
        """
        with self._lock:
            if self._is_cancelled:
                raise Cancelled
            self._ends[key] = end

    def release(self, key: object) -> None:
        """Let go of what was held by this key."""
        with self._lock:
            self._ends.pop(key, None)


_present: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


@contextmanager
def ended_when_cancelled(end: Callable[[], object]) -> Iterator[None]:
    """Have `end` called, in any thread, when the call that runs here is given up in the block.

    Raises:
        Cancelled: when it was given up before.
    """
    present = _present.get()
    if present is None:
        yield
        return
    key = object()
    present.hold(key, end)
    try:
        yield
    finally:
        present.release(key)
