"""The database under the store: one small interface, and SQLite behind it.

The statements are written once, with `?` for parameters and nothing that only one database
understands; `postgres` gives the same interface over PostgreSQL.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Protocol

from openjarvis.core.wal import use_wal

Row = dict[str, Any]
Execute = Callable[..., list[Row]]
"""Runs one statement with a sequence of parameters and returns its rows."""

BUSY_SECONDS = 30.0
"""How long a statement waits for another process's transaction."""


class Database(Protocol):
    """What the store needs of a database; any thread may call any method."""

    serial_key: str
    """The column type of a primary key that counts by itself."""

    def transaction(self, *, migrating: bool = False) -> AbstractContextManager[Execute]:
        """Run statements as one: all of them or, when the block raises, none.

        `migrating` keeps every other migration out until the block ends.
        """

    def query(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of one reading statement."""

    def close(self) -> None:
        """Let go of the database; closing twice is fine."""


class SQLiteDatabase:
    """A SQLite file in WAL mode, readable by its owner only."""

    serial_key = "INTEGER PRIMARY KEY AUTOINCREMENT"

    def __init__(self, path: str | Path) -> None:
        self._lock = RLock()
        self._connection = sqlite3.connect(
            _private_file(path),
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        self._connection.row_factory = _as_dict
        use_wal(self._connection)
        self._connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def transaction(self, *, migrating: bool = False) -> Iterator[Execute]:
        # IMMEDIATE takes the write lock first, so what is read inside cannot change before it is
        # written; that keeps out other migrations too.
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.query
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def query(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        with self._lock:
            return self._connection.execute(statement, parameters).fetchall()

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def _private_file(path: str | Path) -> str:
    if str(path) == ":memory:":
        return ":memory:"
    file = Path(path).expanduser()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    return str(file)


def _as_dict(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> Row:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}
