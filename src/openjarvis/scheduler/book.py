"""The book of tasks: making, listing, pausing, resuming and cancelling them; it runs nothing."""

from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Event
from typing import Any
from uuid import uuid4

from openjarvis.core.errors import nearest
from openjarvis.scheduler.instants import now_utc, to_text
from openjarvis.scheduler.store import SchedulerStore
from openjarvis.scheduler.task import OnInterrupt, OnMissed, ScheduledTask, TaskStatus
from openjarvis.scheduler.timing import ScheduleError, next_run


class TaskBook:
    """The tasks of a store; whoever runs them may be another process."""

    def __init__(self, store: SchedulerStore, *, clock: Callable[[], datetime] = now_utc) -> None:
        self.store = store
        self._clock = clock
        # Set at every change, for a scheduler of this process that sleeps.
        self._woken = Event()

    def create_task(
        self,
        prompt: str,
        schedule_type: str,
        schedule_value: str,
        agent: str = "simple",
        tools: str | Sequence[str] = "",
        *,
        timezone: str = "UTC",
        context_mode: str = "isolated",
        on_missed: str = OnMissed.RUN,
        on_interrupt: str = OnInterrupt.RETRY,
        metadata: dict[str, Any] | None = None,
    ) -> ScheduledTask:
        """Keep a new task and return it; `tools` are names, in a list or separated by commas.

        Raises:
            ScheduleError: when the schedule is nonsense or lies in the past.
            ValueError: when the prompt is empty or a policy is unknown.
        """
        if not prompt.strip():
            raise ValueError("The prompt is empty; write what is to be done when the task runs.")
        task = ScheduledTask(
            id=uuid4().hex[:12],
            prompt=prompt,
            schedule_type=str(schedule_type).strip().lower(),
            schedule_value=str(schedule_value).strip(),
            context_mode=context_mode,
            agent=agent,
            tools=tools if isinstance(tools, str) else ",".join(tools),
            metadata=metadata or {},
            timezone=timezone,
            on_missed=OnMissed(on_missed),
            on_interrupt=OnInterrupt(on_interrupt),
        )
        task.next_run = to_text(self._first_run(task))
        self.store.save_task(task)
        self._woken.set()
        return task

    def list_tasks(self, status: str | None = None) -> list[ScheduledTask]:
        """Return the tasks (those of one status), soonest first.

        Raises:
            ValueError: when there is no such status.
        """
        wanted = None if status is None else TaskStatus(status)
        return [ScheduledTask.from_dict(task) for task in self.store.list_tasks(wanted)]

    def get_task(self, task_id: str) -> ScheduledTask:
        """Return a task.

        Raises:
            KeyError: when there is none of this id; the text names the nearest.
        """
        data = self.store.get_task(task_id)
        if data is None:
            near = nearest(task_id, [task.id for task in self.list_tasks()])
            hint = f"; did you mean {near!r}?" if near else ""
            raise KeyError(f"No scheduled task {task_id[:80]!r}{hint}")
        return ScheduledTask.from_dict(data)

    def pause_task(self, task_id: str) -> ScheduledTask:
        """Let a task rest until it is resumed; a run that is going on is not stopped.

        Raises:
            KeyError: when there is no such task.
            ValueError: when it is over.
        """
        return self._move(task_id, to=TaskStatus.PAUSED)

    def resume_task(self, task_id: str) -> ScheduledTask:
        """Let a paused task run again, next at its first time from now on.

        Raises:
            KeyError: when there is no such task.
            ValueError: when it is over, or its only time has passed (a `ScheduleError`).
        """
        task = self.get_task(task_id)
        if task.status == TaskStatus.ACTIVE:
            return task
        following = self._first_run(task) if task.status == TaskStatus.PAUSED else None
        return self._move(task_id, to=TaskStatus.ACTIVE, next_run=following)

    def cancel_task(self, task_id: str) -> ScheduledTask:
        """End a task for good; a run that is going on is not stopped.

        Raises:
            KeyError: when there is no such task.
            ValueError: when it is completed.
        """
        return self._move(task_id, to=TaskStatus.CANCELLED)

    def _move(
        self, task_id: str, *, to: TaskStatus, next_run: datetime | None = None
    ) -> ScheduledTask:
        expected = (TaskStatus.ACTIVE, TaskStatus.PAUSED, to)
        moved = self.store.change_status(task_id, expected=expected, to=to, next_run=next_run)
        task = self.get_task(task_id)
        if not moved:
            raise ValueError(f"Task {task_id!r} is {task.status}; that cannot be changed any more.")
        self._woken.set()
        return task

    def _first_run(self, task: ScheduledTask) -> datetime:
        first = next_run(task.schedule_type, task.schedule_value, self._clock(), task.timezone)
        if first is None:
            raise ScheduleError(
                f"{task.schedule_value!r} is in the past (it is now "
                f"{self._clock().isoformat(timespec='seconds')}); choose a later time."
            )
        return first
