"""The audit trail: every call, kept whole in a SQLite file that only its owner can read.

A row is written before a tool starts and completed when it ends, each durable before anything else
happens, so that a crash leaves a row that says `running` rather than nothing.
"""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from openjarvis.core.strict_json import dumps
from openjarvis.core.wal import use_wal
from openjarvis.execution.limit import encodable
from openjarvis.execution.record import CallRecord
from openjarvis.execution.trail import TrailUnavailable
from openjarvis.safety.secrets import mask_secrets

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    call_id TEXT NOT NULL,
    name TEXT NOT NULL,
    input TEXT NOT NULL,
    arguments TEXT,
    output TEXT NOT NULL DEFAULT '',
    outcome TEXT NOT NULL,
    detail TEXT,
    step INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    latency_seconds REAL
);
CREATE INDEX IF NOT EXISTS calls_by_run ON calls (run_id);
CREATE INDEX IF NOT EXISTS calls_by_name ON calls (name);
"""
_COLUMNS = (
    "run_id, agent, call_id, name, input, arguments, output, outcome, detail, step, started_at, "
    "latency_seconds"
)
RUNNING = "running"
"""The outcome of a row whose tool had started and not ended."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A row of the trail; `outcome` is an `Outcome`'s value, or `running`."""

    id: int
    run_id: str
    agent: str
    call_id: str
    name: str
    input: str
    arguments: str | None
    output: str
    outcome: str
    detail: str | None
    step: int
    started_at: str
    latency_seconds: float | None


class AuditLog:
    """The audit trail in one file. Any thread and any number of processes may use it.

    Secrets are masked before anything is written; outputs are kept whole, however long.
    """

    def __init__(self, path: str | Path = "~/.openjarvis/audit.db") -> None:
        """Open the file, made with mode 0600 when it is new.

        Raises:
            OSError: when its folder cannot be made or written.
            sqlite3.DatabaseError: when it is no audit trail.
        """
        self.path = Path(path).expanduser()
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        self._lock = Lock()
        self._connection = sqlite3.connect(
            self.path, timeout=30.0, check_same_thread=False, isolation_level=None
        )
        try:
            use_wal(self._connection)
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.executescript(_SCHEMA)
        except sqlite3.Error:
            self._connection.close()
            raise

    def started(self, record: CallRecord, *, run_id: str, agent: str) -> int:
        """Note that a call is about to run, and return the number of its row."""
        return self._insert(record, run_id, agent, outcome=RUNNING, output="", latency=None)

    def ended(
        self, row: int | None, record: CallRecord, *, run_id: str, agent: str, output: str
    ) -> None:
        """Note how a call ended; `row` is what `started` returned, None when it never ran."""
        if row is None:
            self._insert(
                record,
                run_id,
                agent,
                outcome=record.outcome,
                output=output,
                latency=record.latency_seconds,
            )
            return
        self._execute(
            "UPDATE calls SET output = ?, outcome = ?, detail = ?, latency_seconds = ? "
            "WHERE id = ?",
            (_clean(output), record.outcome, record.detail, record.latency_seconds, row),
        )

    def entries(
        self, *, limit: int = 50, name: str | None = None, outcome: str | None = None
    ) -> list[AuditEntry]:
        """Return the latest calls, newest first, of one tool or outcome if these are given."""
        query = (
            f"SELECT id, {_COLUMNS} FROM calls WHERE (?1 IS NULL OR name = ?1) "  # noqa: S608 - constant
            "AND (?2 IS NULL OR outcome = ?2) ORDER BY id DESC LIMIT ?3"
        )
        return self._select(query, (name, outcome, limit))

    def entry(self, number: int) -> AuditEntry | None:
        """Return the call of this number, None when there is none."""
        found = self._select(f"SELECT id, {_COLUMNS} FROM calls WHERE id = ?", (number,))  # noqa: S608
        return found[0] if found else None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _insert(
        self,
        record: CallRecord,
        run_id: str,
        agent: str,
        *,
        outcome: str,
        output: str,
        latency: float | None,
    ) -> int:
        arguments = None if record.arguments is None else _clean(dumps(record.arguments))
        values = (
            run_id,
            agent,
            encodable(record.call_id),
            encodable(record.name[:200]),
            _clean(record.input),
            arguments,
            _clean(output),
            outcome,
            record.detail,
            record.step,
            record.started_at.isoformat() if record.started_at else "",
            latency,
        )
        marks = ", ".join("?" * len(values))
        return self._execute(f"INSERT INTO calls ({_COLUMNS}) VALUES ({marks})", values)  # noqa: S608

    def _execute(self, statement: str, values: tuple[Any, ...]) -> int:
        try:
            with self._lock, closing(self._connection.execute(statement, values)) as cursor:
                return cursor.lastrowid or 0
        except (sqlite3.Error, OverflowError) as error:
            raise TrailUnavailable(str(error)) from error

    def _select(self, query: str, values: tuple[Any, ...]) -> list[AuditEntry]:
        with self._lock:
            return [AuditEntry(*row) for row in self._connection.execute(query, values)]


def _clean(text: str) -> str:
    return encodable(mask_secrets(text))
