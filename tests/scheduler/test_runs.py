from datetime import datetime, timedelta
from threading import Barrier, Thread

import pytest

from openjarvis.scheduler.runs import Run, RunOutcome
from openjarvis.scheduler.store import SchedulerStore
from openjarvis.scheduler.task import ScheduledTask, TaskStatus
from scheduler.fakes import NOON, MakeStore

LATER = NOON + timedelta(minutes=1)
LEASE = NOON + timedelta(seconds=30)


@pytest.fixture(autouse=True)
def task(store: SchedulerStore) -> None:
    store.save_task(ScheduledTask("a", "go", "interval", "60", next_run=NOON.isoformat()))


def claim(
    store: SchedulerStore,
    *,
    owner: str = "me",
    slot: datetime = NOON,
    following: datetime | None = LATER,
) -> Run | None:
    return store.runs.claim(
        "a", slot, following=following, owner=owner, now=NOON, lease_until=LEASE
    )


def statuses(store: SchedulerStore) -> list[tuple[int, str]]:
    return [(log["attempt"], log["status"]) for log in reversed(store.get_run_logs("a"))]


def test_a_slot_is_claimed_once_and_the_task_moves_on(store: SchedulerStore) -> None:
    run = claim(store)

    assert run is not None
    assert claim(store, owner="other") is None
    task = store.get_task("a") or {}
    assert task["next_run"] == LATER.isoformat()
    assert task["last_run"] == NOON.isoformat()


def test_of_many_that_claim_at_once_one_gets_the_slot(open_store: MakeStore) -> None:
    start, won = Barrier(8), []

    def race(name: str) -> None:
        own = open_store()
        start.wait()
        if claim(own, owner=name) is not None:
            won.append(name)

    threads = [Thread(target=race, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(won) == 1
    assert statuses(open_store()) == [(1, "running")]


def test_a_task_never_overlaps_itself(store: SchedulerStore) -> None:
    run = claim(store)
    assert run is not None

    assert store.get_due_tasks(LATER) == []
    assert claim(store, slot=LATER) is None

    store.runs.finish(run, RunOutcome(success=True), LATER)
    assert [task["id"] for task in store.get_due_tasks(LATER)] == ["a"]


def test_a_paused_or_cancelled_task_is_not_claimed(store: SchedulerStore) -> None:
    store.change_status("a", expected=[TaskStatus.ACTIVE], to=TaskStatus.PAUSED, next_run=NOON)

    assert claim(store) is None
    assert statuses(store) == []


def test_a_slot_that_comes_round_again_is_not_run_again(store: SchedulerStore) -> None:
    run = claim(store)
    assert run is not None
    store.runs.finish(run, RunOutcome(success=True), NOON)
    # A clock that was set back and a task that was resumed lead to the same slot once more.
    store.change_status("a", expected=["active"], to="active", next_run=NOON)

    assert claim(store) is None
    assert (store.get_task("a") or {})["next_run"] == LATER.isoformat()
    assert statuses(store) == [(1, "succeeded")]


def test_the_end_of_a_run_is_recorded_with_its_answer_and_calls(store: SchedulerStore) -> None:
    run = claim(store)
    assert run is not None

    calls = [{"tool_name": "send", "outcome": "denied"}]
    assert store.runs.finish(run, RunOutcome(True, "42", "", calls), NOON)

    log = store.get_run_logs("a")[0]
    assert log["success"] is True
    assert log["result"] == "42"
    assert log["calls"] == calls
    assert log["slot"] == NOON.isoformat()
    assert not store.runs.finish(run, RunOutcome(False), NOON), "it can be closed once only"


def test_a_running_run_is_seen_without_a_verdict(store: SchedulerStore) -> None:
    claim(store)

    log = store.get_run_logs("a")[0]
    assert (log["status"], log["success"], log["finished_at"]) == ("running", None, None)


def test_the_last_run_completes_its_task(store: SchedulerStore) -> None:
    run = claim(store, following=None)
    assert run is not None
    assert (store.get_task("a") or {})["status"] == "active"

    store.runs.finish(run, RunOutcome(False, error="no"), NOON)

    assert (store.get_task("a") or {})["status"] == "completed"


def test_a_task_paused_during_its_last_run_stays_paused(store: SchedulerStore) -> None:
    run = claim(store, following=None)
    assert run is not None
    store.change_status("a", expected=["active"], to="paused")

    store.runs.finish(run, RunOutcome(True), NOON)

    assert (store.get_task("a") or {})["status"] == "paused"


def test_a_run_whose_lease_was_renewed_cannot_be_taken(store: SchedulerStore) -> None:
    claim(store)
    seen = store.runs.running()[0]

    assert store.runs.renew("me", LEASE + timedelta(seconds=1)) == 1

    assert store.runs.take_over(seen, owner="x", now=LATER, lease_until=LATER) is None
    assert not store.runs.interrupt(seen, LATER)
    assert statuses(store) == [(1, "running")]


def test_a_dead_run_is_marked_and_its_slot_tried_again_by_one(store: SchedulerStore) -> None:
    mine = claim(store)
    assert mine is not None
    seen = store.runs.running()[0]

    again = store.runs.take_over(seen, owner="x", now=LATER, lease_until=LATER)

    assert again is not None
    assert (again.slot, again.attempt) == (NOON, 2)
    assert store.runs.take_over(seen, owner="y", now=LATER, lease_until=LATER) is None
    assert statuses(store) == [(1, "interrupted"), (2, "running")]
    assert not store.runs.finish(mine, RunOutcome(True, "late"), LATER), "it is not mine any more"


def test_a_dead_run_that_is_not_retried_completes_a_single_task(store: SchedulerStore) -> None:
    claim(store, following=None)

    assert store.runs.interrupt(store.runs.running()[0], LATER)

    log = store.get_run_logs("a")[0]
    assert (log["status"], log["success"]) == ("interrupted", False)
    assert "ended before the run did" in log["error"]
    assert (store.get_task("a") or {})["status"] == "completed"


def test_a_missed_slot_is_recorded_once(store: SchedulerStore) -> None:
    assert store.runs.skip("a", NOON, following=LATER, now=LATER)
    assert not store.runs.skip("a", NOON, following=LATER, now=LATER)

    assert statuses(store) == [(1, "missed")]
    assert (store.get_task("a") or {})["last_run"] is None


def test_whatever_a_model_answers_can_be_recorded(store: SchedulerStore) -> None:
    run = claim(store)
    assert run is not None
    odd = "a\0b\ud800c"

    assert store.runs.finish(run, RunOutcome(True, odd, odd, [{"content": odd}]), NOON)

    log = store.get_run_logs("a")[0]
    assert (log["result"], log["error"]) == ("a\ufffdb?c", "a\ufffdb?c")
    assert log["calls"][0]["content"].startswith("a")
