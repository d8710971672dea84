"""Tells code in a worker that nobody waits for it any more.

Python cannot stop a thread. Code that holds something that can be ended, a process say, names it
with `ended_when_cancelled`; whoever gives a call up ends it with `cancel`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock


class Cancelled(Exception):
    """Nobody waits for this call any more."""


class Cancellation:
    """What reaches one call, and the calls that it makes in its turn. Any thread may use it."""

    __slots__ = ("_ends", "_is_cancelled", "_lock")

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_cancelled = False
        self._ends: dict[object, Callable[[], object]] = {}

    def cancel(self) -> bool:
        """End what the call holds, in this thread; tell whether it held anything.

        It can hold nothing more. Twice is fine.
        """
        with self._lock:
            self._is_cancelled = True
            ends, self._ends = list(self._ends.values()), {}
        for end in ends:
            end()
        return bool(ends)

    @contextmanager
    def covering(self) -> Iterator[None]:
        """Reach what runs in the block, in this thread or task and the workers it starts.

        Raises:
            Cancelled: when the call around it was given up already.
        """
        with ended_when_cancelled(self.cancel):
            before = _present.set(self)
            try:
                yield
            finally:
                _present.reset(before)

    @contextmanager
    def _ending(self, end: Callable[[], object]) -> Iterator[None]:
        key = object()
        with self._lock:
            if self._is_cancelled:
                raise Cancelled
            self._ends[key] = end
        try:
            yield
        finally:
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
    with present._ending(end):
        yield
