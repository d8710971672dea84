"""Memory in one SQLite file: FTS5 over the segmenter's terms, durable and shared by processes."""

import os
from collections.abc import Sequence
from pathlib import Path

from openjarvis.core.events import EventBus, get_event_bus
from openjarvis.core.registry import MemoryRegistry
from openjarvis.memory import sqlite_entries as statements
from openjarvis.memory.base import Embedder, MemoryFailed
from openjarvis.memory.connections import IN_MEMORY, Connections
from openjarvis.memory.ranked import Entry, FileVersion, RankedMemory, Row
from openjarvis.memory.ranking import Corpus, Plan
from openjarvis.memory.segment import Query
from openjarvis.memory.sqlite_schema import prepare
from openjarvis.memory.vectors import Vector

DEFAULT_PATH = "~/.openjarvis/memory.db"


@MemoryRegistry.register("sqlite")
class SQLiteMemory(RankedMemory):
    """Keeps texts in one file and finds them by BM25, in any script.

    Any threads and processes may use one file at once. What `store` returned for is on the disk.
    With an `embedder`, texts are found by meaning too, and the two rankings are fused.

    Raises:
        MemoryFailed: when the file cannot be opened, or is no memory.
    """

    backend_id = "sqlite"

    def __init__(
        self, db_path: str | Path = DEFAULT_PATH, *, embedder: Embedder | None = None
    ) -> None:
        super().__init__(embedder)
        self.path = IN_MEMORY if str(db_path) == IN_MEMORY else str(_private_file(db_path))
        self._database = Connections(self.path)
        try:
            prepare(self._database)
        except MemoryFailed:
            self._database.close()
            raise

    def count(self) -> int:
        return self._database.read(statements.count)

    def clear(self) -> None:
        self._database.write(statements.clear)

    def close(self) -> None:
        self._database.close()

    def forget_file(self, path: str) -> None:
        self._database.write(lambda database: statements.forget_file(database, path))

    def _files_between(self, folder: str, below: str, past: str) -> dict[str, str]:
        return self._database.read(
            lambda database: statements.indexed_files(database, folder, below, past)
        )

    def _bus(self) -> EventBus:
        return get_event_bus()

    def _insert(self, entries: Sequence[Entry], *, file: FileVersion | None) -> list[int]:
        return self._database.write(lambda database: statements.insert(database, entries, file))

    def _delete(self, key: int) -> bool:
        return self._database.write(lambda database: statements.remove(database, [key])) > 0

    def _corpus(self, query: Query) -> Corpus:
        return self._database.read(lambda database: statements.corpus(database, query))

    def _candidates(self, search: Plan, corpus: Corpus, limit: int) -> list[Row]:
        return self._database.read(lambda database: statements.candidates(database, search, limit))

    def _nearest(self, vector: Vector, limit: int) -> list[Row]:
        return self._database.read(
            lambda database: statements.nearest(database, self._held, vector, limit)
        )

    def _forget_vectors(self) -> None:
        self._database.write(statements.forget_vectors)

    def _contents_after(self, key: int, limit: int) -> list[tuple[int, str]]:
        return self._database.read(lambda database: statements.contents_after(database, key, limit))

    def _add_vectors(self, vectors: Sequence[tuple[int, Vector]]) -> None:
        self._database.write(lambda database: statements.add_vectors(database, vectors))


def _private_file(path: str | Path) -> Path:
    """Return the absolute path of a file that is there and, when new, its owner's only."""
    file = Path(path).expanduser().absolute()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as exc:
        raise MemoryFailed(f"The memory {str(path)!r} cannot be opened: {exc.strerror}.") from exc
    return file
