"""What the clients over Google's and Ollama's libraries have in common."""

from abc import ABC, abstractmethod
from threading import Lock
from typing import Any

from openjarvis.core.errors import LLMError
from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.per_loop import PerLoop

HEALTH_SECONDS = 2.0


class LibraryClient(ABC):
    """Keeps one client of a library, and one for each event loop. Any thread may use it."""

    def __init__(self, endpoint: Endpoint, *, timeout: float, max_retries: int) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._max_retries = max_retries
        self._lock = Lock()
        self._client: Any = None
        self._async_clients: PerLoop[Any] = PerLoop(self._new_async_client, self._release)

    @abstractmethod
    def models(self) -> list[str]:
        """Return the names of the models that can be asked."""

    @abstractmethod
    def _new_client(self) -> Any:
        """Return a client that blocks."""

    @abstractmethod
    def _new_async_client(self) -> Any:
        """Return a client for the running event loop."""

    @abstractmethod
    async def _release(self, client: Any) -> None:
        """Close an event loop's client."""

    def is_alive(self) -> bool:
        """Tell, soon, whether the server answers and accepts the key."""
        hasty = type(self)(self._endpoint, timeout=HEALTH_SECONDS, max_retries=0)
        try:
            hasty.models()
        except LLMError:
            return False
        finally:
            hasty.close()
        return True

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()
        self._async_clients.forget()

    def _sync_client(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._new_client()
            return self._client
