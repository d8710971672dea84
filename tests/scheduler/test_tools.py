import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.scheduler.book import TaskBook
from openjarvis.scheduler.store import SchedulerStore
from openjarvis.scheduler.tools import (
    CancelScheduledTaskTool,
    ListScheduledTasksTool,
    PauseScheduledTaskTool,
    ResumeScheduledTaskTool,
    SchedulerTool,
    ScheduleTaskTool,
)
from openjarvis.toolkit.services import Services
from scheduler.fakes import NOON, FakeClock

ALL: list[type[SchedulerTool]] = [
    ScheduleTaskTool,
    ListScheduledTasksTool,
    PauseScheduledTaskTool,
    ResumeScheduledTaskTool,
    CancelScheduledTaskTool,
]
ARGUMENTS: dict[str, str] = {
    "prompt": "say hello",
    "schedule_type": "once",
    "schedule_value": "2026-12-01T09:00:00+07:00",
}


@pytest.fixture
def book(tmp_path: Path) -> Iterator[TaskBook]:
    store = SchedulerStore(tmp_path / "t.db")
    yield TaskBook(store, clock=FakeClock())
    store.close()


def scheduled(book: TaskBook, **changes: str) -> dict[str, Any]:
    result = ScheduleTaskTool(book).execute(**{**ARGUMENTS, **changes})
    assert result.success, result.content
    answer: dict[str, Any] = json.loads(result.content)
    return answer


@pytest.mark.parametrize("tool", ALL)
def test_the_tools_are_registered_and_described(tool: type[SchedulerTool]) -> None:
    spec = tool().spec

    assert ToolRegistry.get(spec.name) is tool
    assert spec.category == "scheduler"
    assert "Call it when" in spec.description
    assert 2 <= len(spec.examples) <= 3


@pytest.mark.parametrize("tool", ALL)
def test_without_a_scheduler_every_tool_says_so(tool: type[SchedulerTool]) -> None:
    result = tool().execute(**(ARGUMENTS if tool is ScheduleTaskTool else {}))

    assert not result.success
    assert "not available" in result.content


def test_the_scheduler_may_be_put_in_later_and_comes_from_the_services(book: TaskBook) -> None:
    tool = ListScheduledTasksTool()
    tool._scheduler = book

    assert tool.execute().content == "[]"
    assert ListScheduledTasksTool.build(Services(scheduler=book)).execute().success


def test_a_scheduled_task_is_answered_with_its_id_and_next_run(book: TaskBook) -> None:
    answer = scheduled(book)

    assert answer == {
        "task_id": book.list_tasks()[0].id,
        "next_run": "2026-12-01T02:00:00+00:00",
        "status": "active",
    }


def test_a_time_without_an_offset_is_said_to_be_utc_unless_a_zone_was_given(
    book: TaskBook,
) -> None:
    naive = scheduled(book, schedule_value="2026-12-01T09:00")
    zoned = scheduled(book, schedule_value="2026-12-01T09:00", timezone="Asia/Bangkok")

    assert naive["next_run"] == "2026-12-01T09:00:00+00:00"
    assert "read as UTC" in naive["note"]
    assert zoned["next_run"] == "2026-12-01T02:00:00+00:00"
    assert "note" not in zoned


def test_what_is_missing_is_named(book: TaskBook) -> None:
    result = ScheduleTaskTool(book).execute(prompt="go")

    assert not result.success
    assert result.content == "Missing schedule_type, schedule_value."
    for tool in (PauseScheduledTaskTool, ResumeScheduledTaskTool, CancelScheduledTaskTool):
        assert "Missing task_id" in tool(book).execute().content


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"schedule_value": "2020-01-01T00:00:00Z"}, "in the past"),
        ({"schedule_type": "cron", "schedule_value": "0 0 30 2 *"}, "day-of-month"),
        ({"schedule_type": "interval", "schedule_value": "0"}, "positive"),
        ({"schedule_type": "sometimes"}, "use one of once, interval, cron"),
        ({"timezone": "Mars/Olympus"}, "Unknown time zone"),
    ],
)
def test_a_schedule_that_cannot_be_is_explained(
    book: TaskBook, changes: dict[str, str], says: str
) -> None:
    result = ScheduleTaskTool(book).execute(**{**ARGUMENTS, **changes})

    assert not result.success
    assert says in result.content
    assert book.list_tasks() == []


def test_tasks_are_listed_as_json_by_status(book: TaskBook) -> None:
    first = scheduled(book, prompt="สวัสดี")["task_id"]
    second = scheduled(book)["task_id"]
    book.pause_task(second)

    everything = json.loads(ListScheduledTasksTool(book).execute().content)
    paused = json.loads(ListScheduledTasksTool(book).execute(status="paused").content)

    assert [task["id"] for task in everything] == [first, second]
    assert everything[0]["prompt"] == "สวัสดี"
    assert [task["id"] for task in paused] == [second]
    assert not ListScheduledTasksTool(book).execute(status="asleep").success


def test_a_task_is_paused_resumed_and_cancelled(book: TaskBook) -> None:
    task_id = scheduled(book, schedule_type="interval", schedule_value="60")["task_id"]

    def answered(tool: type[SchedulerTool]) -> dict[str, Any]:
        result = tool(book).execute(task_id=f" {task_id} ")
        assert result.success, result.content
        answer: dict[str, Any] = json.loads(result.content)
        return answer

    assert answered(PauseScheduledTaskTool)["status"] == "paused"
    resumed = answered(ResumeScheduledTaskTool)
    assert (resumed["status"], resumed["next_run"]) == ("active", "2026-11-30T12:01:00+00:00")
    assert answered(CancelScheduledTaskTool)["status"] == "cancelled"
    assert book.get_task(task_id).status == "cancelled"

    refused = ResumeScheduledTaskTool(book).execute(task_id=task_id)
    assert not refused.success
    assert "cannot be changed any more" in refused.content


def test_an_unknown_task_is_a_sentence_not_a_key_error(book: TaskBook) -> None:
    result = CancelScheduledTaskTool(book).execute(task_id="nobody")

    assert not result.success
    assert result.content == "No scheduled task 'nobody'"


def test_a_scheduler_of_the_callers_own_will_do() -> None:
    class Own:
        def cancel_task(self, task_id: str) -> None:
            self.cancelled = task_id

    own = Own()
    result = CancelScheduledTaskTool(own).execute(task_id="a")

    assert own.cancelled == "a"
    assert json.loads(result.content) == {"task_id": "a", "status": "cancelled"}


def test_a_model_reaches_them_by_the_executors_road(book: TaskBook) -> None:
    executor = ToolExecutor([tool(book) for tool in ALL])

    result = executor.execute(ToolCall("1", "schedule_task", json.dumps(ARGUMENTS)))
    incomplete = executor.execute(ToolCall("2", "schedule_task", '{"prompt": "go"}'))

    assert result.success, result.content
    assert book.list_tasks()[0].next_run_at == NOON.replace(month=12, day=1, hour=2)
    assert not incomplete.success
    assert "schedule_type" in incomplete.content
