"""SQLite connections that many threads and processes share without seeing a lock.

A connection is used by one thread at a time and goes back to the pool. Work is given as a function,
so that it can run again when another program holds the database.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock
from typing import TypeVar

from openjarvis.core.wal import use_wal
from openjarvis.memory.base import MemoryFailed

_log = logging.getLogger("openjarvis.memory")

T = TypeVar("T")

PATIENCE_SECONDS = 120.0
"""How long work waits for other programs before it gives up."""

_TRY_SECONDS = 10.0
_PAUSE_SECONDS = 0.02
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it may only be read, not written",
    sqlite3.SQLITE_CANTOPEN: "its file cannot be opened",
    sqlite3.SQLITE_NOTADB: "its file is no SQLite database",
    sqlite3.SQLITE_CORRUPT: "its file is damaged; restore a copy of it",
    sqlite3.SQLITE_IOERR: "its disk fails",
}
IN_MEMORY = ":memory:"


class Connections:
    """A pool of connections to one database file (or to one in memory, for tests)."""

    def __init__(self, path: Path | str) -> None:
        self._path = str(path)
        self._writing = Lock()
        self._lock = Lock()
        self._idle: list[sqlite3.Connection] = []
        self._owner = os.getpid()
        self._closed = False
        self._inherited: list[sqlite3.Connection] = []
        # A database in memory is its connection: there is one, and it is used in turn.
        self._turn = Lock() if self._path == IN_MEMORY else nullcontext()

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `work` reads, all of it from one state of the database.

        Raises:
            MemoryFailed: when the database cannot be read.
        """
        return self._patiently(work, begin="BEGIN")

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return what `work` gives, once all that it wrote is safe; or nothing was written.

        Raises:
            MemoryFailed: when the database cannot be written.
        """
        with self._writing:
            return self._patiently(work, begin="BEGIN IMMEDIATE")

    def close(self) -> None:
        """Close every connection; later work fails."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        if self._owner == os.getpid():
            for connection in idle:
                connection.close()

    def _patiently(self, work: Callable[[sqlite3.Connection], T], *, begin: str) -> T:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                with self._connection() as connection:
                    return _transaction(connection, work, begin=begin)
            except sqlite3.Error as exc:
                if _primary_code(exc) not in _BUSY:
                    raise _failure(exc, self._path) from exc
                if time.monotonic() > deadline:
                    raise MemoryFailed(
                        f"The memory has been in use by another program for {PATIENCE_SECONDS:.0f} "
                        "seconds; try again later."
                    ) from exc
                time.sleep(_PAUSE_SECONDS)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise MemoryFailed("This memory was closed; open it again to use it.")
            if self._owner != os.getpid():
                # A forked child may neither use nor close its parent's connections.
                self._inherited, self._idle, self._owner = self._idle, [], os.getpid()
            if self._idle:
                return self._idle.pop()
        return self._open()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed and not connection.in_transaction:
                self._idle.append(connection)
                return
        connection.close()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=_TRY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            use_wal(connection)
            # FULL: a commit is on the disk when it returns, even if the power fails then.
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("PRAGMA cache_size=-16000")
            connection.execute("PRAGMA journal_size_limit=4000000")
        except sqlite3.Error:
            connection.close()
            raise
        return connection


def _transaction(
    connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T], *, begin: str
) -> T:
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _primary_code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _failure(error: sqlite3.Error, path: str) -> MemoryFailed:
    _log.error("The memory %s cannot be used", path, exc_info=error)
    reason = _REASONS.get(_primary_code(error), "of an unexpected error; the log has it")
    return MemoryFailed(f"The memory {path} cannot be used: {reason}.")
