from concurrent.futures import ThreadPoolExecutor

import pytest

from openjarvis.sandbox.limits import Limits
from openjarvis.sandbox.outcome import Ending
from openjarvis.sandbox.session import Sandbox
from openjarvis.sandbox.sessions import Sessions


@pytest.fixture
def sessions() -> Sessions:
    return Sessions(Sandbox(Limits(timeout_seconds=2)), most=2)


def test_names_keep_their_variables_apart_and_count_their_calls(sessions: Sessions) -> None:
    sessions.run("a", "x = 1")
    sessions.run("b", "x = 2")

    turn = sessions.run("a", "x")

    assert (turn.execution.stdout, turn.count, turn.is_new_after_end) == ("1\n", 2, False)


def test_the_longest_unused_is_closed_when_there_are_too_many(sessions: Sessions) -> None:
    sessions.run("a", "x = 1")
    sessions.run("b", "x = 2")
    sessions.run("a", "x")

    sessions.run("c", "x = 3")

    assert sessions.run("a", "x").execution.stdout == "1\n"
    assert "NameError" in sessions.run("b", "x").execution.stderr


def test_a_session_that_ended_is_begun_anew_and_says_so(sessions: Sessions) -> None:
    assert sessions.run("a", "while True: pass").execution.ending is Ending.TIMED_OUT

    turn = sessions.run("a", "1")

    assert (turn.execution.stdout, turn.count, turn.is_new_after_end) == ("1\n", 1, True)


def test_a_reset_forgets_and_a_stranger_may_be_reset(sessions: Sessions) -> None:
    sessions.run("a", "x = 1")
    sessions.reset("a")
    sessions.reset("never was")

    turn = sessions.run("a", "x")

    assert "NameError" in turn.execution.stderr
    assert not turn.is_new_after_end


def test_first_calls_of_one_name_meet_in_one_session(sessions: Sessions) -> None:
    with ThreadPoolExecutor(8) as pool:
        turns = list(pool.map(lambda n: sessions.run("a", f"x{n} = {n}"), range(8)))

    assert sorted(turn.count for turn in turns) == list(range(1, 9))
    assert sessions.run("a", "x0 + x7").execution.stdout == "7\n"


def test_at_least_one_session_is_needed() -> None:
    with pytest.raises(ValueError, match="max_sessions must be 1 or more"):
        Sessions(Sandbox(), most=0)
