import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from openjarvis.scheduler.book import TaskBook
from openjarvis.scheduler.instants import now_utc
from openjarvis.scheduler.store import SchedulerStore
from postgres_server import PostgresServer, postgres_server
from scheduler import durable_worker

pytest.importorskip("dbos", reason="dbos is not installed (extra 'distributed')")


class Cluster:
    """A database, its tasks, and worker processes that can be killed."""

    def __init__(self, dsn: str, folder: Path) -> None:
        from openjarvis.scheduler.postgres import PostgresDatabase

        self.dsn = dsn
        self.journal = folder / "journal"
        self.journal.touch()
        self.store = SchedulerStore(PostgresDatabase(dsn), keep_runs=1000)
        self.book = TaskBook(self.store)
        self.workers: list[subprocess.Popen[str]] = []

    def start(self, count: int) -> None:
        command = [sys.executable, durable_worker.__file__, self.dsn, str(self.journal)]
        new = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environment())
            for _ in range(count)
        ]
        self.workers += new
        for worker in new:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"

    def soon(self, prompt: str, **options: str) -> str:
        """Make a task that is due at once; return its id."""
        due = (now_utc() + timedelta(seconds=0.2)).isoformat()
        return self.book.create_task(prompt, "once", due, **options).id

    def lines(self, *words: str) -> list[list[str]]:
        """The journal's lines that begin with these words."""
        split = [line.split() for line in self.journal.read_text().splitlines()]
        return [line for line in split if line[: len(words)] == list(words)]

    def wait_for(self, is_so: Callable[[], object], seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < end, f"waited in vain; {self.journal.read_text()}"
            time.sleep(0.02)

    def kill(self, pid: int) -> None:
        worker = next(worker for worker in self.workers if worker.pid == pid)
        self.workers.remove(worker)
        worker.kill()
        worker.communicate()

    def steps(self, task_id: str) -> list[str]:
        """The names of the steps of a task's only run."""
        from dbos import DBOSClient

        from openjarvis.scheduler.distributed import DBOS_SCHEMA

        slot = self.store.get_run_logs(task_id)[0]["slot"]
        client = DBOSClient(system_database_url=self.dsn, dbos_system_schema=DBOS_SCHEMA)
        steps = client.list_workflow_steps(f"{task_id}@{slot}#1")
        client.destroy()
        return [step["function_name"] for step in steps]

    def statuses(self, task_id: str) -> list[str]:
        return [log["status"] for log in self.store.get_run_logs(task_id, limit=1000)]

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.communicate()
        self.store.close()


def _environment() -> dict[str, str]:
    source = str(Path(__file__).parents[2] / "src")
    return {**os.environ, "PYTHONPATH": source}


@contextmanager
def cluster_of(server: PostgresServer, folder: Path) -> Iterator[Cluster]:
    cluster = Cluster(server.new_database(), folder)
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def cluster(postgres: PostgresServer, tmp_path: Path) -> Iterator[Cluster]:
    with cluster_of(postgres, tmp_path) as cluster:
        yield cluster


def test_a_run_of_a_killed_worker_goes_on_elsewhere_behind_its_finished_calls(
    cluster: Cluster,
) -> None:
    cluster.start(2)
    task_id = cluster.soon("A one=0 two=0,three=6,four=0 five=0")
    cluster.wait_for(lambda: cluster.lines("end", "A", "four"))
    cluster.wait_for(lambda: cluster.lines("end", "A", "two"))
    cluster.wait_for(lambda: cluster.lines("begin", "A", "three"))

    dead = int(cluster.lines("begin", "A", "three")[0][-1])
    time.sleep(0.3)  # the results of `two` and `four` are on their way into the database
    cluster.kill(dead)
    cluster.wait_for(lambda: cluster.statuses(task_id) == ["succeeded"])

    log = cluster.store.get_run_logs(task_id)[0]
    assert log["result"] == "one two+three+four five"
    began = [line[2] for line in cluster.lines("begin", "A")]
    assert sorted(began) == ["five", "four", "one", "three", "three", "two"]
    asked = [line[2] for line in cluster.lines("model", "A")]
    assert sorted(asked) == ["0", "1", "2", "3"], "no answer of the model was asked for again"
    assert cluster.book.get_task(task_id).status == "completed"
    named = {name for name in cluster.steps(task_id) if name.startswith("step ")}
    assert len(named) == 5, "each call is a step with its id"


def test_a_task_may_say_that_its_interrupted_runs_stay_so(cluster: Cluster) -> None:
    cluster.start(2)
    task_id = cluster.soon("B one=0 two=30", on_interrupt="mark")
    cluster.wait_for(lambda: cluster.lines("begin", "B", "two"))

    cluster.kill(int(cluster.lines("begin", "B", "two")[0][-1]))
    cluster.wait_for(lambda: cluster.statuses(task_id) == ["interrupted"])

    assert len(cluster.lines("begin", "B")) == 2
    assert cluster.book.get_task(task_id).status == "completed"


def test_four_workers_run_every_slot_once_while_some_are_killed(cluster: Cluster) -> None:
    cluster.start(4)
    names = [f"T{number}" for number in range(4)]
    tasks = {name: cluster.book.create_task(f"{name} s=0", "interval", "1").id for name in names}

    kills = 2
    for number in range(1, kills + 1):
        cluster.wait_for(lambda n=number: len(cluster.statuses(tasks["T0"])) >= 4 * n)
        cluster.kill(cluster.workers[0].pid)
    cluster.wait_for(lambda: len(cluster.statuses(tasks["T0"])) >= 4 * (kills + 1))
    for task_id in tasks.values():
        cluster.book.pause_task(task_id)
    cluster.wait_for(
        lambda: all("running" not in cluster.statuses(task_id) for task_id in tasks.values())
    )

    for name, task_id in tasks.items():
        logs = cluster.store.get_run_logs(task_id, limit=1000)
        assert {log["status"] for log in logs} == {"succeeded"}
        slots = sorted(log["slot"] for log in logs)
        assert len(set(slots)) == len(slots)
        first, last = (datetime.fromisoformat(slots[0]), datetime.fromisoformat(slots[-1]))
        assert len(slots) == round((last - first).total_seconds()) + 1, "a slot was lost"
        # A call whose worker was killed before its result was kept is made once more.
        assert 0 <= len(cluster.lines("end", name)) - len(slots) <= kills, "calls made in vain"


def test_a_slot_whose_worker_died_before_it_began_is_run_by_another(cluster: Cluster) -> None:
    task_id = cluster.soon("C one=0")
    slot = cluster.book.get_task(task_id).next_run_at
    assert slot is not None
    past = now_utc() - timedelta(seconds=1)
    cluster.store.runs.claim(
        task_id, slot, following=None, owner="gone", now=slot, lease_until=past
    )

    cluster.start(1)
    cluster.wait_for(lambda: cluster.statuses(task_id) == ["succeeded"])

    assert len(cluster.lines("begin", "C", "one")) == 1


def test_a_worker_that_slept_too_long_leaves_its_run_to_the_one_that_took_over(
    cluster: Cluster,
) -> None:
    cluster.start(2)
    task_id = cluster.soon("D one=0 two=1 three=4 four=0")
    cluster.wait_for(lambda: cluster.lines("begin", "D", "two"))
    asleep = int(cluster.lines("begin", "D", "two")[0][-1])

    os.kill(asleep, signal.SIGSTOP)
    cluster.wait_for(lambda: cluster.lines("begin", "D", "three"))
    os.kill(asleep, signal.SIGCONT)
    cluster.wait_for(lambda: len(cluster.lines("end", "D", "two")) == 2)
    cluster.wait_for(lambda: cluster.statuses(task_id) != ["running"])

    assert cluster.statuses(task_id) == ["succeeded"]
    assert cluster.store.get_run_logs(task_id)[0]["result"] == "one two three four"
    assert len(cluster.lines("begin", "D", "three")) == 1
    assert len(cluster.lines("begin", "D", "four")) == 1


def test_a_worker_that_is_stopping_ends_its_run_itself_however_long_it_takes(
    cluster: Cluster,
) -> None:
    cluster.start(2)
    task_id = cluster.soon(f"G one={2.5 * durable_worker.LEASE_SECONDS} two=0")
    cluster.wait_for(lambda: cluster.lines("begin", "G", "one"))
    pid = int(cluster.lines("begin", "G", "one")[0][-1])
    worker = next(worker for worker in cluster.workers if worker.pid == pid)

    worker.terminate()
    said, _ = worker.communicate(timeout=60)

    assert (worker.returncode, said) == (0, "stopped\n")
    assert cluster.statuses(task_id) == ["succeeded"]
    assert [line[2] for line in cluster.lines("begin", "G")] == ["one", "two"]


def test_a_worker_can_be_started_again_in_its_process(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    from openjarvis.scheduler.distributed import distributed_scheduler

    journal = durable_worker.Journal(tmp_path / "journal")
    scheduler = distributed_scheduler(postgres.new_database(), durable_worker.StepSystem(journal))
    try:
        for _ in range(2):
            task = scheduler.create_task("H one=0", "interval", "0.001")
            scheduler.start()
            while not any(log["success"] for log in scheduler.store.get_run_logs(task.id)):
                time.sleep(0.02)
            scheduler.cancel_task(task.id)
            assert scheduler.stop(30)
    finally:
        scheduler.store.close()


def test_a_server_that_was_away_costs_no_call_and_no_slot(tmp_path: Path) -> None:
    with postgres_server() as server, cluster_of(server, tmp_path) as cluster:
        cluster.start(2)
        task_id = cluster.soon("F one=0 two=4 three=0")
        cluster.wait_for(lambda: cluster.lines("begin", "F", "two"))

        cluster.store.close()
        server.restart(after=1.5 * durable_worker.LEASE_SECONDS)
        cluster.wait_for(lambda: cluster.statuses(task_id) == ["succeeded"])

        assert [line[2] for line in cluster.lines("begin", "F")] == ["one", "two", "three"]
