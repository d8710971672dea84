import logging
import time
from asyncio import CancelledError
from collections.abc import Iterator
from threading import Barrier, Thread, get_ident

import pytest

from openjarvis.core.events import (
    HISTORY_LIMIT,
    Event,
    EventBus,
    EventType,
    get_event_bus,
    reset_event_bus,
)


@pytest.fixture
def _fresh_shared_bus() -> Iterator[None]:
    reset_event_bus()
    yield
    reset_event_bus()


def test_the_kinds_of_events_are_those_of_the_contract() -> None:
    assert {kind.name for kind in EventType} == {
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "TOOL_TIMEOUT",
        "AGENT_TURN_START",
        "AGENT_TURN_END",
        "INFERENCE_START",
        "INFERENCE_END",
        "MEMORY_STORE",
        "MEMORY_RETRIEVE",
        "TELEMETRY_RECORD",
        "SCHEDULER_TASK_START",
        "SCHEDULER_TASK_END",
    }
    assert all(kind == kind.name.lower() for kind in EventType)


def test_a_subscriber_gets_the_events_of_its_type_in_order() -> None:
    bus = EventBus()
    seen: list[object] = []
    bus.subscribe(EventType.TOOL_CALL_START, lambda event: seen.append(event.data["n"]))

    for number in range(3):
        bus.publish(EventType.TOOL_CALL_START, {"n": number})
        bus.publish(EventType.TOOL_CALL_END, {"n": "other"})

    assert seen == [0, 1, 2]


def test_publish_returns_the_event_with_the_time_it_happened() -> None:
    before = time.time()

    event = EventBus().publish(EventType.INFERENCE_START, {"model": "m"})

    assert (event.event_type, event.data) == (EventType.INFERENCE_START, {"model": "m"})
    assert before <= event.timestamp <= time.time()


def test_an_event_without_data_carries_an_empty_dict_of_its_own() -> None:
    bus = EventBus()

    first, second = bus.publish(EventType.TOOL_TIMEOUT), bus.publish(EventType.TOOL_TIMEOUT)

    assert first.data == second.data == {}
    assert first.data is not second.data


def test_subscribers_are_called_in_the_order_and_thread_of_the_publisher() -> None:
    bus = EventBus()
    calls: list[tuple[str, int]] = []
    for name in ("first", "second"):
        bus.subscribe(
            EventType.TOOL_TIMEOUT, lambda _, name=name: calls.append((name, get_ident()))
        )

    bus.publish(EventType.TOOL_TIMEOUT)

    assert calls == [("first", get_ident()), ("second", get_ident())]


def test_an_unsubscribed_callback_is_not_called_again() -> None:
    bus = EventBus()
    seen: list[Event] = []
    bus.subscribe(EventType.TOOL_TIMEOUT, seen.append)

    bus.unsubscribe(EventType.TOOL_TIMEOUT, seen.append)
    bus.publish(EventType.TOOL_TIMEOUT)

    assert seen == []


def test_unsubscribing_a_callback_that_nobody_knows_is_fine() -> None:
    bus = EventBus()

    bus.unsubscribe(EventType.TOOL_TIMEOUT, print)

    bus.publish(EventType.TOOL_TIMEOUT)


def test_a_callback_subscribed_twice_is_called_twice_and_unsubscribed_once() -> None:
    bus = EventBus()
    seen: list[Event] = []
    bus.subscribe(EventType.TOOL_TIMEOUT, seen.append)
    bus.subscribe(EventType.TOOL_TIMEOUT, seen.append)

    bus.publish(EventType.TOOL_TIMEOUT)
    bus.unsubscribe(EventType.TOOL_TIMEOUT, seen.append)
    bus.publish(EventType.TOOL_TIMEOUT)

    assert len(seen) == 3


def test_a_subscriber_that_raises_is_logged_and_stops_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus = EventBus()
    seen: list[Event] = []
    bus.subscribe(EventType.TOOL_CALL_END, lambda _: 1 / 0)  # type: ignore[arg-type, return-value]
    bus.subscribe(EventType.TOOL_CALL_END, seen.append)

    with caplog.at_level(logging.ERROR, logger="openjarvis.events"):
        event = bus.publish(EventType.TOOL_CALL_END)

    assert seen == [event]
    assert "A subscriber of tool_call_end raised ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    "error", [SystemExit(3), GeneratorExit(), CancelledError(), BaseException("x")]
)
def test_nothing_that_a_subscriber_raises_leaves_publish(error: BaseException) -> None:
    bus = EventBus()
    seen: list[Event] = []

    def ends(_: Event) -> None:
        raise error

    bus.subscribe(EventType.TOOL_CALL_END, ends)
    bus.subscribe(EventType.TOOL_CALL_END, seen.append)

    event = bus.publish(EventType.TOOL_CALL_END)

    assert seen == [event]


def test_ctrl_c_leaves_publish_in_the_main_thread_only() -> None:
    bus = EventBus()
    ended: list[Event] = []

    def interrupts(_: Event) -> None:
        raise KeyboardInterrupt

    bus.subscribe(EventType.TOOL_CALL_END, interrupts)
    thread = Thread(target=lambda: ended.append(bus.publish(EventType.TOOL_CALL_END)))
    thread.start()
    thread.join()

    assert len(ended) == 1
    with pytest.raises(KeyboardInterrupt):
        bus.publish(EventType.TOOL_CALL_END)


def test_what_a_subscriber_says_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    bus = EventBus()

    def leaks(_: Event) -> None:
        raise ValueError("password=hunter22-secret \x1b[2J")

    bus.subscribe(EventType.TOOL_CALL_END, leaks)

    with caplog.at_level(logging.ERROR, logger="openjarvis.events"):
        bus.publish(EventType.TOOL_CALL_END)

    assert "A subscriber of tool_call_end raised ValueError" in caplog.text
    assert "hunter22" not in caplog.text
    assert "\x1b" not in caplog.text


def test_a_subscriber_may_subscribe_and_unsubscribe_while_it_is_called() -> None:
    bus = EventBus()
    seen: list[str] = []

    def once(_: Event) -> None:
        seen.append("once")
        bus.unsubscribe(EventType.TOOL_TIMEOUT, once)
        bus.subscribe(EventType.TOOL_TIMEOUT, lambda _: seen.append("later"))

    bus.subscribe(EventType.TOOL_TIMEOUT, once)

    bus.publish(EventType.TOOL_TIMEOUT)
    bus.publish(EventType.TOOL_TIMEOUT)

    assert seen == ["once", "later"]


def test_a_subscriber_may_publish() -> None:
    bus = EventBus(record_history=True)
    bus.subscribe(EventType.TOOL_CALL_START, lambda _: bus.publish(EventType.TOOL_CALL_END))

    bus.publish(EventType.TOOL_CALL_START)

    assert [event.event_type for event in bus.history] == ["tool_call_start", "tool_call_end"]


def test_history_is_empty_unless_the_bus_was_made_to_record() -> None:
    bus = EventBus()

    bus.publish(EventType.TOOL_TIMEOUT)
    bus.clear_history()

    assert bus.history == []


def test_a_recording_bus_remembers_until_it_is_told_to_forget() -> None:
    bus = EventBus(record_history=True)

    first, second = bus.publish(EventType.TOOL_TIMEOUT), bus.publish(EventType.MEMORY_STORE)
    remembered = bus.history
    bus.clear_history()

    assert remembered == [first, second]
    assert bus.history == []


def test_history_is_a_copy() -> None:
    bus = EventBus(record_history=True)
    bus.publish(EventType.TOOL_TIMEOUT)

    bus.history.clear()

    assert len(bus.history) == 1


def test_history_is_bounded_and_the_oldest_go_first() -> None:
    bus = EventBus(record_history=True)

    for number in range(HISTORY_LIMIT + 5):
        bus.publish(EventType.TELEMETRY_RECORD, {"n": number})

    assert len(bus.history) == HISTORY_LIMIT
    assert bus.history[0].data == {"n": 5}


def test_any_thread_may_publish_subscribe_and_read() -> None:
    bus = EventBus(record_history=True)
    threads, rounds = 8, 200
    ready = Barrier(threads)
    seen: list[Event] = []
    kept: list[Event] = []
    bus.subscribe(EventType.TOOL_TIMEOUT, seen.append)

    def work() -> None:
        ready.wait()
        for _ in range(rounds):
            bus.subscribe(EventType.MEMORY_STORE, kept.append)
            bus.publish(EventType.TOOL_TIMEOUT)
            assert bus.history
            bus.unsubscribe(EventType.MEMORY_STORE, kept.append)

    workers = [Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    bus.publish(EventType.MEMORY_STORE)

    assert len(seen) == threads * rounds
    assert len(bus.history) == threads * rounds + 1
    assert kept == []


@pytest.mark.usefixtures("_fresh_shared_bus")
def test_the_shared_bus_is_one_for_all_threads() -> None:
    ready = Barrier(8)
    found: list[EventBus] = []

    def work() -> None:
        ready.wait()
        found.append(get_event_bus())

    workers = [Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert len(found) == 8
    assert all(bus is get_event_bus() for bus in found)


@pytest.mark.usefixtures("_fresh_shared_bus")
def test_a_reset_gives_a_new_shared_bus() -> None:
    before = get_event_bus()

    reset_event_bus()

    assert get_event_bus() is not before
