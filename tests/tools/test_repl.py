from concurrent.futures import ThreadPoolExecutor

import pytest

from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.tools.repl import ReplTool


@pytest.fixture
def repl() -> ReplTool:
    return ReplTool(timeout=5, max_sessions=2)


def test_what_one_call_defines_the_next_one_sees(repl: ReplTool) -> None:
    repl.execute(code="import math\n\ndef double(n):\n    return 2 * n")

    result = repl.execute(code="double(math.floor(21.5))")

    assert (result.success, result.content) == (True, "42")
    assert result.metadata["session_id"] == "default"
    assert result.metadata["execution_count"] == 2


def test_sessions_have_variables_of_their_own(repl: ReplTool) -> None:
    repl.execute(code="x = 'a'", session_id="a")
    repl.execute(code="x = 'b'", session_id="b")

    assert repl.execute(code="x", session_id="a").content == "'a'"


def test_a_time_out_ends_that_session_only_and_the_next_call_says_so() -> None:
    repl = ReplTool(timeout=0.5)
    repl.execute(code="x = 1", session_id="other")
    repl.execute(code="x = 1")

    ended = repl.execute(code="while True: pass")
    after = repl.execute(code="x")

    assert not ended.success
    assert "timed out after 0.5 s" in ended.content
    assert "its variables are lost" in ended.content
    assert after.content.startswith("The earlier session had ended")
    assert "NameError" in after.content
    assert repl.execute(code="x", session_id="other").content == "1"


def test_the_oldest_session_makes_room(repl: ReplTool) -> None:
    for name in ("a", "b", "c"):
        repl.execute(code=f"x = {name!r}", session_id=name)

    assert "NameError" in repl.execute(code="x", session_id="a").content


def test_a_reset_forgets(repl: ReplTool) -> None:
    repl.execute(code="x = 1")

    assert "was reset" in repl.execute(reset=True).content
    assert "NameError" in repl.execute(code="x").content


def test_a_reset_can_bring_the_first_code_of_the_new_session(repl: ReplTool) -> None:
    repl.execute(code="x = 1")

    result = repl.execute(code="'x' in globals()", reset=True)

    assert (result.content, result.metadata["execution_count"]) == ("False", 1)


def test_output_and_errors_are_kept_and_a_failure_leaves_the_state(repl: ReplTool) -> None:
    failed = repl.execute(code="x = 5\nprint('so far')\n1 / 0")

    assert not failed.success
    assert failed.content.startswith("so far\nTraceback")
    assert "ZeroDivisionError" in failed.content
    assert repl.execute(code="x").content == "5"


@pytest.mark.parametrize("arguments", [{}, {"code": " "}])
def test_without_code_it_asks_for_some(repl: ReplTool, arguments: dict[str, str]) -> None:
    result = repl.execute(**arguments)

    assert not result.success
    assert "No code" in result.content


def test_the_same_call_may_be_made_again_and_again(repl: ReplTool) -> None:
    executor = ToolExecutor([repl])
    call = ToolCall("1", "repl", '{"code": "None"}')

    assert all(executor.execute(call).success for _ in range(6))


def test_closing_ends_all_sessions(repl: ReplTool) -> None:
    repl.execute(code="x = 1")

    repl.close()

    assert "NameError" in repl.execute(code="x").content


def test_threads_with_sessions_of_their_own_see_their_own_output_only() -> None:
    repl = ReplTool(timeout=10, max_sessions=2)
    code = "import time\nfor n in range(5):\n    print('sess{0}', flush=True); time.sleep(.01)"

    def rounds(number: int) -> list[str]:
        return [
            repl.execute(code=code.format(number), session_id=str(number)).content for _ in range(8)
        ]

    with ThreadPoolExecutor(5) as pool:
        seen = list(pool.map(rounds, range(5)))

    for number, contents in enumerate(seen):
        whole = "\n".join([f"sess{number}"] * 5)
        assert {one for one in contents if "All 2 Python sessions" not in one} <= {whole}
    repl.close()
