"""The ledger of runs: who runs which slot, until when that is believed, and how it ended.

A slot is a task with one of its due times. Claiming a slot moves the task on to its next due time
and opens the run in one transaction, so two processes never get the same one. The process that
holds a run renews its lease; when a lease is no longer renewed, another process may close the run
as interrupted and take the slot over.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from openjarvis.scheduler.database import Database, Execute, Row
from openjarvis.scheduler.instants import (
    from_micros,
    micros_to_text,
    to_micros,
    to_micros_or_none,
)

LONGEST_TEXT = 20_000
"""How many characters of an answer or an error a run keeps."""

INTERRUPTED = "The process that ran this task ended before the run did."
MISSED = "Nobody was awake for this slot; the task's policy is to skip it."
_DEFAULTS = {
    "slot": None,
    "attempt": 1,
    "owner": "",
    "lease_until": 0,
    "finished_at": None,
    "result": "",
    "error": "",
    "calls": "[]",
}


class RunStatus(StrEnum):
    """How a run stands or ended."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Run:
    """A run that somebody holds; `lease_until` changes whenever its holder shows that it lives."""

    id: int
    task_id: str
    slot: datetime
    attempt: int
    owner: str
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What came of a run: the answer or the error, and the tool calls that were made for it."""

    success: bool
    result: str = ""
    error: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)


class RunLedger:
    """The runs in the store's database."""

    def __init__(self, database: Database, *, keep: int) -> None:
        self._database = database
        self._keep = keep

    def claim(
        self,
        task_id: str,
        slot: datetime,
        *,
        following: datetime | None,
        owner: str,
        now: datetime,
        lease_until: datetime,
    ) -> Run | None:
        """Open the run of a slot and move its task on to `following`.

        Returns None when the slot is somebody else's, or the task was paused, cancelled or moved.
        """
        with self._database.transaction() as execute:
            if not _advance(execute, task_id, slot, following, last_run=now):
                return None
            return _open(execute, task_id, slot, 1, owner, now, lease_until)

    def skip(
        self, task_id: str, slot: datetime, *, following: datetime | None, now: datetime
    ) -> bool:
        """Record a slot as missed and move its task on; False when somebody else has done so."""
        with self._database.transaction() as execute:
            if not _advance(execute, task_id, slot, following):
                return False
            _insert(
                execute,
                task_id=task_id,
                slot=to_micros(slot),
                status=RunStatus.MISSED,
                started_at=to_micros(now),
                finished_at=to_micros(now),
                error=MISSED,
            )
            self._settle(execute, task_id)
        return True

    def running(self) -> list[Run]:
        """Return the runs that are held at this moment."""
        rows = self._database.query(
            "SELECT id, task_id, slot, attempt, owner, lease_until FROM scheduler_runs "
            "WHERE status = 'running'"
        )
        return [_as_run(row) for row in rows]

    def renew(self, owner: str, lease_until: datetime) -> int:
        """Show that the holder of these runs lives; returns how many it holds."""
        with self._database.transaction() as execute:
            renewed = execute(
                "UPDATE scheduler_runs SET lease_until = ? "
                "WHERE owner = ? AND status = 'running' RETURNING id",
                (to_micros(lease_until), owner),
            )
        return len(renewed)

    def finish(self, run: Run, outcome: RunOutcome, now: datetime) -> bool:
        """Close a run; False when it was taken from its holder in the meantime."""
        status = RunStatus.SUCCEEDED if outcome.success else RunStatus.FAILED
        with self._database.transaction() as execute:
            closed = self._close(execute, run, status, outcome, now)
            if closed:
                self._settle(execute, run.task_id)
        return closed

    def interrupt(self, run: Run, now: datetime) -> bool:
        """Close a run whose holder is gone; False when it has shown a sign of life since."""
        with self._database.transaction() as execute:
            closed = self._interrupt(execute, run, now)
            if closed:
                self._settle(execute, run.task_id)
        return closed

    def take_over(
        self, run: Run, *, owner: str, now: datetime, lease_until: datetime
    ) -> Run | None:
        """Close a run whose holder is gone and open its slot's next attempt.

        Returns None when the holder has shown a sign of life since, or somebody was faster.
        """
        with self._database.transaction() as execute:
            if not self._interrupt(execute, run, now):
                return None
            return _open(execute, run.task_id, run.slot, run.attempt + 1, owner, now, lease_until)

    def log(
        self,
        task_id: str,
        *,
        started_at: datetime | str,
        finished_at: datetime | str,
        success: bool,
        result: str,
        error: str,
    ) -> None:
        """Keep a run that was made and has ended elsewhere."""
        status = RunStatus.SUCCEEDED if success else RunStatus.FAILED
        with self._database.transaction() as execute:
            _insert(
                execute,
                task_id=task_id,
                status=status,
                started_at=to_micros(started_at),
                finished_at=to_micros(finished_at),
                result=_bounded(result),
                error=_bounded(error),
            )
            self._prune(execute, task_id)

    def latest(self, task_id: str, *, limit: int) -> list[dict[str, Any]]:
        """Return the latest runs of a task, newest first; `success` is None while one runs."""
        rows = self._database.query(
            "SELECT * FROM scheduler_runs WHERE task_id = ? ORDER BY id DESC LIMIT ?",
            (task_id, max(int(limit), 0)),
        )
        return [_as_log(row) for row in rows]

    def _interrupt(self, execute: Execute, run: Run, now: datetime) -> bool:
        outcome = RunOutcome(success=False, error=INTERRUPTED)
        return self._close(
            execute, run, RunStatus.INTERRUPTED, outcome, now, lease_until=run.lease_until
        )

    def _close(
        self,
        execute: Execute,
        run: Run,
        status: RunStatus,
        outcome: RunOutcome,
        now: datetime,
        *,
        lease_until: datetime | None = None,
    ) -> bool:
        closed = execute(
            "UPDATE scheduler_runs SET status = ?, finished_at = ?, result = ?, error = ?, "
            "calls = ? WHERE id = ? AND owner = ? AND status = 'running' "
            "AND lease_until = COALESCE(?, lease_until) RETURNING id",
            (
                str(status),
                to_micros(now),
                _bounded(outcome.result),
                _bounded(outcome.error),
                storable(json.dumps(outcome.calls, ensure_ascii=False, default=str)),
                run.id,
                run.owner,
                to_micros_or_none(lease_until),
            ),
        )
        return bool(closed)

    def _settle(self, execute: Execute, task_id: str) -> None:
        # A task without a next due time is over.
        execute(
            "UPDATE scheduler_tasks SET status = 'completed' "
            "WHERE id = ? AND status = 'active' AND next_run IS NULL",
            (task_id,),
        )
        self._prune(execute, task_id)

    def _prune(self, execute: Execute, task_id: str) -> None:
        execute(
            "DELETE FROM scheduler_runs WHERE task_id = ? AND status <> 'running' AND id <= "
            "(SELECT id FROM scheduler_runs WHERE task_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
            (task_id, task_id, self._keep),
        )


def _advance(
    execute: Execute,
    task_id: str,
    slot: datetime,
    following: datetime | None,
    *,
    last_run: datetime | None = None,
) -> bool:
    moved = execute(
        "UPDATE scheduler_tasks SET next_run = ?, last_run = COALESCE(?, last_run) "
        "WHERE id = ? AND status = 'active' AND next_run = ? AND NOT EXISTS ("
        "SELECT 1 FROM scheduler_runs AS run WHERE run.task_id = ? AND run.status = 'running') "
        "RETURNING id",
        (
            to_micros_or_none(following),
            to_micros_or_none(last_run),
            task_id,
            to_micros(slot),
            task_id,
        ),
    )
    return bool(moved)


def _open(
    execute: Execute,
    task_id: str,
    slot: datetime,
    attempt: int,
    owner: str,
    now: datetime,
    lease_until: datetime,
) -> Run | None:
    run_id = _insert(
        execute,
        task_id=task_id,
        slot=to_micros(slot),
        attempt=attempt,
        status=RunStatus.RUNNING,
        owner=owner,
        lease_until=to_micros(lease_until),
        started_at=to_micros(now),
    )
    return None if run_id is None else Run(run_id, task_id, slot, attempt, owner, lease_until)


def _insert(execute: Execute, **given: Any) -> int | None:
    values = {**_DEFAULTS, **given, "status": str(given["status"])}
    marks = ", ".join("?" for _ in values)
    # A slot that already ran comes round again when a clock was set back: then it is left alone.
    rows = execute(
        f"INSERT INTO scheduler_runs ({', '.join(values)}) VALUES ({marks}) "  # noqa: S608
        "ON CONFLICT DO NOTHING RETURNING id",
        tuple(values.values()),
    )
    return int(rows[0]["id"]) if rows else None


def _as_run(row: Row) -> Run:
    return Run(
        row["id"],
        row["task_id"],
        from_micros(row["slot"]),
        row["attempt"],
        row["owner"],
        from_micros(row["lease_until"]),
    )


def _as_log(row: Row) -> dict[str, Any]:
    is_running = row["status"] == RunStatus.RUNNING
    return {
        "id": row["id"],
        "task_id": row["task_id"],
        "slot": micros_to_text(row["slot"]),
        "attempt": row["attempt"],
        "status": row["status"],
        "started_at": micros_to_text(row["started_at"]),
        "finished_at": micros_to_text(row["finished_at"]),
        "success": None if is_running else row["status"] == RunStatus.SUCCEEDED,
        "result": row["result"],
        "error": row["error"],
        "calls": json.loads(row["calls"]),
    }


def storable(text: str) -> str:
    """Return text that any database takes: models and tools write NULs and lone surrogates too."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def _bounded(text: str) -> str:
    text = storable(text)
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}\n[{len(text) - LONGEST_TEXT} more characters were not kept]"
