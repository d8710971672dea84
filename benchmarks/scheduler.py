"""How the scheduler does with 10,000 tasks: the due-check, a claim, and how late an idle one is.

`python -m benchmarks.scheduler` prints medians of several rounds, each beside a bare baseline of
the same run: a query by primary key, a write in SQLite, cronsim alone, a wait for a moment.
"""

import sqlite3
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

from cronsim import CronSim

from benchmarks.measure import cost, row
from openjarvis.scheduler.book import TaskBook
from openjarvis.scheduler.instants import now_utc
from openjarvis.scheduler.runs import RunOutcome
from openjarvis.scheduler.scheduler import TaskScheduler
from openjarvis.scheduler.store import SchedulerStore
from openjarvis.scheduler.task import ScheduledTask
from openjarvis.scheduler.timing import next_run

TASKS = 10_000
LATENESS_SAMPLES = 200
SECONDS_BETWEEN = 0.1


class Arrivals:
    """A system that notes when it is asked; the prompt is the moment it was due."""

    def __init__(self) -> None:
        self.late: list[float] = []
        self.arrived = Event()

    def ask(self, prompt: str, **request: Any) -> str:
        self.late.append((now_utc() - datetime.fromisoformat(prompt)).total_seconds())
        self.arrived.set()
        return ""


def milliseconds(call: Callable[[], object], times: int) -> float:
    """Return the median wall time of one call."""
    return cost(call, times=times).wall / 1e3


def fill(store: SchedulerStore) -> float:
    """Store the tasks, all due in a day or later; return the milliseconds that one took."""
    tomorrow = now_utc() + timedelta(days=1)
    begin = time.perf_counter()
    for number in range(TASKS):
        due = (tomorrow + timedelta(seconds=number)).isoformat()
        store.save_task(ScheduledTask(f"t{number}", "go", "interval", "86400", next_run=due))
    return (time.perf_counter() - begin) / TASKS * 1e3


def bare_write(path: Path) -> Callable[[], object]:
    """Return one committed write to a bare SQLite file."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (v)")
    return lambda: connection.execute("INSERT INTO t VALUES (1)")


def claim_and_finish(store: SchedulerStore) -> Callable[[], object]:
    """Return one run of a task, from the claim of its slot to its record."""
    task = TaskBook(store).create_task("go", "interval", "1")
    slots = [task.next_run_at or now_utc()]

    def run() -> None:
        slot, now = slots[0], now_utc()
        slots[0] = slot + timedelta(seconds=1)
        run = store.runs.claim(
            task.id, slot, following=slots[0], owner="me", now=now, lease_until=now
        )
        assert run is not None
        store.runs.finish(run, RunOutcome(success=True), now)

    return run


def lateness(store: SchedulerStore) -> list[float]:
    """Return how many milliseconds after its time each of some tasks began, sorted."""
    system = Arrivals()
    scheduler = TaskScheduler(store, system)
    scheduler.start()
    for _ in range(LATENESS_SAMPLES):
        system.arrived.clear()
        due = (now_utc() + timedelta(seconds=SECONDS_BETWEEN)).isoformat()
        scheduler.create_task(due, "once", due)
        system.arrived.wait()
    scheduler.stop()
    return sorted(late * 1e3 for late in system.late)


def bare_lateness() -> list[float]:
    """Return how many milliseconds too late a bare wait ends, sorted."""
    late = []
    for _ in range(LATENESS_SAMPLES):
        due = time.time() + SECONDS_BETWEEN
        Event().wait(due - time.time())
        late.append((time.time() - due) * 1e3)
    return sorted(late)


def report(what: str, value: float, baseline: float, budget: float | None = None) -> None:
    """Print one figure beside its baseline."""
    row(what, value, "ms", budget, f"bare {baseline:.3f}, ratio {value / baseline:.1f}")


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        store = SchedulerStore(Path(folder, "tasks.db"))
        written = milliseconds(bare_write(Path(folder, "bare.db")), 100)
        report(f"store a task ({TASKS} of them)", fill(store), written)
        now = now_utc()
        asked = milliseconds(
            lambda: store.database.query("SELECT * FROM scheduler_tasks WHERE id = ?", ("t1",)), 500
        )
        report("due-check, none due", milliseconds(lambda: store.get_due_tasks(now), 500), asked, 5)
        report("time of the next due task", milliseconds(store.next_due, 500), asked)
        later = now + timedelta(days=1, seconds=9)
        report(
            "due-check, ten due", milliseconds(lambda: store.get_due_tasks(later), 500), asked, 5
        )
        report(
            "claim a slot and record its run", milliseconds(claim_and_finish(store), 50), written
        )
        line = "30 9 * * MON-FRI"
        bare_cron = milliseconds(lambda: next(CronSim(line, now)), 200)
        cron = milliseconds(lambda: next_run("cron", line, now), 200)
        report("next time of a cron line", cron, bare_cron)
        late, bare = lateness(store), bare_lateness()
        middle, high = LATENESS_SAMPLES // 2, LATENESS_SAMPLES * 99 // 100
        report("lateness when idle, median", late[middle], bare[middle])
        report("lateness when idle, p99", late[high], bare[high], 100)
        store.close()


if __name__ == "__main__":
    main()
