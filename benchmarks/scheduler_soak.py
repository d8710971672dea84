"""Soak the scheduler: three processes on one store, killed at random, and every slot accounted for.

`python -m benchmarks.scheduler_soak --seconds 180` prints a table of the tasks and ends with 1 when
a slot was lost or run to its recorded end twice.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from openjarvis.core.events import Event, EventBus, EventType
from openjarvis.scheduler.book import TaskBook
from openjarvis.scheduler.scheduler import TaskScheduler
from openjarvis.scheduler.store import SchedulerStore

PROCESSES = 3
LEASE_SECONDS = 2.0
INTERVALS = [1, 1, 1, 1, 2, 2, 2, 3, 3, 5]
LONGEST_RUN_SECONDS = 0.6
KEPT_RUNS = 1_000_000
COLUMNS = ("task", "every", "slots", "once", "retried", "given up", "overlaps", "twice", "lost")


class Sleeper:
    """A system whose answers take a random while."""

    def ask(self, prompt: str, **request: Any) -> str:
        time.sleep(random.uniform(0, LONGEST_RUN_SECONDS))
        return prompt


def work(database: Path, journal: Path) -> None:
    """Be one of the processes, until killed."""
    file = os.open(journal, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def write(event: Event) -> None:
        line = f"{event.event_type} {event.timestamp} {event.data['task_id']} {event.data['slot']}"
        os.write(file, f"{line}\n".encode())

    bus = EventBus()
    bus.subscribe(EventType.SCHEDULER_TASK_START, write)
    bus.subscribe(EventType.SCHEDULER_TASK_END, write)
    store = SchedulerStore(database, keep_runs=KEPT_RUNS)
    TaskScheduler(store, Sleeper(), bus=bus, lease_seconds=LEASE_SECONDS).start()
    while True:
        time.sleep(3600)


def start(database: Path, journal: Path) -> subprocess.Popen[bytes]:
    """Start one of the processes."""
    command = [sys.executable, "-m", "benchmarks.scheduler_soak", "--work", database, journal]
    return subprocess.Popen([str(part) for part in command])


def torment(database: Path, journal: Path, seconds: float) -> int:
    """Let the processes run, kill one every now and then, and return how many died."""
    workers = [start(database, journal) for _ in range(PROCESSES)]
    end, kills = time.monotonic() + seconds, 0
    try:
        while time.monotonic() < end:
            time.sleep(random.uniform(0.5, 2.5))
            victim = random.randrange(PROCESSES)
            workers[victim].kill()
            workers[victim].wait()
            workers[victim] = start(database, journal)
            kills += 1
        settle(SchedulerStore(database, keep_runs=KEPT_RUNS))
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    return kills


def settle(store: SchedulerStore) -> None:
    """Pause every task and wait for what still runs."""
    book = TaskBook(store)
    for task in book.list_tasks():
        book.pause_task(task.id)
    end = time.monotonic() + 60
    while store.runs.running() and time.monotonic() < end:
        time.sleep(0.1)
    store.close()


def account(store: SchedulerStore, journal: Path) -> list[tuple[Any, ...]]:
    """Return a row for every task: what became of each of its slots."""
    overlaps = count_overlaps(journal)
    rows = []
    for task in sorted(TaskBook(store).list_tasks(), key=lambda task: task.prompt):
        logs = store.get_run_logs(task.id, limit=KEPT_RUNS)
        attempts = Counter(log["slot"] for log in logs)
        done = Counter(log["slot"] for log in logs if log["status"] == "succeeded")
        slots = sorted(datetime.fromisoformat(slot) for slot in attempts)
        every = timedelta(seconds=float(task.schedule_value))
        expected = round((slots[-1] - slots[0]) / every) + 1
        rows.append(
            (
                task.prompt,
                f"{every.total_seconds():g} s",
                expected,
                sum(attempts[slot] == 1 for slot in done),
                sum(attempts[slot] > 1 for slot in done),
                len(attempts) - len(done),
                overlaps[task.id],
                sum(times > 1 for times in done.values()),
                expected - len(attempts),
            )
        )
    return rows


def count_overlaps(journal: Path) -> Counter[str]:
    """Return, for each task, how often a run began while one of the same slot still went on.

    A run that was killed has no end in the journal. Its slot's next attempt begins a lease later at
    the earliest, so one that begins sooner is an overlap.
    """
    begun: dict[tuple[str, str], float] = {}
    overlaps: Counter[str] = Counter()
    for line in journal.read_text().splitlines():
        kind, moment, task_id, slot = line.split()
        if kind == EventType.SCHEDULER_TASK_END:
            begun.pop((task_id, slot), None)
            continue
        earlier = begun.get((task_id, slot))
        if earlier is not None and float(moment) - earlier < 0.9 * LEASE_SECONDS:
            overlaps[task_id] += 1
        begun[task_id, slot] = float(moment)
    return overlaps


def main() -> int:
    """Run the soak and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--work", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(*arguments.work)
    with tempfile.TemporaryDirectory() as folder:
        database, journal = Path(folder, "soak.db"), Path(folder, "journal")
        journal.touch()
        store = SchedulerStore(database, keep_runs=KEPT_RUNS)
        book = TaskBook(store)
        for number, every in enumerate(INTERVALS):
            book.create_task(f"task {number}", "interval", str(every))
        kills = torment(database, journal, arguments.seconds)
        rows = account(store, journal)
        store.close()
    table = [
        COLUMNS,
        *rows,
        ("all", "", *(sum(column) for column in list(zip(*rows, strict=True))[2:])),
    ]
    for row in table:
        print("  ".join(str(cell).rjust(8) for cell in row))
    print(f"{PROCESSES} processes, {kills} of them killed in {arguments.seconds:g} s")
    return int(any(table[-1][-3:]))


if __name__ == "__main__":
    sys.exit(main())
