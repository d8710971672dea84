"""Threads for foreign code that blocks: daemons, handed work without a queue, never waited for.

A worker that hangs is left behind; it holds up neither the others nor the end of the process. That
is why `concurrent.futures` will not do here: its threads are joined at exit, and a pool of a fixed
size is used up by tasks that hang.
"""

import _thread
import asyncio
import contextvars
import logging
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import TIMEOUT_MAX, Thread
from typing import Any

from openjarvis.core.origin import origin_of

_log = logging.getLogger("openjarvis.workers")

MAX_IDLE = 32
"""How many threads are kept for the next job; more are made when needed and end afterwards."""


class Job:
    """A call that runs in a worker; only the thread that started it may wait for it."""

    __slots__ = ("_call", "_context", "_done", "_on_done", "error", "value")

    def __init__(self, call: Callable[[], Any], on_done: Callable[[], None] | None = None) -> None:
        self._call = call
        self._context = contextvars.copy_context()
        self._done = _thread.allocate_lock()
        self._done.acquire()
        self._on_done = on_done
        self.value: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Do the work, in the worker."""
        try:
            self.value = self._context.run(self._call)
        except BaseException as error:  # noqa: BLE001 - carried to whoever waits, whatever it is
            self.error = error

    def finish(self) -> None:
        """Tell whoever waits that the work is done."""
        self._done.release()
        if self._on_done is not None:
            try:
                self._on_done()
            except BaseException as error:  # noqa: BLE001 - the worker waits for the next job
                _log.error("What follows a job raised %s", origin_of(error))

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds; tell whether the work is done."""
        if not self._done.acquire(timeout=min(max(timeout, 0), TIMEOUT_MAX)):
            return False
        self._done.release()
        return True

    def is_done(self) -> bool:
        """Tell whether the work is done."""
        return not self._done.locked()

    def result(self) -> Any:
        """Return what the call returned, or raise what it raised; only after it is done."""
        if self.error is not None:
            raise self.error
        return self.value


class _Worker(Thread):
    def __init__(self) -> None:
        super().__init__(name="openjarvis-worker", daemon=True)
        self._wake = _thread.allocate_lock()
        self._wake.acquire()
        self._jobs: deque[Job] = deque()

    def take(self, job: Job) -> None:
        self._jobs.append(job)
        self._wake.release()

    def run(self) -> None:
        while True:
            self._wake.acquire()
            job = self._jobs.popleft()
            process = os.getpid()
            job.run()
            if os.getpid() != process:
                # The call forked and came back in the child too, where nobody waits for it: what
                # follows is the parent's to do, and so are the buffers that were copied.
                os._exit(0)
            keep = len(_idle) < MAX_IDLE
            if keep:
                _idle.append(self)
            job.finish()
            del job
            if not keep:
                return


# Appended to and popped from by any thread; both are atomic. A forked child has no threads.
_idle: list[_Worker] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


def start(call: Callable[[], Any], on_done: Callable[[], None] | None = None) -> Job:
    """Run `call` in a worker, in a copy of the caller's context.

    `on_done` is called in the worker when the call has ended, however it ended.
    """
    job = Job(call, on_done)
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.start()
    worker.take(job)
    return job


async def run_in_worker(call: Callable[[], Any]) -> Any:
    """Return what `call` returns, without blocking the event loop.

    A cancelled wait leaves the call running in its worker.
    """
    job, ended = start_async(call)
    await ended
    return job.result()


def start_async(call: Callable[[], Any]) -> "tuple[Job, asyncio.Future[None]]":
    """Run `call` in a worker; the future, of the running loop, resolves when the job is done."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def announce() -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(_resolve, ended)

    return start(call, announce), ended


def _resolve(ended: "asyncio.Future[None]") -> None:
    if not ended.done():
        ended.set_result(None)
