import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from openjarvis.core.errors import ToolError
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


def test_a_session_in_the_middle_of_a_call_never_makes_room(sessions: Sessions) -> None:
    sessions.run("a", "x = 1")
    sessions.run("b", "x = 2")
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(sessions.run, "a", "import time; time.sleep(1); print('whole')")
        wait_until_called(sessions, "a")

        sessions.run("c", "x = 3")

        assert slow.result().execution.stdout == "whole\n"
    assert sessions.run("a", "x").execution.stdout == "1\n"


def test_where_all_are_in_the_middle_of_a_call_another_is_refused(sessions: Sessions) -> None:
    with ThreadPoolExecutor(2) as pool:
        slow = [
            pool.submit(sessions.run, name, "import time; time.sleep(1); print('whole')")
            for name in "ab"
        ]
        for name in "ab":
            wait_until_called(sessions, name)

        with pytest.raises(ToolError, match="All 2 Python sessions are running code"):
            sessions.run("c", "1")

        assert [one.result().execution.stdout for one in slow] == ["whole\n", "whole\n"]


def test_a_reset_ends_the_call_that_is_being_made_and_says_so(sessions: Sessions) -> None:
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(sessions.run, "a", "print('begun', flush=True)\nwhile True: pass")
        wait_until_called(sessions, "a")

        sessions.reset("a")

        assert slow.result().execution.ending is Ending.CLOSED
    assert "NameError" in sessions.run("a", "x").execution.stderr


def test_output_never_crosses_over_while_sessions_come_and_go() -> None:
    sessions = Sessions(Sandbox(Limits(timeout_seconds=10)), most=2)
    code = "import time\nfor n in range(5):\n    print({0!r}, flush=True); time.sleep(.01)"

    def rounds(name: str) -> set[str]:
        seen: set[str] = set()
        for number in range(12):
            if number % 4 == 3:
                sessions.reset(name if number % 8 == 3 else "other")
            try:
                execution = sessions.run(name, code.format(name)).execution
            except ToolError:  # both were busy
                continue
            seen |= {*execution.stdout.split(), str(execution.ending)}
        return seen

    with ThreadPoolExecutor(5) as pool:
        seen = dict(zip("abcde", pool.map(rounds, "abcde"), strict=True))

    assert any(name in words for name, words in seen.items())
    assert all(words <= {name, "None"} for name, words in seen.items()), seen


def wait_until_called(sessions: Sessions, name: str) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        named = sessions._open.get(name)
        if named is not None and named.callers:
            return
        time.sleep(0.005)
    pytest.fail(f"{name} was not called")
