"""What the databases share: preparing what is stored, ranking what is found, telling the bus.

A database adds how it keeps entries, counts terms and finds candidates.
"""

import json
import os
import sys
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from openjarvis.core.events import EventBus, EventType
from openjarvis.memory.base import (
    Document,
    Embedder,
    FileIndex,
    MemoryBackend,
    RetrievalResult,
)
from openjarvis.memory.ranking import CANDIDATES, Corpus, Plan, fused, plan, score
from openjarvis.memory.segment import Query, document_terms, parse_query
from openjarvis.memory.vectors import HeldVectors, Vector, embed

_EMBEDDED_AT_ONCE = 64
_MOST_FOUND = 10_000


class Entry(NamedTuple):
    """A document made ready for a database; `metadata` is JSON text, None when there is none."""

    content: str
    source: str
    metadata: str | None
    terms: list[str]
    vector: Vector | None


class Row(NamedTuple):
    """An entry as a database gives it back."""

    id: int
    content: str
    source: str
    metadata: str | None


class FileVersion(NamedTuple):
    """A file whose chunks are stored, and the digest of what it held."""

    path: str
    digest: str


class RankedMemory(MemoryBackend, FileIndex):
    """A memory over a database that indexes the segmenter's terms."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._held = HeldVectors()

    @property
    def file_index(self) -> FileIndex:
        return self

    def store(
        self, content: str, *, source: str = "", metadata: dict[str, Any] | None = None
    ) -> str:
        (key,) = self.store_many([Document(content, source, metadata)])
        return key

    def store_many(self, documents: Iterable[Document]) -> list[str]:
        entries = self._entries(documents)
        keys = [str(key) for key in self._insert(entries, file=None)]
        for key, entry in zip(keys, entries, strict=True):
            self._bus().publish(
                EventType.MEMORY_STORE,
                {"backend": self.backend_id, "doc_id": key, "source": entry.source},
            )
        return keys

    def retrieve(self, query: str, *, top_k: int = 5) -> list[RetrievalResult]:
        wanted = min(top_k, _MOST_FOUND)
        found = self._search(query, wanted) if query.strip() and wanted > 0 else []
        self._bus().publish(
            EventType.MEMORY_RETRIEVE,
            {"backend": self.backend_id, "query": query, "num_results": len(found)},
        )
        return found

    def delete(self, id: str) -> bool:  # noqa: A002 - the documented name
        # Only the spelling that `store` returned is an id: no signs, spaces or leading zeros.
        key = int(id) if id.isascii() and id.isdigit() and len(id) < 19 else 0
        return str(key) == id and self._delete(key)

    def replace_file(self, path: str, digest: str, documents: Sequence[Document]) -> None:
        self._insert(self._entries(documents), file=FileVersion(path, digest))

    def indexed_files(self, folder: str | None = None) -> dict[str, str]:
        if folder is None:
            return self._files_between("", "", chr(sys.maxunicode))
        # In bytewise order the paths below a folder stand together: between "a/" and "a0".
        below = folder.rstrip(os.sep) + os.sep
        return self._files_between(folder, below, below[:-1] + chr(ord(os.sep) + 1))

    def embed_again(self) -> int:
        """Give every entry a vector by the present embedder; return how many there were.

        For a memory that had another embedder, or none. Interrupted, it is to be called again.
        """
        self._forget_vectors()
        done = last = 0
        while batch := self._contents_after(last, _EMBEDDED_AT_ONCE):
            vectors = self._embed([content for _, content in batch])
            last = batch[-1][0]
            self._add_vectors([(key, v) for (key, _), v in zip(batch, vectors, strict=True) if v])
            done += len(batch)
        return done

    def _entries(self, documents: Iterable[Document]) -> list[Entry]:
        documents = list(documents)
        entries: list[Entry] = []
        for start in range(0, len(documents), _EMBEDDED_AT_ONCE):
            batch = documents[start : start + _EMBEDDED_AT_ONCE]
            contents = [_storable(document.content) for document in batch]
            for document, content, vector in zip(
                batch, contents, self._embed(contents), strict=True
            ):
                metadata = _metadata_text(document.metadata)
                source = _storable(document.source)
                entries.append(Entry(content, source, metadata, document_terms(content), vector))
        return entries

    def _embed(self, texts: list[str]) -> Sequence[Vector | None]:
        return embed(self._embedder, texts) if self._embedder else [None] * len(texts)

    def _search(self, query: str, top_k: int) -> list[RetrievalResult]:
        limit = max(CANDIDATES, top_k)
        found = list(self._by_words(query, limit))
        if not self._embedder:
            return [_result(row, worth) for worth, row in found[:top_k]]
        (vector,) = embed(self._embedder, [_storable(query)])
        near = self._nearest(vector, limit)
        rows = {row.id: row for row in [*near, *(row for _, row in found)]}
        ranking = fused([[row.id for _, row in found], [row.id for row in near]])
        return [_result(rows[key], worth) for key, worth in list(ranking.items())[:top_k]]

    def _by_words(self, text: str, limit: int) -> list[tuple[float, Row]]:
        query = parse_query(text)
        corpus = self._corpus(query)
        search = plan(query, corpus)
        if search is None:
            return []
        rows = self._candidates(search, corpus, limit)
        scored = ((score(query, row.content, corpus), row) for row in rows)
        found = [(worth, row) for worth, row in scored if worth > 0]
        return sorted(found, key=lambda pair: (-pair[0], pair[1].id))

    @abstractmethod
    def _bus(self) -> EventBus:
        """Return the bus that is told of stores and searches."""

    @abstractmethod
    def _insert(self, entries: Sequence[Entry], *, file: FileVersion | None) -> list[int]:
        """Keep the entries, in one step, and return their ids.

        With a file they take the place of all that was stored of it.
        """

    @abstractmethod
    def _files_between(self, folder: str, below: str, past: str) -> dict[str, str]:
        """Return the digests of the file `folder`, and of the files between the two paths."""

    @abstractmethod
    def _delete(self, key: int) -> bool:
        """Forget an entry; False when there is none of this id."""

    @abstractmethod
    def _corpus(self, query: Query) -> Corpus:
        """Return what is to be known of all texts to weigh the parts of `query`."""

    @abstractmethod
    def _candidates(self, search: Plan, corpus: Corpus, limit: int) -> list[Row]:
        """Return about the best `limit` entries for `search`, in any order."""

    @abstractmethod
    def _nearest(self, vector: Vector, limit: int) -> list[Row]:
        """Return the `limit` entries whose vectors are most like `vector`, the likest first."""

    @abstractmethod
    def _forget_vectors(self) -> None:
        """Remove all vectors, and the memory of their dimension."""

    @abstractmethod
    def _contents_after(self, key: int, limit: int) -> list[tuple[int, str]]:
        """Return ids and contents of the `limit` entries that follow `key`."""

    @abstractmethod
    def _add_vectors(self, vectors: Sequence[tuple[int, Vector]]) -> None:
        """Keep the vectors of these entries, as far as the entries still exist."""


def _result(row: Row, worth: float) -> RetrievalResult:
    metadata = json.loads(row.metadata) if row.metadata else {}
    return RetrievalResult(row.content, worth, row.source, metadata, str(row.id))


def _storable(text: str) -> str:
    """Return `text` without what no database takes: NUL and halves of surrogate pairs."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _metadata_text(metadata: dict[str, Any] | None) -> str | None:
    if not metadata:
        return None
    try:
        return _storable(json.dumps(metadata, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError) as exc:
        raise ValueError(f"The metadata of a memory must be JSON values: {exc}.") from exc
