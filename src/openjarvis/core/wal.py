"""SQLite's write-ahead log, switched on by however many processes open a new file at once."""

import sqlite3
import time

_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.01


def use_wal(connection: sqlite3.Connection) -> None:
    """Switch the database of `connection` to a write-ahead log.

    SQLite's busy time-out does not cover this one statement, so it is tried again while another
    connection holds the file.

    Raises:
        sqlite3.Error: when the database cannot be used, or stays locked for half a minute.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return
