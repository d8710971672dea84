"""One event loop in a daemon thread, for async code that a sync caller wants run.

Async clients keep connections that belong to a loop, so sync callers share one loop instead of
making one for each call. A loop that foreign code blocks is left behind, and a new one takes over.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any

_lock = Lock()
_loop: asyncio.AbstractEventLoop | None = None


class LoopJob:
    """A coroutine in the background loop; any thread may wait for it."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Run what `make` returns, which is called in the loop."""
        self._make = make
        self._loop = _running_loop()
        self._may_begin = [True]
        self._has_begun = Event()
        self._future = asyncio.run_coroutine_threadsafe(self._begin(), self._loop)

    async def _begin(self) -> Any:
        if not self._claim():
            return None  # it was moved to another loop
        self._has_begun.set()
        return await self._make()

    def _claim(self) -> bool:
        try:
            return self._may_begin.pop()
        except IndexError:
            return False

    def moved(self, patience: float) -> "LoopJob":
        """Return this job, or where its loop let it wait for `patience` seconds, another like it.

        The loop is then blocked by foreign code, and left behind.
        """
        if self._has_begun.wait(patience) or not self._claim():
            return self
        abandon(self._loop)
        return LoopJob(self._make)

    def wait(self, timeout: float | None) -> bool:
        """Wait at most `timeout` seconds; tell whether the coroutine has ended."""
        try:
            self._future.exception(timeout)
        except TimeoutError:
            return False
        except CancelledError:
            return True
        return True

    def is_done(self) -> bool:
        """Tell whether the coroutine has ended."""
        return self._future.done()

    def result(self) -> Any:
        """Return what the coroutine returned, or raise what it raised; only after it has ended."""
        return self._future.result()

    def cancel(self) -> None:
        """Cancel the coroutine."""
        self._future.cancel()


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return what `coroutine` returns, from a thread that has no event loop of its own."""
    job = LoopJob(lambda: coroutine)
    try:
        job.wait(None)
    except BaseException:
        job.cancel()  # an interrupted wait ends the work too
        raise
    return job.result()


def abandon(loop: asyncio.AbstractEventLoop | None = None) -> None:
    """Leave the present loop (only `loop`, if given) to what blocks it; a new one takes over."""
    global _loop
    with _lock:
        if loop is None or loop is _loop:
            _loop = None


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            Thread(target=_serve, args=(_loop,), name="openjarvis-loop", daemon=True).start()
        return _loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    while not loop.is_closed():
        # A coroutine that exits ends `run_forever` too; whoever waits for it is told, by the loop.
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=abandon)  # the thread stays in the parent
