"""The five tools with which a model makes and manages scheduled tasks."""

import json
from collections.abc import Callable
from typing import Annotated, Any, Self

from openjarvis.core.errors import ToolError
from openjarvis.core.registry import ToolRegistry
from openjarvis.scheduler.task import ScheduledTask, TaskStatus
from openjarvis.scheduler.timing import ScheduleType, has_offset
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool

UNAVAILABLE = (
    "The scheduler is not available here, so no task can be scheduled or changed. A person can do "
    "it with `jarvis schedule`."
)
TaskId = Annotated[str, "The id that schedule_task or list_scheduled_tasks gave"]


class SchedulerTool(TypedTool):
    """What the five share: the scheduler they work on, and how they fail without one."""

    category = "scheduler"

    def __init__(self, scheduler: Any = None) -> None:
        self._scheduler = scheduler

    @classmethod
    def build(cls, services: Services) -> Self:
        return cls(services.scheduler)

    @property
    def scheduler(self) -> Any:
        """The scheduler.

        Raises:
            ToolError: when there is none.
        """
        if self._scheduler is None:
            raise ToolError(UNAVAILABLE)
        return self._scheduler

    def change(self, change: Callable[[str], Any], task_id: str, *, to: TaskStatus) -> str:
        """Return what a model is told of a task that was paused, resumed or cancelled.

        Raises:
            ToolError: when there is no such task, or it is over.
        """
        if not task_id.strip():
            raise ToolError("Missing task_id: list_scheduled_tasks shows the ids.")
        task = _in_words(lambda: change(task_id.strip()))
        answer = {"task_id": task_id.strip(), "status": str(to)}
        if isinstance(task, ScheduledTask):
            answer["next_run"] = task.next_run or ""
        return json.dumps(answer)


@ToolRegistry.register("schedule_task")
class ScheduleTaskTool(SchedulerTool):
    """Have a prompt carried out later: once, every so often, or at set times of day or week.

    Call it when the user wants something done at a time to come, reminded of, or repeated. The run
    happens without the user: the prompt must say everything that is needed. Returns the task's id
    and its next run in UTC.
    """

    name = "schedule_task"
    required = ("prompt", "schedule_type", "schedule_value")
    read_only = False
    destructive = False
    idempotent = False
    examples = (
        "Remind me tomorrow at nine to call the bank",
        "Check the weather every morning at 7",
        "Summarise the news every hour",
    )

    def run(
        self,
        prompt: Annotated[str, "What to do when the time comes, complete in itself"] = "",
        schedule_type: Annotated[str, "One of once, interval, cron"] = "",
        schedule_value: Annotated[
            str,
            "once: an ISO 8601 time like 2030-01-31T09:00:00+01:00; interval: seconds like 3600; "
            "cron: five fields like '30 9 * * MON-FRI', or @daily",
        ] = "",
        agent: Annotated[str, "The agent that carries it out"] = "simple",
        tools: Annotated[str, "Names of the tools it may use, separated by commas"] = "",
        timezone: Annotated[
            str, "IANA zone in which cron lines and times without an offset are read; UTC if empty"
        ] = "",
    ) -> str:
        given = {"prompt": prompt, "schedule_type": schedule_type, "schedule_value": schedule_value}
        missing = [name for name, value in given.items() if not value.strip()]
        scheduler = self.scheduler
        if missing:
            raise ToolError(f"Missing {', '.join(missing)}.")
        zone = {"timezone": timezone} if timezone else {}
        task = _in_words(lambda: scheduler.create_task(**given, agent=agent, tools=tools, **zone))
        answer = {"task_id": task.id, "next_run": task.next_run, "status": str(task.status)}
        if not timezone and _was_read_as_utc(schedule_type, schedule_value):
            answer["note"] = "The time had no offset from UTC and was read as UTC."
        return json.dumps(answer)


@ToolRegistry.register("list_scheduled_tasks")
class ListScheduledTasksTool(SchedulerTool):
    """List the scheduled tasks with their ids, schedules and next runs (in UTC).

    Call it when the user asks what is scheduled, and to find the id of a task to be changed.
    """

    name = "list_scheduled_tasks"
    read_only = True
    examples = ("What is scheduled?", "Show my reminders", "When does the news summary run next?")

    def run(
        self,
        status: Annotated[
            str, "Only tasks that are active, paused, completed or cancelled; all if empty"
        ] = "",
    ) -> str:
        scheduler = self.scheduler
        tasks = _in_words(lambda: scheduler.list_tasks(status=status.strip() or None))
        return json.dumps([task.to_dict() for task in tasks], ensure_ascii=False)


@ToolRegistry.register("pause_scheduled_task")
class PauseScheduledTaskTool(SchedulerTool):
    """Let a scheduled task rest until it is resumed.

    Call it when the user wants a task stopped for a while; use cancel_scheduled_task to end it.
    """

    name = "pause_scheduled_task"
    required = ("task_id",)
    destructive = False
    idempotent = True
    examples = ("Pause the news summary", "Stop the reminder until I say so")

    def run(self, task_id: TaskId = "") -> str:
        return self.change(self.scheduler.pause_task, task_id, to=TaskStatus.PAUSED)


@ToolRegistry.register("resume_scheduled_task")
class ResumeScheduledTaskTool(SchedulerTool):
    """Let a paused scheduled task run again, from now on.

    Call it when the user wants a paused task back.
    """

    name = "resume_scheduled_task"
    required = ("task_id",)
    destructive = False
    idempotent = True
    examples = ("Resume the news summary", "Start the paused reminder again")

    def run(self, task_id: TaskId = "") -> str:
        return self.change(self.scheduler.resume_task, task_id, to=TaskStatus.ACTIVE)


@ToolRegistry.register("cancel_scheduled_task")
class CancelScheduledTaskTool(SchedulerTool):
    """End a scheduled task for good.

    Call it when the user no longer wants a task; it cannot be resumed afterwards.
    """

    name = "cancel_scheduled_task"
    required = ("task_id",)
    destructive = True
    idempotent = True
    examples = ("Cancel the news summary", "I no longer need that reminder")

    def run(self, task_id: TaskId = "") -> str:
        return self.change(self.scheduler.cancel_task, task_id, to=TaskStatus.CANCELLED)


def _in_words(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except KeyError as error:
        raise ToolError(str(error.args[0])) from error  # as text it would stand in quotes
    except ValueError as error:
        raise ToolError(str(error)) from error


def _was_read_as_utc(schedule_type: str, schedule_value: str) -> bool:
    return schedule_type.strip().lower() == ScheduleType.ONCE and not has_offset(schedule_value)
