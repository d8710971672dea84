"""A memory that is opened when it is first used, so that whoever may need it can hold it."""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from openjarvis.memory.base import Document, FileIndex, MemoryBackend, RetrievalResult


class LazyMemory(MemoryBackend):
    """Hands everything on to the memory that `opener` gives, once there is something to hand on."""

    def __init__(self, opener: Callable[[], MemoryBackend]) -> None:
        self._opener = opener
        self._opened: MemoryBackend | None = None
        self._lock = Lock()

    @property
    def opened(self) -> MemoryBackend:
        """The memory itself; opened now, when it was not before.

        Raises:
            MemoryFailed: when it cannot be opened.
        """
        with self._lock:
            if self._opened is None:
                self._opened = self._opener()
            return self._opened

    @property
    def backend_id(self) -> str:  # type: ignore[override]
        """The key of the memory itself."""
        return self.opened.backend_id

    @property
    def file_index(self) -> FileIndex | None:
        return self.opened.file_index

    def store(
        self, content: str, *, source: str = "", metadata: dict[str, Any] | None = None
    ) -> str:
        return self.opened.store(content, source=source, metadata=metadata)

    def store_many(self, documents: Iterable[Document]) -> list[str]:
        return self.opened.store_many(documents)

    def retrieve(self, query: str, *, top_k: int = 5) -> list[RetrievalResult]:
        return self.opened.retrieve(query, top_k=top_k)

    def delete(self, id: str) -> bool:  # noqa: A002 - the documented name
        return self.opened.delete(id)

    def clear(self) -> None:
        self.opened.clear()

    def count(self) -> int:
        return self.opened.count()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
