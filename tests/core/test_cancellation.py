import threading

import pytest

from openjarvis.core import workers
from openjarvis.core.cancellation import Cancellation, Cancelled, ended_when_cancelled


def test_what_a_call_holds_is_ended_when_it_is_given_up() -> None:
    call, ended = Cancellation(), threading.Event()

    def work() -> bool:
        with call, ended_when_cancelled(ended.set):
            held.set()
            return ended.wait(20)

    held = threading.Event()
    job = workers.start(work)
    assert held.wait(20)
    call.cancel()

    assert job.wait(20)
    assert job.result() is True


def test_giving_up_the_outer_call_reaches_the_inner_one() -> None:
    outer, inner, ended = Cancellation(), Cancellation(), []

    with outer, inner, ended_when_cancelled(lambda: ended.append(1)):
        outer.cancel()
        outer.cancel()

    assert ended == [1]


def test_what_is_over_is_not_ended() -> None:
    call, ended = Cancellation(), []

    with call:
        with ended_when_cancelled(lambda: ended.append(1)):
            pass
        call.cancel()

    assert ended == []


def test_a_call_that_was_given_up_begins_nothing_more() -> None:
    call, inner = Cancellation(), Cancellation()

    with call:
        call.cancel()
        with pytest.raises(Cancelled), ended_when_cancelled(lambda: None):
            pytest.fail("it began")
        with pytest.raises(Cancelled), inner:
            pytest.fail("it began")


def test_without_a_call_around_it_nothing_is_asked() -> None:
    with ended_when_cancelled(lambda: pytest.fail("nobody gave it up")):
        pass


def test_an_end_that_raises_keeps_no_other_from_its_end(caplog: pytest.LogCaptureFixture) -> None:
    ended: list[str] = []

    def fails() -> None:
        raise ValueError("secret")

    call = Cancellation()
    call.hold(1, fails)
    call.hold(2, lambda: ended.append("second"))

    assert call.cancel()
    assert ended == ["second"]
    assert "was not ended: ValueError" in caplog.text
    assert "secret" not in caplog.text
