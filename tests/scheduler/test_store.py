import sqlite3
import stat
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest

from openjarvis.core.errors import ConfigError
from openjarvis.scheduler.database import SQLiteDatabase
from openjarvis.scheduler.store import SchedulerStore
from openjarvis.scheduler.task import ScheduledTask, TaskStatus
from scheduler.fakes import NOON, MakeStore


def a_task(task_id: str = "a", **changes: object) -> ScheduledTask:
    data = {
        "id": task_id,
        "prompt": "สรุปข่าว",
        "schedule_type": "interval",
        "schedule_value": "60",
        "next_run": "2026-11-30T12:00:00+00:00",
    }
    return ScheduledTask.from_dict({**data, **changes})


def test_a_task_comes_back_as_it_was_saved(store: SchedulerStore) -> None:
    task = a_task(metadata={"why": ["ข่าว", 1]}, tools="calculator,think", timezone="Asia/Bangkok")

    store.save_task(task)

    assert store.get_task("a") == task.to_dict()
    assert ScheduledTask.from_dict(store.get_task("a") or {}) == task


def test_a_task_may_be_a_dict_with_only_the_documented_keys(store: SchedulerStore) -> None:
    data = {
        "id": "d",
        "prompt": "hello",
        "schedule_type": "once",
        "schedule_value": "2030-01-01T00:00:00+00:00",
        "context_mode": "isolated",
        "status": "active",
        "next_run": "2030-01-01T00:00:00+00:00",
        "last_run": None,
        "agent": "simple",
        "tools": "",
        "metadata": {},
    }

    store.save_task(data)

    saved = store.get_task("d")
    assert saved is not None
    assert data.items() <= saved.items()


def test_an_unknown_task_is_none(store: SchedulerStore) -> None:
    assert store.get_task("nobody") is None
    assert not store.delete_task("nobody")
    with pytest.raises(KeyError, match="nobody"):
        store.update_task(a_task("nobody"))


def test_a_task_can_be_replaced_and_deleted_with_its_runs(store: SchedulerStore) -> None:
    store.save_task(a_task())
    store.log_run("a", NOON, NOON, True)

    store.update_task(a_task(status="paused"))
    assert [task["status"] for task in store.list_tasks()] == ["paused"]

    assert store.delete_task("a")
    assert store.list_tasks() == []
    assert store.get_run_logs("a") == []


def test_tasks_are_listed_by_status_and_soonest_first(store: SchedulerStore) -> None:
    store.save_task(a_task("late", next_run="2026-11-30T13:00:00+00:00"))
    store.save_task(a_task("over", next_run=None, status="completed"))
    store.save_task(a_task("soon", next_run="2026-11-30T19:30:00+07:00"))

    assert [task["id"] for task in store.list_tasks()] == ["soon", "late", "over"]
    assert [task["id"] for task in store.list_tasks("completed")] == ["over"]
    assert store.list_tasks("paused") == []


def test_due_times_are_compared_as_times_whatever_their_offset(store: SchedulerStore) -> None:
    store.save_task(a_task("east", next_run="2026-11-30T18:59:59+07:00"))  # 11:59:59 in UTC
    store.save_task(a_task("west", next_run="2026-11-30T07:00:01-05:00"))  # 12:00:01 in UTC
    store.save_task(a_task("naive", next_run="2026-11-30T12:00:00"))

    assert [task["id"] for task in store.get_due_tasks(NOON)] == ["east", "naive"]
    assert [task["id"] for task in store.get_due_tasks("2026-11-30T13:00:01+01:00")] == [
        "east",
        "naive",
        "west",
    ]
    assert len(store.get_due_tasks(NOON, limit=1)) == 1
    assert store.next_due() == NOON - timedelta(seconds=1)


def test_only_active_tasks_are_due(store: SchedulerStore) -> None:
    for status in TaskStatus:
        store.save_task(a_task(status, status=status))

    assert [task["id"] for task in store.get_due_tasks(NOON)] == ["active"]


def test_a_status_that_does_not_exist_is_refused(store: SchedulerStore) -> None:
    with pytest.raises(ValueError, match="asleep"):
        store.save_task(a_task(status="asleep"))


@pytest.mark.parametrize("prompt", ["a\0b", "a\ud800b"])
def test_text_that_no_database_takes_is_refused(store: SchedulerStore, prompt: str) -> None:
    with pytest.raises(ValueError, match="The prompt of a task must be text without NULs"):
        store.save_task(a_task(prompt=prompt))


def test_run_logs_are_kept_newest_first_and_bounded(store: SchedulerStore) -> None:
    for number in range(5):
        store.log_run("a", NOON, NOON + timedelta(seconds=1), number % 2 == 0, f"run {number}")
    store.log_run("b", NOON, "2026-11-30T12:00:05+00:00", False, error="no engine")

    assert [log["result"] for log in store.get_run_logs("a")] == ["run 4", "run 3", "run 2"]
    assert [log["result"] for log in store.get_run_logs("a", limit=1)] == ["run 4"]
    assert store.get_run_logs("a")[0]["success"] is True
    log = store.get_run_logs("b")[0]
    assert (log["success"], log["error"]) == (False, "no engine")
    assert log["finished_at"] == "2026-11-30T12:00:05+00:00"


def test_a_very_long_answer_is_cut_with_a_note(store: SchedulerStore) -> None:
    store.log_run("a", NOON, NOON, True, "x" * 30_000)

    result = store.get_run_logs("a")[0]["result"]
    assert len(result) < 20_100
    assert result.endswith("[10000 more characters were not kept]")


def test_the_file_is_readable_by_its_owner_only_and_home_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))

    SchedulerStore("~/deep/down/tasks.db").close()

    file = tmp_path / "deep" / "down" / "tasks.db"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_one_process_saves_another_sees(open_store: MakeStore) -> None:
    first, second = open_store(), open_store()

    first.save_task(a_task())

    assert second.get_task("a") is not None


def test_stores_that_open_a_new_database_at_once_all_find_the_tables(open_store: MakeStore) -> None:
    failures: list[BaseException] = []

    def open_it() -> None:
        try:
            open_store().list_tasks()
        except BaseException as error:  # noqa: BLE001 - every failure is told
            failures.append(error)

    threads = [Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


def test_a_file_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    SchedulerStore(tmp_path / "t.db").close()
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("INSERT INTO scheduler_schema VALUES (99)")
    connection.close()

    with pytest.raises(ConfigError, match="schema 99"):
        SchedulerStore(tmp_path / "t.db")


def test_a_failed_change_leaves_nothing_behind(store: SchedulerStore) -> None:
    def change_and_fail() -> None:
        with store.database.transaction() as execute:
            execute("INSERT INTO scheduler_schema VALUES (7)")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        change_and_fail()

    store.save_task(a_task())
    assert store.database.query("SELECT version FROM scheduler_schema") == [{"version": 1}]


def test_a_change_keeps_others_out_from_its_beginning(tmp_path: Path) -> None:
    first, second = SQLiteDatabase(tmp_path / "t.db"), SQLiteDatabase(tmp_path / "t.db")
    order: list[str] = []

    def change() -> None:
        with second.transaction():
            order.append("second")

    with first.transaction():
        thread = Thread(target=change)
        thread.start()
        thread.join(0.1)
        order.append("first")
    thread.join()

    assert order == ["first", "second"]
    first.close()
    second.close()
