import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier, Event
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from openjarvis.core.errors import ConfigError
from openjarvis.core.events import EventBus, EventType
from openjarvis.scheduler.runs import Run
from openjarvis.scheduler.scheduler import TaskScheduler
from openjarvis.scheduler.store import SchedulerStore
from openjarvis.scheduler.task import TaskStatus
from openjarvis.scheduler.timing import ScheduleError
from scheduler.fakes import NOON, FakeClock, FakeSystem, Gate

Make = Callable[..., TaskScheduler]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def make(tmp_path: Path, clock: FakeClock) -> Iterator[Make]:
    """Makes schedulers on one database, each with a connection of its own like a process has."""
    made: list[TaskScheduler] = []
    stores: list[SchedulerStore] = []

    def make(system: Any = None, **options: Any) -> TaskScheduler:
        options = {"clock": clock, "bus": EventBus(), **options}
        store = SchedulerStore(tmp_path / "t.db")
        stores.append(store)
        made.append(TaskScheduler(store, system, **options))
        return made[-1]

    yield make
    assert all(scheduler.stop(5) for scheduler in made), "a run is still going"
    for store in stores:
        store.close()


def run_until_idle(scheduler: TaskScheduler) -> int:
    began = scheduler.run_due()
    assert scheduler.runner.wait(10)
    return began


def logs(scheduler: TaskScheduler, task_id: str) -> list[tuple[str, int, str]]:
    """The status, attempt and slot (hours and minutes) of a task's runs, oldest first."""
    return [
        (log["status"], log["attempt"], log["slot"][11:16])
        for log in reversed(scheduler.store.get_run_logs(task_id, limit=100))
    ]


def eventually(is_so: Callable[[], bool], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        Event().wait(0.005)
    return False


# The book of tasks


def test_a_new_task_says_when_it_will_run(make: Make) -> None:
    task = make().create_task("go", "interval", "60", agent="orchestrator", tools=["a", "b"])

    assert task.status == "active"
    assert task.next_run == (NOON + timedelta(seconds=60)).isoformat()
    assert (task.agent, task.tools, task.tool_names) == ("orchestrator", "a,b", ["a", "b"])
    assert make().get_task(task.id) == task


def test_tasks_that_could_never_run_are_refused(make: Make) -> None:
    scheduler = make()

    with pytest.raises(ScheduleError, match="in the past"):
        scheduler.create_task("go", "once", "2026-11-30T11:59:00Z")
    with pytest.raises(ScheduleError, match="in the past"):
        scheduler.create_task("go", "once", NOON.isoformat())
    with pytest.raises(ScheduleError, match="positive"):
        scheduler.create_task("go", "interval", "-1")
    with pytest.raises(ScheduleError, match="day-of-month"):
        scheduler.create_task("go", "cron", "0 0 30 2 *")
    with pytest.raises(ValueError, match="prompt is empty"):
        scheduler.create_task("  ", "interval", "60")
    with pytest.raises(ValueError, match="sometimes"):
        scheduler.create_task("go", "interval", "60", on_missed="sometimes")
    assert scheduler.list_tasks() == []


def test_a_paused_task_rests_and_a_resumed_one_counts_from_now(
    make: Make, clock: FakeClock
) -> None:
    scheduler = make(FakeSystem())
    task = scheduler.create_task("go", "interval", "60")

    assert scheduler.pause_task(task.id).status == "paused"
    assert scheduler.pause_task(task.id).status == "paused"
    clock.advance(minutes=10)
    assert run_until_idle(scheduler) == 0

    resumed = scheduler.resume_task(task.id)
    assert (resumed.status, resumed.next_run_at) == ("active", clock() + timedelta(seconds=60))
    assert scheduler.resume_task(task.id) == resumed


def test_a_task_that_is_over_cannot_be_moved(make: Make, clock: FakeClock) -> None:
    scheduler = make(FakeSystem())
    cancelled = scheduler.create_task("go", "interval", "60").id
    completed = scheduler.create_task("go", "once", "2026-11-30T12:01:00Z").id
    scheduler.cancel_task(cancelled)
    clock.advance(minutes=1)
    run_until_idle(scheduler)
    assert scheduler.get_task(completed).status == "completed"

    assert scheduler.cancel_task(cancelled).status == "cancelled"
    for task_id in (cancelled, completed):
        with pytest.raises(ValueError, match="cannot be changed any more"):
            scheduler.resume_task(task_id)
        with pytest.raises(ValueError, match="cannot be changed any more"):
            scheduler.pause_task(task_id)
    with pytest.raises(ValueError, match="completed"):
        scheduler.cancel_task(completed)


def test_a_single_task_whose_time_passed_while_it_rested_cannot_be_resumed(
    make: Make, clock: FakeClock
) -> None:
    scheduler = make()
    task = scheduler.create_task("go", "once", "2026-11-30T12:01:00Z")
    scheduler.pause_task(task.id)
    clock.advance(minutes=2)

    with pytest.raises(ScheduleError, match="in the past"):
        scheduler.resume_task(task.id)
    assert scheduler.get_task(task.id).status == "paused"


def test_an_unknown_task_is_a_key_error_that_names_the_nearest(make: Make) -> None:
    scheduler = make()
    task = scheduler.create_task("go", "interval", "60")

    for change in (scheduler.pause_task, scheduler.resume_task, scheduler.cancel_task):
        with pytest.raises(KeyError, match=f"did you mean '{task.id}'"):
            change(task.id[:-1])


def test_tasks_are_listed_by_status(make: Make) -> None:
    scheduler = make()
    first = scheduler.create_task("go", "interval", "60")
    second = scheduler.create_task("go", "interval", "30")
    scheduler.pause_task(first.id)

    assert [task.id for task in scheduler.list_tasks()] == [second.id, first.id]
    assert [task.id for task in scheduler.list_tasks("paused")] == [first.id]
    with pytest.raises(ValueError, match="asleep"):
        scheduler.list_tasks("asleep")


# One run


def test_a_due_task_is_put_to_the_system_with_its_agent_and_tools(
    make: Make, clock: FakeClock
) -> None:
    system = FakeSystem()
    scheduler = make(system)
    task = scheduler.create_task(
        "add up", "interval", "60", agent="native_react", tools="calculator, think"
    )
    assert run_until_idle(scheduler) == 0
    clock.advance(seconds=60)

    assert run_until_idle(scheduler) == 1

    assert system.prompts == ["add up"]
    assert system.requests[0]["agent"] == "native_react"
    assert system.requests[0]["tools"] == ["calculator", "think"]
    assert system.requests[0]["context"] is False
    log = scheduler.store.get_run_logs(task.id)[0]
    assert (log["success"], log["result"]) == (True, "done: add up")
    assert scheduler.get_task(task.id).last_run == clock().isoformat()


def test_tools_need_an_agent_that_calls_them(make: Make, clock: FakeClock) -> None:
    system = FakeSystem()
    scheduler = make(system)
    scheduler.create_task("with", "interval", "60", tools="calculator")
    scheduler.create_task("without", "interval", "60")
    clock.advance(seconds=60)

    run_until_idle(scheduler)

    agents = dict(zip(system.prompts, (r["agent"] for r in system.requests), strict=True))
    assert agents == {"with": "orchestrator", "without": "simple"}


def test_what_a_person_must_confirm_is_denied_in_an_unattended_run(
    make: Make, clock: FakeClock
) -> None:
    system = FakeSystem()
    scheduler = make(system)
    scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    run_until_idle(scheduler)

    approve = system.requests[0]["approve"]

    assert approve(SimpleNamespace(spec=SimpleNamespace(requires_confirmation=False)))
    assert not approve(SimpleNamespace(spec=SimpleNamespace(requires_confirmation=True)))


def test_the_calls_of_a_run_are_kept_and_a_denied_one_says_so(make: Make, clock: FakeClock) -> None:
    class Calling:
        def ask_full(self, prompt: str, **request: Any) -> dict[str, Any]:
            denied = {"tool_name": "pay", "success": False, "outcome": "denied", "content": "no"}
            return {"content": "could not", "tool_results": [{**denied, "latency": 0.1}]}

    scheduler = make(Calling())
    task = scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    run_until_idle(scheduler)

    assert scheduler.store.get_run_logs(task.id)[0]["calls"] == [
        {"tool_name": "pay", "success": False, "outcome": "denied", "content": "no"}
    ]


def test_a_system_that_only_has_ask_is_enough(make: Make, clock: FakeClock) -> None:
    class Plain:
        def ask(self, prompt: str, *, agent: str, tools: list[str]) -> str:
            return f"{prompt} {agent} {tools}"

    scheduler = make(Plain())
    task = scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    run_until_idle(scheduler)

    assert scheduler.store.get_run_logs(task.id)[0]["result"] == "go simple []"


def test_a_mock_of_a_system_is_asked_by_its_ask(make: Make, clock: FakeClock) -> None:
    system = MagicMock()
    system.ask.return_value = "mocked"
    scheduler = make(system)
    task = scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    run_until_idle(scheduler)

    system.ask.assert_called_once_with("go", agent="simple", tools=[])
    assert scheduler.store.get_run_logs(task.id)[0]["result"] == "mocked"


@pytest.mark.parametrize("error", [RuntimeError("boom"), SystemExit(3), KeyboardInterrupt()])
def test_a_run_that_fails_in_whatever_way_is_recorded_and_the_task_goes_on(
    make: Make, clock: FakeClock, error: BaseException
) -> None:
    def fail(prompt: str) -> str:
        raise error

    scheduler = make(FakeSystem(fail))
    task = scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    run_until_idle(scheduler)

    log = scheduler.store.get_run_logs(task.id)[0]
    assert (log["status"], log["success"]) == ("failed", False)
    assert log["error"].startswith(type(error).__name__)
    assert scheduler.get_task(task.id).next_run_at == clock() + timedelta(seconds=60)


def test_without_a_system_a_run_fails_and_says_why(make: Make, clock: FakeClock) -> None:
    scheduler = make()
    task = scheduler.create_task("go", "once", "2026-11-30T12:01:00Z")
    clock.advance(seconds=60)
    run_until_idle(scheduler)

    assert "No system" in scheduler.store.get_run_logs(task.id)[0]["error"]
    assert scheduler.get_task(task.id).status == "completed"


def test_the_bus_is_told_of_the_start_and_the_end(make: Make, clock: FakeClock) -> None:
    bus = EventBus(record_history=True)
    scheduler = make(FakeSystem(), bus=bus)
    task = scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    run_until_idle(scheduler)

    start, end = bus.history
    assert start.event_type == EventType.SCHEDULER_TASK_START
    assert end.event_type == EventType.SCHEDULER_TASK_END
    assert start.data["task_id"] == end.data["task_id"] == task.id
    assert (end.data["success"], end.data["result"]) == (True, "done: go")


# Slots


def test_a_run_that_begins_late_does_not_shift_the_later_ones(make: Make, clock: FakeClock) -> None:
    scheduler = make(FakeSystem())
    task = scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=75)
    run_until_idle(scheduler)

    assert scheduler.get_task(task.id).next_run_at == NOON + timedelta(seconds=120)


def test_slots_that_are_a_little_late_are_all_run(make: Make, clock: FakeClock) -> None:
    scheduler = make(FakeSystem())
    task = scheduler.create_task("go", "interval", "10")
    clock.advance(seconds=35)

    assert scheduler.run_pending() == 3
    assert len(logs(scheduler, task.id)) == 3


def test_missed_slots_are_made_up_for_by_one_late_run(make: Make, clock: FakeClock) -> None:
    scheduler = make(FakeSystem())
    task = scheduler.create_task("go", "cron", "0 * * * *")
    clock.advance(hours=5, minutes=30)

    assert scheduler.run_pending() == 1
    assert logs(scheduler, task.id) == [("succeeded", 1, "13:00")]
    assert scheduler.get_task(task.id).next_run == "2026-11-30T18:00:00+00:00"


def test_an_interval_keeps_to_its_grid_after_missed_slots(make: Make, clock: FakeClock) -> None:
    scheduler = make(FakeSystem())
    task = scheduler.create_task("go", "interval", "600")
    clock.advance(minutes=65, seconds=30)

    assert scheduler.run_pending() == 1
    assert scheduler.get_task(task.id).next_run_at == NOON + timedelta(minutes=70)


def test_missed_slots_can_be_skipped(make: Make, clock: FakeClock) -> None:
    system = FakeSystem()
    scheduler = make(system)
    hourly = scheduler.create_task("go", "cron", "0 * * * *", on_missed="skip")
    single = scheduler.create_task("go", "once", "2026-11-30T13:00:00Z", on_missed="skip")
    clock.advance(hours=5, minutes=30)

    assert scheduler.run_pending() == 0
    assert system.prompts == []
    assert logs(scheduler, hourly.id) == [("missed", 1, "13:00")]
    assert scheduler.get_task(hourly.id).next_run == "2026-11-30T18:00:00+00:00"
    assert scheduler.get_task(single.id).status == "completed"


def test_a_clock_that_is_set_back_makes_no_double_run(make: Make, clock: FakeClock) -> None:
    system = FakeSystem()
    scheduler = make(system)
    task = scheduler.create_task("go", "cron", "*/5 * * * *")
    clock.advance(minutes=5)
    assert scheduler.run_pending() == 1

    clock.advance(minutes=-30)
    assert scheduler.run_pending() == 0
    scheduler.pause_task(task.id)
    scheduler.resume_task(task.id)
    for _ in range(7):
        clock.advance(minutes=5)
        scheduler.run_pending()

    slots = [slot for _, _, slot in logs(scheduler, task.id)]
    assert len(slots) == len(set(slots))
    assert "12:05" in slots


def test_a_task_whose_schedule_cannot_be_read_any_more_is_paused(
    make: Make, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler = make(FakeSystem())
    task = scheduler.create_task("go", "interval", "60")
    task.schedule_value = "soon"
    scheduler.store.save_task(task)
    clock.advance(seconds=60)

    with caplog.at_level(logging.ERROR, "openjarvis.scheduler"):
        assert run_until_idle(scheduler) == 0

    assert scheduler.get_task(task.id).status == "paused"
    assert "'soon' is not a positive number" in scheduler.store.get_run_logs(task.id)[0]["error"]


# Several at once


def test_runs_are_parallel_up_to_the_bound(make: Make, clock: FakeClock) -> None:
    together = Barrier(4)
    scheduler = make(FakeSystem(lambda prompt: str(together.wait(10))), max_parallel=3)
    for number in range(6):
        scheduler.create_task(f"go {number}", "once", "2026-11-30T12:01:00Z")
    clock.advance(seconds=60)

    for _ in range(2):
        assert scheduler.run_due() == 3
        assert scheduler.run_due() == 0
        together.wait(10)
        assert scheduler.runner.wait(10)
    assert {task.status for task in scheduler.list_tasks()} == {TaskStatus.COMPLETED}


def test_two_schedulers_on_one_store_run_every_slot_once(make: Make, clock: FakeClock) -> None:
    system = FakeSystem()
    schedulers = [make(system), make(system)]
    for number in range(5):
        schedulers[0].create_task(f"go {number}", "interval", "60")

    for _ in range(4):
        clock.advance(seconds=60)
        for scheduler in schedulers:
            scheduler.run_due()
        for scheduler in schedulers:
            assert scheduler.runner.wait(10)

    assert sorted(system.prompts) == sorted(f"go {n}" for n in range(5) for _ in range(4))


def test_a_cancelled_task_lets_its_run_end_and_stays_cancelled(
    make: Make, clock: FakeClock
) -> None:
    gate = Gate()
    scheduler = make(FakeSystem(gate))
    task = scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    scheduler.run_due()
    assert gate.entered.wait(10)

    scheduler.cancel_task(task.id)
    gate.opened.set()
    assert scheduler.runner.wait(10)

    assert logs(scheduler, task.id)[0][0] == "succeeded"
    assert scheduler.get_task(task.id).status == "cancelled"
    clock.advance(seconds=60)
    assert run_until_idle(scheduler) == 0


# Interrupted runs


def abandon(scheduler: TaskScheduler, clock: FakeClock, *, attempt: int = 1) -> Run:
    """Leave a claimed run behind, as a process does that is killed in mid-run."""
    task = scheduler.list_tasks()[0]
    slot = task.next_run_at
    assert slot is not None
    run = scheduler.store.runs.claim(
        task.id,
        slot,
        following=slot + timedelta(minutes=5),
        owner="gone",
        now=clock(),
        lease_until=clock() + timedelta(seconds=30),
    )
    for _ in range(attempt - 1):
        assert run is not None
        run = scheduler.store.runs.take_over(
            run, owner="gone", now=clock(), lease_until=clock() + timedelta(seconds=30)
        )
    assert run is not None
    return run


def test_a_run_of_a_dead_process_is_marked_and_tried_again(make: Make, clock: FakeClock) -> None:
    system = FakeSystem()
    scheduler = make(system, lease_seconds=0.05)
    task = scheduler.create_task("go", "interval", "300")
    clock.advance(minutes=5)
    abandon(scheduler, clock)
    clock.advance(seconds=31)

    scheduler.run_pending()

    assert logs(scheduler, task.id) == [("interrupted", 1, "12:05"), ("succeeded", 2, "12:05")]
    assert system.prompts == ["go"]


def test_a_task_may_say_that_it_is_not_tried_again(make: Make, clock: FakeClock) -> None:
    system = FakeSystem()
    scheduler = make(system, lease_seconds=0.05)
    task = scheduler.create_task("go", "interval", "300", on_interrupt="mark")
    clock.advance(minutes=5)
    abandon(scheduler, clock)
    clock.advance(seconds=31)

    assert scheduler.run_pending() == 0

    assert logs(scheduler, task.id) == [("interrupted", 1, "12:05")]
    assert system.prompts == []


def test_a_task_that_was_cancelled_meanwhile_is_not_tried_again(
    make: Make, clock: FakeClock
) -> None:
    system = FakeSystem()
    scheduler = make(system, lease_seconds=0.05)
    task = scheduler.create_task("go", "interval", "300")
    clock.advance(minutes=5)
    abandon(scheduler, clock)
    scheduler.cancel_task(task.id)
    clock.advance(seconds=31)

    scheduler.run_pending()

    assert logs(scheduler, task.id) == [("interrupted", 1, "12:05")]
    assert system.prompts == []


def test_a_slot_that_kills_every_process_is_given_up(make: Make, clock: FakeClock) -> None:
    scheduler = make(FakeSystem(), lease_seconds=0.05)
    task = scheduler.create_task("go", "interval", "300")
    clock.advance(minutes=5)
    abandon(scheduler, clock, attempt=3)
    clock.advance(seconds=31)

    scheduler.run_pending()

    assert [status for status, _, _ in logs(scheduler, task.id)] == ["interrupted"] * 3
    assert scheduler.get_task(task.id).status == "active"


def test_a_run_that_is_alive_is_not_taken_however_the_clock_jumps(
    make: Make, clock: FakeClock
) -> None:
    gate = Gate()
    holder, other = make(FakeSystem(gate)), make(FakeSystem())
    task = holder.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    holder.run_due()
    assert gate.entered.wait(10)

    clock.advance(hours=3)
    other.runner.recover()
    other.runner.recover()
    clock.advance(hours=-6)
    other.runner.recover()

    gate.opened.set()
    assert holder.runner.wait(10)
    assert logs(holder, task.id)[0] == ("succeeded", 1, "12:01")


def test_a_long_run_keeps_its_lease(make: Make) -> None:
    gate = Gate()
    holder = make(FakeSystem(gate), lease_seconds=0.4, clock=lambda: datetime.now(UTC))
    other = make(FakeSystem(), lease_seconds=0.4, clock=lambda: datetime.now(UTC))
    task = holder.create_task("go", "interval", "0.001")
    assert eventually(lambda: holder.run_due() == 1)
    assert gate.entered.wait(10)
    first = holder.store.runs.running()[0].lease_until
    assert eventually(
        lambda: (
            other.runner.recover() == 0
            and holder.store.runs.running()[0].lease_until > first + timedelta(seconds=1)
        )
    )

    holder.pause_task(task.id)
    gate.opened.set()
    assert holder.runner.wait(10)
    assert [log["status"] for log in holder.store.get_run_logs(task.id)] == ["succeeded"]


def test_a_run_that_cannot_be_recorded_is_held_until_it_can(
    make: Make, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("openjarvis.scheduler.runner.RECORD_AGAIN_SECONDS", 0.01)
    scheduler = make(FakeSystem())
    task = scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    finish, failures = scheduler.store.runs.finish, iter([OSError("no space"), OSError("no space")])

    def failing(*args: Any) -> bool:
        for failure in failures:
            raise failure
        return finish(*args)

    monkeypatch.setattr(scheduler.store.runs, "finish", failing)
    run_until_idle(scheduler)

    assert logs(scheduler, task.id) == [("succeeded", 1, "12:01")]
    assert "cannot be recorded yet" in caplog.text


# The loop


def now() -> datetime:
    return datetime.now(UTC)


def test_a_started_scheduler_runs_a_task_when_it_is_due_not_at_the_next_poll(make: Make) -> None:
    ran = Event()
    scheduler = make(FakeSystem(lambda prompt: str(ran.set())), poll_interval=3600, clock=now)
    scheduler.start()
    scheduler.start()

    due = now() + timedelta(seconds=0.3)
    scheduler.create_task("go", "once", due.isoformat())

    assert ran.wait(10)
    assert timedelta(0) <= now() - due < timedelta(seconds=2)
    assert scheduler.stop(5)


def test_a_task_that_another_process_adds_is_seen_in_time(make: Make) -> None:
    ran = Event()
    daemon = make(FakeSystem(lambda prompt: str(ran.set())), poll_interval=3600, clock=now)
    daemon.start()

    make(clock=now).create_task("go", "once", (now() + timedelta(seconds=1)).isoformat())

    assert ran.wait(10)


def test_the_end_of_a_run_makes_room_for_the_next_at_once(
    make: Make, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openjarvis.scheduler.scheduler.WATCH_SECONDS", 60)
    both = Barrier(2)
    gate = Gate()

    def answer(prompt: str) -> str:
        if not gate.opened.is_set():
            return gate(prompt)
        both.wait(10)
        return prompt

    scheduler = make(FakeSystem(answer), max_parallel=1, lease_seconds=600)
    for number in range(2):
        scheduler.create_task(f"go {number}", "interval", "60")
    clock.advance(seconds=60)
    scheduler.start()
    assert gate.entered.wait(10)

    gate.opened.set()
    both.wait(10)


def test_stop_waits_for_a_run_up_to_its_limit(make: Make, clock: FakeClock) -> None:
    gate = Gate()
    scheduler = make(FakeSystem(gate))
    task = scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    scheduler.start()
    assert gate.entered.wait(10)

    assert not scheduler.stop(0.01)
    gate.opened.set()
    assert scheduler.stop(10)
    assert logs(scheduler, task.id) == [("succeeded", 1, "12:01")]


def test_a_stopped_scheduler_begins_nothing_and_can_be_started_again(make: Make) -> None:
    ran = Event()
    scheduler = make(FakeSystem(lambda prompt: str(ran.set())), clock=now)
    scheduler.start()
    scheduler.stop()
    scheduler.create_task("go", "once", (now() + timedelta(seconds=0.05)).isoformat())
    assert not ran.wait(0.2)

    scheduler.start()
    assert ran.wait(10)


def test_the_loop_outlives_a_database_that_fails(
    make: Make, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("openjarvis.scheduler.scheduler.WATCH_SECONDS", 0.01)
    ran = Event()
    scheduler = make(FakeSystem(lambda prompt: str(ran.set())))
    scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    get_due, failures = scheduler.store.get_due_tasks, iter([OSError("disk full")])

    def failing(*args: Any, **kw: Any) -> list[dict[str, Any]]:
        for failure in failures:
            raise failure
        return get_due(*args, **kw)

    monkeypatch.setattr(scheduler.store, "get_due_tasks", failing)
    scheduler.start()

    assert ran.wait(10)
    assert "could not look for due tasks" in caplog.text


def test_pending_runs_are_made_until_it_is_wound_down(make: Make, clock: FakeClock) -> None:
    scheduler: list[TaskScheduler] = []

    def answer(prompt: str) -> str:
        scheduler[0].wind_down()
        return prompt

    scheduler.append(make(FakeSystem(answer), max_parallel=1))
    task = scheduler[0].create_task("go", "interval", "10")
    clock.advance(seconds=45)

    assert scheduler[0].run_pending() == 1
    assert scheduler[0].runner.wait(10)
    assert scheduler[0].run_pending() == 1, "it can be asked again"
    assert scheduler[0].runner.wait(10)
    assert len(logs(scheduler[0], task.id)) == 2


def test_a_run_for_which_there_is_no_thread_has_failed(
    make: Make, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoThread:
        def __init__(self, **_: object) -> None: ...

        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    scheduler = make(FakeSystem())
    task = scheduler.create_task("go", "interval", "60")
    clock.advance(seconds=60)
    with monkeypatch.context() as patch:
        patch.setattr(scheduler.runner, "_heart", object())
        patch.setattr("openjarvis.scheduler.runner.Thread", NoThread)
        scheduler.run_due()

    log = scheduler.store.get_run_logs(task.id)[0]
    assert (log["status"], log["error"]) == ("failed", "RuntimeError: can't start new thread")
    assert scheduler.runner.wait(0)


@pytest.mark.parametrize("name", ["poll_interval", "max_parallel", "lease_seconds"])
def test_numbers_that_must_be_positive_are_checked(make: Make, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be positive, not 0"):
        make(**{name: 0})
