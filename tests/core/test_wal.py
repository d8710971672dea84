"""The write-ahead log is switched on even while another connection holds the new file."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from openjarvis.core.wal import use_wal


def test_a_file_that_is_locked_meanwhile_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    refused: list[str] = []

    class Impatient(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            try:
                return super().execute(sql, *parameters)
            except sqlite3.OperationalError as error:
                refused.append(str(error))
                holder.execute("ROLLBACK")
                raise

    with (
        closing(sqlite3.connect(path, isolation_level=None)) as holder,
        closing(sqlite3.connect(path, timeout=0, factory=Impatient)) as connection,
    ):
        holder.execute("BEGIN EXCLUSIVE")
        use_wal(connection)
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()

    assert refused == ["database is locked"]
    assert mode == "wal"
