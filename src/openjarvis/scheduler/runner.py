"""Where claimed runs are carried out: the interface, and threads of this process behind it.

`distributed` gives the same interface over durable workflows on many machines.
"""

import logging
import os
import socket
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Event, Lock, Thread
from typing import Protocol
from uuid import uuid4

from openjarvis.scheduler.instants import now_utc
from openjarvis.scheduler.places import Places
from openjarvis.scheduler.runs import Run, RunOutcome
from openjarvis.scheduler.store import SchedulerStore
from openjarvis.scheduler.task import OnInterrupt, ScheduledTask, TaskStatus
from openjarvis.scheduler.watch import Watch
from openjarvis.toolkit.typed import failure_text

_log = logging.getLogger("openjarvis.scheduler")

MOST_ATTEMPTS = 3
"""How often a slot is begun when its process keeps dying under it."""

RECORD_AGAIN_SECONDS = 1.0

Work = Callable[[ScheduledTask, Run], RunOutcome]


class Runner(Protocol):
    """Carries out runs that were claimed in its name; any thread may call any method."""

    owner: str
    """Whose name stands on the runs."""
    lease: timedelta
    """How long a run is believed to be alive without a sign of life."""
    look_every: float
    """After how many seconds `recover` wants to be called again."""

    def open(self) -> None:
        """Get ready to carry out runs; doing so again is fine."""

    def free(self) -> int:
        """Return how many more runs may be claimed now."""

    def start(self, task: ScheduledTask, run: Run) -> None:
        """Carry out a claimed run and close it in the ledger."""

    def recover(self) -> int:
        """Take care of runs whose holder is gone; return how many are still in doubt."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing runs here; False when `timeout` seconds were not enough."""

    def stop(self, timeout: float) -> bool:
        """Take no more runs and wait for the present ones; False when some are still going."""


class ThreadRunner:
    """Runs tasks in threads of this process, at most `max_parallel` at once.

    It shows a sign of life for its runs four times in every lease. A run of another process counts
    as dead only when this process has watched its lease go without renewal, for half a lease if it
    is over and for a whole one otherwise: two clocks that disagree, a clock that jumps or a machine
    that slept do not make a living run look dead.

    `changed` is called whenever a run has ended.
    """

    def __init__(
        self,
        store: SchedulerStore,
        work: Work,
        *,
        max_parallel: int = 4,
        lease: timedelta = timedelta(seconds=30),
        clock: Callable[[], datetime] = now_utc,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self.lease = lease
        self.look_every = lease.total_seconds() / 4
        self._store = store
        self._work = work
        self._clock = clock
        self._changed = changed
        self._places = Places(max_parallel)
        self._heart_lock = Lock()
        self._watch = Watch()
        self._heart: Thread | None = None

    def open(self) -> None:
        """Be ready: threads need no preparation."""

    def free(self) -> int:
        return self._places.free

    def start(self, task: ScheduledTask, run: Run) -> None:
        self._places.take(run.id)
        with self._heart_lock:
            if self._heart is None:
                self._heart = Thread(target=self._beat, name="scheduler-leases", daemon=True)
                self._heart.start()
        # A daemon thread, so that a task that hangs does not keep the process from ending.
        name = f"scheduled-task-{task.id}"
        thread = Thread(target=self._carry_out, args=(task, run), name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system gives no more threads
            self._end(run, RunOutcome(success=False, error=failure_text(error)))

    def recover(self) -> int:
        others = [run for run in self._store.runs.running() if run.owner != self.owner]
        unchanged = self._watch.unchanged_for({run.id: run.lease_until for run in others})
        return sum(self._is_in_doubt(run, unchanged[run.id]) for run in others)

    def wait(self, timeout: float | None = None) -> bool:
        return self._places.wait_idle(timeout)

    def stop(self, timeout: float) -> bool:
        return self.wait(timeout)

    def _carry_out(self, task: ScheduledTask, run: Run) -> None:
        self._end(run, self._work(task, run))

    def _end(self, run: Run, outcome: RunOutcome) -> None:
        self._record(run, outcome)
        self._places.leave(run.id)
        self._changed()

    def _record(self, run: Run, outcome: RunOutcome) -> None:
        # A run that cannot be recorded (a full disk, say) would be taken for interrupted and run
        # again, so this thread keeps holding it until the record is there.
        pause = Event()
        while True:
            try:
                if not self._store.runs.finish(run, outcome, self._clock()):
                    _log.warning("The run of task %s was taken over before it ended", run.task_id)
                return
            except Exception:  # noqa: BLE001 - a database may fail in any way, and this must go on
                _log.exception("The run of task %s cannot be recorded yet", run.task_id)
                pause.wait(RECORD_AGAIN_SECONDS)

    def _beat(self) -> None:
        pause = Event()
        while not pause.wait(self.look_every):
            with self._heart_lock:
                if self._places.is_idle:
                    self._heart = None
                    return
            try:
                self._store.runs.renew(self.owner, self._clock() + self.lease)
            except Exception:  # noqa: BLE001 - a database may fail in any way, and this must go on
                _log.exception("The leases of running tasks cannot be renewed")

    def _is_in_doubt(self, run: Run, unchanged: float) -> bool:
        """Take care of a run if its holder is dead; True while that is only to be feared."""
        is_over = run.lease_until < self._clock()
        if unchanged < self.lease.total_seconds() / (2 if is_over else 1):
            return is_over
        return not self._bury(run)

    def _bury(self, run: Run) -> bool:
        """Close a dead run or take its slot over; False when that must wait for a free place."""
        data = self._store.get_task(run.task_id)
        task = None if data is None else ScheduledTask.from_dict(data)
        if task is None or not _is_retried(task, run):
            self._store.runs.interrupt(run, self._clock())
            self._changed()
            return True
        if not self.free():
            return False
        now = self._clock()
        again = self._store.runs.take_over(
            run, owner=self.owner, now=now, lease_until=now + self.lease
        )
        if again is not None:
            _log.warning("Task %s was interrupted; its slot is run again", run.task_id)
            self.start(task, again)
        return True


def _is_retried(task: ScheduledTask, run: Run) -> bool:
    return (
        task.on_interrupt == OnInterrupt.RETRY
        and run.attempt < MOST_ATTEMPTS
        and task.status == TaskStatus.ACTIVE
    )
