"""The store's database on a PostgreSQL server, for workers on many machines."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any

from openjarvis.core.errors import ConfigError
from openjarvis.core.extras import how_to_install
from openjarvis.scheduler.database import Execute, Row

if TYPE_CHECKING:
    import psycopg

SCHEMA = "openjarvis"
_KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""A server that vanished without a word is noticed within a minute."""
_MIGRATION_LOCK = 0x6A617276
"""An arbitrary number of ours: whoever holds its advisory lock may change the tables."""


class PostgresDatabase:
    """A database at a `postgresql://` address, in a schema of its own.

    A connection that was lost is made anew by the next statement.

    Raises:
        ConfigError: when it cannot be reached, or psycopg is not installed.
    """

    serial_key = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._lock = RLock()
        self._connection: psycopg.Connection[Row] | None = None
        self._connected()

    @contextmanager
    def transaction(self, *, migrating: bool = False) -> Iterator[Execute]:
        with self._lock, self._connected().transaction():
            if migrating:
                self.query("SELECT pg_advisory_xact_lock(?)", (_MIGRATION_LOCK,))
            yield self.query

    def query(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with self._lock:
            # The statements are ours, whole and constant; values travel as parameters only.
            text: Any = statement.replace("?", "%s")
            cursor = self._connected().execute(text, parameters)
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _connected(self) -> "psycopg.Connection[Row]":
        if self._connection is None or self._connection.closed:
            self._connection = _connect(self._dsn)
        return self._connection


def _connect(dsn: str) -> "psycopg.Connection[Row]":
    try:
        import psycopg
        from psycopg.rows import dict_row
    except ImportError as exc:
        raise ConfigError(
            f"A scheduler on PostgreSQL needs psycopg: {how_to_install('distributed')}."
        ) from exc
    try:
        connection = psycopg.connect(
            dsn, autocommit=True, row_factory=dict_row, connect_timeout=10, **_KEEPALIVE
        )
    except psycopg.Error as exc:
        raise ConfigError(f"The scheduler's database cannot be reached: {exc}") from exc
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    connection.execute(f"SET search_path = {SCHEMA}")
    return connection
