"""Memory in PostgreSQL: the same answers as from a file, for many machines at once."""

import logging
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from openjarvis.core.events import EventBus, get_event_bus
from openjarvis.core.extras import how_to_install
from openjarvis.core.registry import MemoryRegistry
from openjarvis.memory import postgres_entries as statements
from openjarvis.memory.base import Embedder, MemoryFailed
from openjarvis.memory.postgres_schema import prepare
from openjarvis.memory.ranked import Entry, FileVersion, RankedMemory, Row
from openjarvis.memory.ranking import Corpus, Plan
from openjarvis.memory.segment import Query
from openjarvis.memory.vectors import Vector

if TYPE_CHECKING:
    from psycopg import Connection, Error

_log = logging.getLogger("openjarvis.memory")

T = TypeVar("T")

_CONNECTIONS = 10
_CONNECT_SECONDS = 10
# The connection was lost, the server is going down or coming up, or two writers stood in each
# other's way: the same work may succeed at once.
_PASSING = ("08", "57P0", "40001", "40P01")


@MemoryRegistry.register("postgres")
class PostgresMemory(RankedMemory):
    """Keeps texts in a PostgreSQL database and finds them by BM25, in any script.

    `dsn` is a connection string; its `search_path` chooses the schema of the tables. A connection
    that was lost is made again once; nothing is stored twice by that.

    Raises:
        MemoryFailed: when the database cannot be reached or used.
    """

    backend_id = "postgres"

    def __init__(self, dsn: str, *, embedder: Embedder | None = None) -> None:
        super().__init__(embedder)
        self._psycopg, pool = _libraries()
        try:
            with self._psycopg.connect(dsn, connect_timeout=_CONNECT_SECONDS) as connection:
                prepare(connection)
            self._pool = pool.ConnectionPool(
                dsn, min_size=1, max_size=_CONNECTIONS, open=True, configure=_configure
            )
        except self._psycopg.Error as exc:
            # Not chained: the text of such an error may repeat the connection string.
            raise self._failure(exc) from None

    def count(self) -> int:
        return self._run(statements.count)

    def clear(self) -> None:
        self._run(statements.clear)

    def close(self) -> None:
        self._pool.close()

    def forget_file(self, path: str) -> None:
        self._run(lambda connection: statements.forget_file(connection, path))

    def _files_between(self, folder: str, below: str, past: str) -> dict[str, str]:
        return self._run(
            lambda connection: statements.indexed_files(connection, folder, below, past)
        )

    def _bus(self) -> EventBus:
        return get_event_bus()

    def _insert(self, entries: Sequence[Entry], *, file: FileVersion | None) -> list[int]:
        # The ids are fixed before, so that work which is done again writes the same rows.
        keys = self._run(lambda connection: statements.reserve(connection, len(entries)))
        numbered = list(zip(keys, entries, strict=True))
        self._run(lambda connection: statements.insert(connection, numbered, file))
        return keys

    def _delete(self, key: int) -> bool:
        return self._run(lambda connection: statements.remove(connection, [key])) > 0

    def _corpus(self, query: Query) -> Corpus:
        return self._run(lambda connection: statements.corpus(connection, query))

    def _candidates(self, search: Plan, corpus: Corpus, limit: int) -> list[Row]:
        return self._run(
            lambda connection: statements.candidates(connection, search, corpus, limit)
        )

    def _nearest(self, vector: Vector, limit: int) -> list[Row]:
        return self._run(
            lambda connection: statements.nearest(connection, self._held, vector, limit)
        )

    def _forget_vectors(self) -> None:
        self._run(statements.forget_vectors)

    def _contents_after(self, key: int, limit: int) -> list[tuple[int, str]]:
        return self._run(lambda connection: statements.contents_after(connection, key, limit))

    def _add_vectors(self, vectors: Sequence[tuple[int, Vector]]) -> None:
        self._run(lambda connection: statements.add_vectors(connection, vectors))

    def _run(self, work: "Callable[[Connection], T]") -> T:
        """Return what `work` gives in a transaction of its own, tried twice if need be."""
        for is_last in (False, True):
            try:
                with self._pool.connection() as connection:
                    return work(connection)
            except self._psycopg.Error as exc:
                if is_last or not self._is_passing(exc):
                    raise self._failure(exc) from exc
                self._pool.check()
        raise AssertionError  # the loop returned or raised

    def _is_passing(self, error: "Error") -> bool:
        if error.sqlstate is None:
            return isinstance(error, self._psycopg.OperationalError)
        return error.sqlstate.startswith(_PASSING)

    def _failure(self, error: "Error") -> MemoryFailed:
        _log.error("The memory's database failed: %s", error.sqlstate or type(error).__name__)
        if error.sqlstate is None or error.sqlstate.startswith(_PASSING):
            return MemoryFailed("The database of the memory cannot be reached; is it running?")
        return MemoryFailed(f"The database of the memory refused: {error.diag.message_primary}.")


def _configure(connection: "Connection") -> None:
    # Compiling a search would take longer than the search.
    connection.execute("SET jit = off")
    connection.commit()


def _libraries() -> tuple[ModuleType, ModuleType]:
    try:
        import psycopg
        import psycopg_pool
    except ImportError as exc:
        raise MemoryFailed(
            f"A memory in PostgreSQL needs psycopg: {how_to_install('postgres')}."
        ) from exc
    return psycopg, psycopg_pool
