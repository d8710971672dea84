"""An event loop in a daemon thread of its own, for one server.

Servers do not share a loop: one whose answers take long to read holds up only its own tools.
"""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Lock, Thread, current_thread
from typing import Any

from openjarvis.mcp.errors import ServerUnavailable

CLOSED = "the connection was closed"


class LoopThread:
    """Runs coroutines for any thread until it is closed."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = Lock()
        self._closed = False
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, coroutine: Coroutine[Any, Any, Any]) -> "Future[Any]":
        """Start `coroutine` in the loop.

        Raises:
            ServerUnavailable: when the loop was closed.
        """
        with self._lock:
            if self._closed:
                coroutine.close()
                raise ServerUnavailable(CLOSED)
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def is_current(self) -> bool:
        """Tell whether the caller runs in this loop's thread."""
        return current_thread() is self._thread

    def close(self, timeout: float) -> None:
        """Cancel what still runs and end the thread; waits for it at most `timeout` seconds."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._loop.call_soon_threadsafe(self._loop.stop)
        if not self.is_current():
            self._thread.join(timeout)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()
