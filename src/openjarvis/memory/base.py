"""What every memory offers, and the words in which it speaks."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from openjarvis.core.errors import Unavailable

Embedder = Callable[[list[str]], list[list[float]]]
"""Turns texts into vectors, all of one dimension."""


class MemoryFailed(Unavailable):
    """A memory that cannot do what was asked; the text says why and what to do.

    It names no password and no host, so it may be shown to a model.
    """


@dataclass(slots=True)
class RetrievalResult:
    """A stored text that matched; a higher `score` is a better match, and all are above zero."""

    content: str
    score: float = 0.0
    source: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str = ""


def numbered(results: Iterable[RetrievalResult]) -> str:
    """Return results as a person reads them: numbered, with source and score."""
    return "\n\n".join(
        f"{number}. {result.source or 'no source'} [{result.score:.2f}]\n{result.content}"
        for number, result in enumerate(results, 1)
    )


@dataclass(frozen=True, slots=True)
class Document:
    """A text to store, where it came from, and what else is known of it (JSON)."""

    content: str
    source: str = ""
    metadata: dict[str, Any] | None = None


class MemoryBackend(ABC):
    """Keeps texts and finds them again by their words.

    Any thread may call any method. The methods raise `MemoryFailed` when the store cannot be
    reached, read or written.
    """

    backend_id: str = "memory"

    @property
    def file_index(self) -> "FileIndex | None":
        """What follows files as they change, for a memory that can."""
        return None

    @abstractmethod
    def store(
        self, content: str, *, source: str = "", metadata: dict[str, Any] | None = None
    ) -> str:
        """Keep `content` and return its id, once it is safe.

        Every call makes a new entry with an id of its own, the same content and source too.
        """

    @abstractmethod
    def retrieve(self, query: str, *, top_k: int = 5) -> list[RetrievalResult]:
        """Return at most `top_k` texts that share a word with `query`, the best first.

        The query is plain text: no character in it is syntax. A blank one finds nothing. The
        databases here give at most 10,000.
        """

    @abstractmethod
    def delete(self, id: str) -> bool:  # noqa: A002 - the documented name
        """Forget an entry; False when there is none of this id."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of entries."""

    @abstractmethod
    def close(self) -> None:
        """Release what the memory holds open; closing twice is fine."""

    def store_many(self, documents: Iterable[Document]) -> list[str]:
        """Keep all `documents` and return their ids in order; quicker than one by one."""
        return [
            self.store(document.content, source=document.source, metadata=document.metadata)
            for document in documents
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class FileIndex(ABC):
    """What a memory offers beside, when it can follow files as they change."""

    @abstractmethod
    def indexed_files(self, folder: str | None = None) -> dict[str, str]:
        """Return the digests of the files known, by path: all, or those at `folder` or below."""

    @abstractmethod
    def replace_file(self, path: str, digest: str, documents: Sequence[Document]) -> None:
        """Put `documents` in the place of all that was known of the file, in one step."""

    @abstractmethod
    def forget_file(self, path: str) -> None:
        """Remove the file and what was stored of it."""
