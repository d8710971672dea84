"""What the scheduler remembers: tasks and the log of their runs."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from openjarvis.scheduler.database import Database, Row, SQLiteDatabase
from openjarvis.scheduler.instants import (
    from_micros,
    micros_to_text,
    to_micros,
    to_micros_or_none,
)
from openjarvis.scheduler.runs import RunLedger, storable
from openjarvis.scheduler.schema import migrate
from openjarvis.scheduler.task import ScheduledTask, TaskStatus

KEPT_RUNS = 100
"""How many finished runs of a task are kept; the oldest go first."""

_COLUMNS = (
    "id",
    "prompt",
    "schedule_type",
    "schedule_value",
    "context_mode",
    "status",
    "next_run",
    "last_run",
    "agent",
    "tools",
    "metadata",
    "timezone",
    "on_missed",
    "on_interrupt",
)
_DUE = """
    FROM scheduler_tasks AS task
    WHERE status = 'active' AND next_run IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM scheduler_runs AS run WHERE run.task_id = task.id AND run.status = 'running'
    )
"""


class SchedulerStore:
    """Tasks and run logs in a database that several processes may share.

    A path opens (or makes) a SQLite file; a `Database` is used as it is. Any thread may call any
    method. `runs` is the ledger in which processes claim the slots they run.
    """

    def __init__(
        self,
        db_path: str | Path | Database = "~/.openjarvis/scheduler.db",
        *,
        keep_runs: int = KEPT_RUNS,
    ) -> None:
        self.database: Database = (
            SQLiteDatabase(db_path) if isinstance(db_path, str | Path) else db_path
        )
        migrate(self.database)
        self.runs = RunLedger(self.database, keep=keep_runs)

    def save_task(self, task: ScheduledTask | dict[str, Any]) -> None:
        """Keep a task; one that is there under its id is replaced."""
        marks = ", ".join("?" for _ in _COLUMNS)
        changes = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])
        with self.database.transaction() as execute:
            execute(
                f"INSERT INTO scheduler_tasks ({', '.join(_COLUMNS)}) VALUES ({marks}) "  # noqa: S608
                f"ON CONFLICT (id) DO UPDATE SET {changes}",
                _to_row(task),
            )

    def update_task(self, task: ScheduledTask | dict[str, Any]) -> None:
        """Replace a task that is there.

        Raises:
            KeyError: when there is no task of this id.
        """
        wanted = _as_task(task)
        if self.get_task(wanted.id) is None:
            raise KeyError(f"No scheduled task {wanted.id!r}")
        self.save_task(wanted)

    def get_task(self, task_id: str) -> dict[str, Any] | None:
        """Return a task as a dict, or None."""
        rows = self.database.query("SELECT * FROM scheduler_tasks WHERE id = ?", (task_id,))
        return _from_row(rows[0]) if rows else None

    def list_tasks(self, status: str | None = None) -> list[dict[str, Any]]:
        """Return the tasks (those of one status), soonest first, those without a next run last."""
        where, parameters = ("", ()) if status is None else ("WHERE status = ?", (str(status),))
        rows = self.database.query(
            f"SELECT * FROM scheduler_tasks {where} "  # noqa: S608 - a constant of ours
            "ORDER BY CASE WHEN next_run IS NULL THEN 1 ELSE 0 END, next_run, id",
            parameters,
        )
        return [_from_row(row) for row in rows]

    def delete_task(self, task_id: str) -> bool:
        """Forget a task and its runs; tell whether it was there."""
        with self.database.transaction() as execute:
            execute("DELETE FROM scheduler_runs WHERE task_id = ?", (task_id,))
            gone = execute("DELETE FROM scheduler_tasks WHERE id = ? RETURNING id", (task_id,))
        return bool(gone)

    def change_status(
        self,
        task_id: str,
        *,
        expected: Sequence[str],
        to: str,
        next_run: datetime | None = None,
    ) -> bool:
        """Move a task from one of the statuses `expected` to another and set its next run.

        Returns False, and changes nothing, when the task is in none of them (any more).
        """
        marks = ", ".join("?" for _ in expected)
        with self.database.transaction() as execute:
            moved = execute(
                "UPDATE scheduler_tasks SET status = ?, next_run = ? "  # noqa: S608
                f"WHERE id = ? AND status IN ({marks}) RETURNING id",
                (str(to), to_micros_or_none(next_run), task_id, *map(str, expected)),
            )
        return bool(moved)

    def get_due_tasks(
        self, now: datetime | str, *, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the active tasks whose time has come, the longest overdue first.

        A task that is running at this moment is not among them: it never overlaps itself.
        """
        bound = "" if limit is None else f" LIMIT {int(limit)}"
        rows = self.database.query(
            f"SELECT * {_DUE} AND next_run <= ? ORDER BY next_run, id{bound}",
            (to_micros(now),),
        )
        return [_from_row(row) for row in rows]

    def next_due(self) -> datetime | None:
        """Return when the next task that is not running will be due, or None."""
        soonest = self.database.query(f"SELECT next_run {_DUE} ORDER BY next_run LIMIT 1")
        return from_micros(soonest[0]["next_run"]) if soonest else None

    def log_run(
        self,
        task_id: str,
        started_at: datetime | str,
        finished_at: datetime | str,
        success: bool,
        result: str = "",
        error: str = "",
    ) -> None:
        """Keep a run that has ended."""
        self.runs.log(
            task_id,
            started_at=started_at,
            finished_at=finished_at,
            success=success,
            result=result,
            error=error,
        )

    def get_run_logs(self, task_id: str, limit: int = 10) -> list[dict[str, Any]]:
        """Return the latest runs of a task, newest first."""
        return self.runs.latest(task_id, limit=limit)

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()


def _as_task(task: ScheduledTask | dict[str, Any]) -> ScheduledTask:
    return task if isinstance(task, ScheduledTask) else ScheduledTask.from_dict(task)


def _to_row(task: ScheduledTask | dict[str, Any]) -> list[Any]:
    values = _as_task(task).to_dict()
    values["status"] = str(TaskStatus(values["status"]))
    values["metadata"] = json.dumps(values["metadata"], ensure_ascii=False, allow_nan=False)
    for name in ("next_run", "last_run"):
        values[name] = to_micros_or_none(values[name])
    for name, value in values.items():
        if isinstance(value, str) and storable(value) != value:
            raise ValueError(f"The {name} of a task must be text without NULs or lone surrogates.")
    return [values[name] for name in _COLUMNS]


def _from_row(row: Row) -> dict[str, Any]:
    times = {name: micros_to_text(row[name]) for name in ("next_run", "last_run")}
    return {**row, **times, "metadata": json.loads(row["metadata"])}
