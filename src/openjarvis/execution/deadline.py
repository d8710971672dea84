"""Foreign code run within its deadline: answered promptly when it is over, stopped where it can be.

Sync code runs in a worker thread, since Python cannot stop a thread: past the deadline it is left
behind and reported as still running. Async code runs in the caller's task and is cancelled.
"""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

GRACE_SECONDS = 0.25
"""How long a cancelled coroutine may clean up before it is left where it stands."""


class TimedOut(Exception):
    """The deadline of `seconds` passed; `is_running` says whether the code still runs."""

    def __init__(self, seconds: float, *, is_running: bool) -> None:
        super().__init__(f"timed out after {seconds:g} s")
        self.seconds = seconds
        self.is_running = is_running


class WithinDeadline:
    """Awaiting this drives a coroutine in the caller's own task, for at most `seconds`.

    A coroutine that never waits costs no timer. One that ignores its cancellation is closed after
    `GRACE_SECONDS`. It stays in the same task throughout, because time-outs and cancel scopes that
    the coroutine opens belong to the task they were opened in.

    Raises:
        TimedOut: when the coroutine did not end in time.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Any], seconds: float) -> None:
        self._coroutine = coroutine
        self._seconds = seconds
        self._expired = False
        self._abandoned = False

    def __await__(self) -> Generator[Any, Any, Any]:
        try:
            waited_for = self._coroutine.send(None)
        except StopIteration as end:
            return end.value
        return (yield from self._timed(waited_for))

    def _timed(self, waited_for: Any) -> Generator[Any, Any, Any]:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - only a task can have got here
        cancelled_before = task.cancelling()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._expire, task)
        try:
            value = yield from self._driven(waited_for)
        except BaseException as error:
            if not self._expired or isinstance(error, KeyboardInterrupt):
                raise
            if self._uncancel(task, cancelled_before) and isinstance(error, asyncio.CancelledError):
                raise
            raise TimedOut(self._seconds, is_running=self._abandoned) from error
        finally:
            self._timer.cancel()
        if self._expired:
            self._uncancel(task, cancelled_before)
            raise TimedOut(self._seconds, is_running=False)
        return value

    def _expire(self, task: "asyncio.Task[Any]") -> None:
        self._abandoned, self._expired = self._expired, True
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(GRACE_SECONDS, self._expire, task)
        task.cancel()

    def _driven(self, waited_for: Any) -> Generator[Any, Any, Any]:
        coroutine = self._coroutine
        try:
            while True:
                try:
                    value = yield waited_for
                except BaseException as error:
                    if self._abandoned:
                        _close(coroutine)
                        raise
                    waited_for = coroutine.throw(error)
                else:
                    waited_for = coroutine.send(value)
        except StopIteration as end:
            return end.value

    def _uncancel(self, task: "asyncio.Task[Any]", before: int) -> bool:
        """Take back our own cancellations; tell whether somebody else's remains."""
        for _ in range(2 if self._abandoned else 1):
            task.uncancel()
        return task.cancelling() > before


def _close(coroutine: Coroutine[Any, Any, Any]) -> None:
    try:
        coroutine.close()
    except RuntimeError:
        # It goes on even now. Python would close it once more when it is freed, at the latest at
        # exit, where it might never come to an end: so it is never freed.
        import ctypes  # for this alone

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(coroutine))
