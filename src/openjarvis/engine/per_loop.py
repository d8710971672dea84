"""One value for each event loop, released when its loop ends.

Asynchronous HTTP clients keep connections that belong to one loop; a second `asyncio.run` that
meets them fails. Yet a client for each request would open a connection for each.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Makes a value for each event loop that asks, and releases it when the loop shuts down.

    Any thread may ask.
    """

    def __init__(self, make: Callable[[], T], release: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._release = release
        self._lock = Lock()
        self._owned: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[T]]] = {}

    async def get(self) -> T:
        """Return the running loop's value."""
        loop = asyncio.get_running_loop()
        with self._lock:
            owned = self._owned.get(loop)
        if owned is not None:
            return owned[0]
        owner = self._owner(loop)
        # Starting a generator does not suspend here, so nobody else of this loop comes between.
        value = await anext(owner)
        with self._lock:
            for closed in [known for known in self._owned if known.is_closed()]:
                del self._owned[closed]
            self._owned[loop] = (value, owner)
        return value

    async def _owner(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[T]:
        # A loop closes its asynchronous generators at its end: the only notice of it there is.
        value = self._make()
        try:
            yield value
        finally:
            with self._lock:
                # After `forget` the loop may have a new value already.
                if loop in self._owned and self._owned[loop][0] is value:
                    del self._owned[loop]
            await self._release(value)

    def forget(self) -> None:
        """Let go of every value; a loop that still runs releases its own."""
        with self._lock:
            self._owned = {}
