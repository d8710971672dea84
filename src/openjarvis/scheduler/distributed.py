"""The scheduler on many machines: runs are DBOS workflows on PostgreSQL.

Tasks and slots are claimed as on one machine, in the same tables. A claimed run is carried out as a
workflow whose id is the slot, so it exists once; its steps are kept, so a worker that takes over a
run of a dead one goes on behind the last finished step. Workers show a sign of life in the
database, timed by the database's clock and watched by the others.
"""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

from openjarvis.core.errors import ConfigError
from openjarvis.core.extras import how_to_install
from openjarvis.scheduler.durable import durable_run
from openjarvis.scheduler.instants import as_instant, now_utc
from openjarvis.scheduler.places import Places
from openjarvis.scheduler.postgres import PostgresDatabase
from openjarvis.scheduler.runner import Work
from openjarvis.scheduler.runs import Run, RunOutcome
from openjarvis.scheduler.scheduler import TaskScheduler
from openjarvis.scheduler.store import SchedulerStore
from openjarvis.scheduler.task import OnInterrupt, ScheduledTask
from openjarvis.scheduler.watch import Watch

APPLICATION = "openjarvis-scheduler"
WORKFLOW_VERSION = "1"
"""Changes when a run's steps change their order: workers only take up runs of their own version."""

DBOS_SCHEMA = "openjarvis_dbos"
_DATABASE_NOW = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"


def distributed_scheduler(
    dsn: str,
    system: Any = None,
    *,
    max_parallel: int = 4,
    lease_seconds: float = 30.0,
    **options: Any,
) -> TaskScheduler:
    """Return a scheduler that, once started, is one of many workers on a PostgreSQL database.

    The runs it begins survive it. `options` are `TaskScheduler`'s. A process can be one such worker
    at a time.

    Raises:
        ConfigError: when the database cannot be reached, or the extra is not installed.
    """

    def make_runner(
        store: SchedulerStore, work: Work, changed: Callable[[], None]
    ) -> "WorkflowRunner":
        return WorkflowRunner(
            store,
            work,
            dsn,
            max_parallel=max_parallel,
            lease=timedelta(seconds=lease_seconds),
            changed=changed,
        )

    store = SchedulerStore(PostgresDatabase(dsn))
    return TaskScheduler(store, system, make_runner=make_runner, **options)


class WorkflowRunner:
    """Carries out runs as durable workflows; see `Runner` for its methods."""

    def __init__(
        self,
        store: SchedulerStore,
        work: Work,
        dsn: str,
        *,
        max_parallel: int,
        lease: timedelta,
        changed: Callable[[], None],
    ) -> None:
        self.owner = uuid4().hex
        self.lease = lease
        self.look_every = lease.total_seconds() / 4
        self._store = store
        self._work = work
        self._changed = changed
        self._places = Places(max_parallel)
        self._watch = Watch()
        self._dsn = dsn
        self._dbos: Any = None

    def open(self) -> None:
        if self._dbos is not None:
            return
        with self._store.database.transaction(migrating=True) as execute:
            execute(
                "CREATE TABLE IF NOT EXISTS scheduler_workers "
                "(id TEXT PRIMARY KEY, seen_at BIGINT NOT NULL)"
            )
        self._show_life()
        self._dbos = _made(self._dsn, self.owner)

        def scheduled_run(payload: str) -> None:
            self._carry_out(payload)

        self._workflow = self._dbos.workflow(name="scheduled_run")(scheduled_run)
        self._dbos.launch()

    def free(self) -> int:
        return self._places.free

    def start(self, task: ScheduledTask, run: Run) -> None:
        self._places.take(run.id)
        try:
            self._start_workflow(task, run)
        except BaseException:
            # The claim stands; `recover` starts the workflow when its time is up.
            self._places.leave(run.id)
            raise

    def recover(self) -> int:
        for worker in self._dead_workers():
            # Asked twice, by two workers or after a crash in between, this does nothing.
            self._dbos._recover_pending_workflows([worker])
            self._forget(worker)
        overdue = [run for run in self._store.runs.running() if run.lease_until < now_utc()]
        for run in overdue:
            self._look_after(run)
        return 0

    def wait(self, timeout: float | None = None) -> bool:
        return self._places.wait_idle(timeout)

    def stop(self, timeout: float) -> bool:
        if self._dbos is None:
            return True
        end = time.monotonic() + timeout
        while not (is_idle := self.wait(min(self.look_every, max(end - time.monotonic(), 0)))):
            if time.monotonic() >= end:
                break
            self._show_life()
        self._dbos.destroy(destroy_registry=True)
        self._dbos = None
        if is_idle:
            self._forget(self.owner)
        return is_idle

    def _carry_out(self, payload: str) -> None:
        """Be the workflow: what happens outside of steps must come out the same every time."""
        data = json.loads(payload)
        task, run = ScheduledTask.from_dict(data["task"]), _run_from(data["run"])
        self._places.take(run.id)
        try:
            began_here = self._step("begin", lambda: self.owner) == self.owner
            if began_here or task.on_interrupt == OnInterrupt.RETRY:
                with durable_run() as steps:
                    outcome = self._work(task, run)
                    steps.check()
                self._step("record", lambda: self._record(run, outcome))
            else:
                # No step: behind `begin` stand the steps of the run that was interrupted.
                self._store.runs.interrupt(run, now_utc())
        finally:
            self._places.leave(run.id)
            self._changed()

    def _step(self, name: str, call: Callable[[], Any]) -> Any:
        # Our own connection may just have been lost; the next attempt makes a new one.
        options = {"name": name, "retries_allowed": True, "max_attempts": 8}
        return self._dbos.run_step(options, call)

    def _record(self, run: Run, outcome: RunOutcome) -> bool:
        return self._store.runs.finish(run, outcome, now_utc())

    def _start_workflow(self, task: ScheduledTask, run: Run) -> None:
        from dbos import SetWorkflowID

        payload = json.dumps({"task": task.to_dict(), "run": _run_to_dict(run)})
        with SetWorkflowID(_workflow_id(run)):
            self._dbos.start_workflow(self._workflow, payload)

    def _look_after(self, run: Run) -> None:
        """See to it that a run that has been open for long has a workflow that will close it."""
        status = self._dbos.get_workflow_status(_workflow_id(run))
        task = self._store.get_task(run.task_id)
        if status is None and task is not None:
            # Its worker died between the claim and the start.
            self._start_workflow(ScheduledTask.from_dict(task), run)
        elif status is None or status.status not in ("PENDING", "ENQUEUED", "DELAYED"):
            lost = RunOutcome(success=False, error="The run's workflow ended without an answer.")
            self._record(run, lost)

    def _show_life(self) -> dict[str, int]:
        """Tell the others that this worker lives; return the last signs of those that are late."""
        with self._store.database.transaction() as execute:
            execute(
                f"INSERT INTO scheduler_workers (id, seen_at) VALUES (?, {_DATABASE_NOW}) "  # noqa: S608
                "ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at",
                (self.owner,),
            )
            late = execute(
                "SELECT id, seen_at FROM scheduler_workers "  # noqa: S608 - a constant of ours
                f"WHERE seen_at < {_DATABASE_NOW} - ?",
                (self.lease // timedelta(microseconds=1),),
            )
        return {row["id"]: row["seen_at"] for row in late}

    def _dead_workers(self) -> list[str]:
        # While the server was away nobody could give a sign: those that are late get the time to.
        unchanged = self._watch.unchanged_for(self._show_life())
        patience = self.lease.total_seconds() / 2
        return [worker for worker, seconds in unchanged.items() if seconds >= patience]

    def _forget(self, worker: str) -> None:
        with self._store.database.transaction() as execute:
            execute("DELETE FROM scheduler_workers WHERE id = ?", (worker,))


def _made(dsn: str, worker: str) -> Any:
    try:
        from dbos import DBOS, DBOSPortableJSONSerializer
    except ImportError as exc:
        raise ConfigError(
            f"A scheduler on many machines needs DBOS: {how_to_install('distributed')}."
        ) from exc
    return DBOS(
        config={
            "name": APPLICATION,
            "application_version": WORKFLOW_VERSION,
            "executor_id": worker,
            "system_database_url": dsn,
            "dbos_system_schema": DBOS_SCHEMA,
            "log_level": "WARNING",
            # The default one unpickles, which would let whoever writes the database run code here.
            "serializer": DBOSPortableJSONSerializer(),
        }
    )


def _workflow_id(run: Run) -> str:
    return f"{run.task_id}@{run.slot.isoformat()}#{run.attempt}"


def _run_to_dict(run: Run) -> dict[str, Any]:
    times = {"slot": run.slot.isoformat(), "lease_until": run.lease_until.isoformat()}
    own = {"id": run.id, "task_id": run.task_id, "attempt": run.attempt, "owner": run.owner}
    return {**own, **times}


def _run_from(data: dict[str, Any]) -> Run:
    times = {name: as_instant(data[name]) for name in ("slot", "lease_until")}
    return Run(**{**data, **times})
