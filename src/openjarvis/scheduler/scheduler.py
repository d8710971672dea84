"""The scheduler: wakes when a task is due and has it run once."""

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import Any

from openjarvis.core.errors import ConfigError
from openjarvis.core.events import EventBus, EventType, get_event_bus
from openjarvis.scheduler.book import TaskBook
from openjarvis.scheduler.instants import now_utc
from openjarvis.scheduler.perform import Approver, deny_confirmations, perform
from openjarvis.scheduler.runner import Runner, ThreadRunner, Work
from openjarvis.scheduler.runs import Run, RunOutcome
from openjarvis.scheduler.store import SchedulerStore
from openjarvis.scheduler.task import OnMissed, ScheduledTask, TaskStatus
from openjarvis.scheduler.timing import ScheduleError, next_run

_log = logging.getLogger("openjarvis.scheduler")

MakeRunner = Callable[[SchedulerStore, Work, Callable[[], None]], Runner]
"""Makes what carries out runs, from the store, the work, and whom to tell of a run's end."""

WATCH_SECONDS = 0.5
"""How often a sleeping scheduler looks whether another process has changed the store."""

STOP_SECONDS = 30.0
"""How long `stop` waits for tasks that are running."""


class TaskScheduler(TaskBook):
    """Tasks of a store, run on time through `system` (the SDK's `Jarvis`).

    Several schedulers, in one process or many, may work on one store: every slot is run once.
    `poll_interval` (seconds) is the longest time between two looks at the store; a due task does
    not wait for it. A slot that begins more than `missed_after` seconds late counts as missed, and
    the task's `on_missed` says what then. `approve` decides on tool calls; by default the calls
    that need a person's confirmation are denied. `make_runner` puts another way to carry out runs
    in the place of this process's threads.

    Raises:
        ConfigError: when a number that must be positive is not.
    """

    def __init__(
        self,
        store: SchedulerStore,
        system: Any = None,
        *,
        poll_interval: float = 60,
        bus: EventBus | None = None,
        max_parallel: int = 4,
        lease_seconds: float = 30.0,
        missed_after: float = 60.0,
        approve: Approver = deny_confirmations,
        clock: Callable[[], datetime] = now_utc,
        make_runner: MakeRunner | None = None,
    ) -> None:
        for name, value in (
            ("poll_interval", poll_interval),
            ("max_parallel", max_parallel),
            ("lease_seconds", lease_seconds),
        ):
            if value <= 0:
                raise ConfigError(f"{name} must be positive, not {value}.")
        super().__init__(store, clock=clock)
        self.system = system
        self.approve = approve
        self._bus = get_event_bus() if bus is None else bus
        self._missed_after = timedelta(seconds=missed_after)
        self._stopping = Event()
        self._loop: Thread | None = None
        self.runner: Runner = (
            ThreadRunner(
                store,
                self.carry_out,
                max_parallel=max_parallel,
                lease=timedelta(seconds=lease_seconds),
                clock=clock,
                changed=self._woken.set,
            )
            if make_runner is None
            else make_runner(store, self.carry_out, self._woken.set)
        )
        self._longest_sleep = min(poll_interval, self.runner.look_every)

    def start(self) -> None:
        """Run tasks as they become due, in a thread of its own, until `stop`."""
        if self._loop is not None and self._loop.is_alive():
            return
        self._stopping.clear()
        self.runner.open()
        self._loop = Thread(target=self._run, name="scheduler", daemon=True)
        self._loop.start()

    def wind_down(self) -> None:
        """Begin no more runs; `run_pending` returns, and so does the thread of `start`."""
        self._stopping.set()
        self._woken.set()

    def stop(self, timeout: float = STOP_SECONDS) -> bool:
        """Begin no more runs and wait for the present ones; False when some are still going.

        Those end by themselves, or count as interrupted once this process has ended.
        """
        self.wind_down()
        if self._loop is not None:
            self._loop.join()
            self._loop = None
        return self.runner.stop(timeout)

    def run_due(self) -> int:
        """Begin what is due at this moment, as far as there is room; return how many runs began."""
        self.runner.open()
        self.runner.recover()
        now = self._clock()
        due = self.store.get_due_tasks(now, limit=self.runner.free())
        return sum(self._begin(ScheduledTask.from_dict(task), now) for task in due)

    def run_pending(self) -> int:
        """Run all that is due now, wait for it, and return how many runs were made."""
        self._stopping.clear()
        self.runner.open()
        until, began = self._clock(), 0
        while not self._stopping.is_set():
            self._woken.clear()
            in_doubt = self.runner.recover()
            due = self.store.get_due_tasks(until, limit=self.runner.free())
            began += sum(self._begin(ScheduledTask.from_dict(task), until) for task in due)
            if not due and not in_doubt and self.runner.wait(0):
                break
            if not due:
                self._woken.wait(WATCH_SECONDS)
        return began

    def carry_out(self, task: ScheduledTask, run: Run) -> RunOutcome:
        """Perform a claimed run, telling the event bus of its start and its end."""
        subject = {"task_id": task.id, "slot": run.slot.isoformat(), "attempt": run.attempt}
        self._bus.publish(EventType.SCHEDULER_TASK_START, {**subject, "prompt": task.prompt})
        outcome = perform(task, self.system, approve=self.approve)
        self._bus.publish(
            EventType.SCHEDULER_TASK_END,
            {
                **subject,
                "success": outcome.success,
                "result": outcome.result,
                "error": outcome.error,
            },
        )
        return outcome

    def _begin(self, task: ScheduledTask, now: datetime) -> bool:
        slot = task.next_run_at
        if slot is None:
            return False
        is_missed = now - slot > self._missed_after
        try:
            following = next_run(
                task.schedule_type,
                task.schedule_value,
                now if is_missed else slot,
                task.timezone,
                anchor=slot,
            )
        except ScheduleError as error:
            self._give_up(task, now, error)
            return False
        if is_missed and task.on_missed == OnMissed.SKIP:
            self.store.runs.skip(task.id, slot, following=following, now=now)
            return False
        run = self.store.runs.claim(
            task.id,
            slot,
            following=following,
            owner=self.runner.owner,
            now=now,
            lease_until=now + self.runner.lease,
        )
        if run is not None:
            self.runner.start(task, run)
        return run is not None

    def _give_up(self, task: ScheduledTask, now: datetime, error: ScheduleError) -> None:
        # Written by hand or by an older time-zone table: better at rest than tried for ever.
        _log.error("Task %s is paused: %s", task.id, error)
        self.store.log_run(task.id, now, now, success=False, error=f"Paused: {error}")
        self.store.change_status(task.id, expected=(TaskStatus.ACTIVE,), to=TaskStatus.PAUSED)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._woken.clear()
                self.run_due()
                self._sleep()
            except Exception:  # noqa: BLE001 - a database may fail in any way, and this must go on
                _log.exception("The scheduler could not look for due tasks")
                self._stopping.wait(WATCH_SECONDS)

    def _sleep(self) -> None:
        """Sleep until a task is due, a run has ended, or it is time to look all the same."""
        end = time.monotonic() + self._longest_sleep
        while (left := end - time.monotonic()) > 0:
            # Without room nothing can begin: the end of a run wakes us.
            due = self.store.next_due() if self.runner.free() else None
            until_due = left if due is None else (due - self._clock()).total_seconds()
            nap = min(left, WATCH_SECONDS, until_due)
            if nap <= 0 or self._woken.wait(nap):
                return
