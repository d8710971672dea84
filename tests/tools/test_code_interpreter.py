import asyncio
import signal
import sys
import threading
from typing import Any

import pytest

from marked_processes import alive, new_mark, wait_until_gone
from openjarvis import llm
from openjarvis.config import JarvisConfig, ToolsConfig
from openjarvis.core.errors import ConfigError
from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.sandbox.isolation import Isolation
from openjarvis.sandbox.session import Sandbox
from openjarvis.testing import ScriptedEngine, calls, says
from openjarvis.toolkit.services import Services
from openjarvis.tools import catalog
from openjarvis.tools.code_interpreter import CodeInterpreterTool
from openjarvis.tools.repl import ReplTool
from waiting import eventually


def test_output_and_the_last_value_come_back_with_the_walls_that_stood() -> None:
    result = CodeInterpreterTool().execute(code="print('one')\n2")

    assert (result.success, result.content) == (True, "one\n2")
    assert result.metadata["returncode"] == 0
    assert "resource limits" in result.metadata["sandbox"]["layers"]
    assert isinstance(result.metadata["sandbox"]["missing"], list)


def test_nothing_printed_is_said_so() -> None:
    assert CodeInterpreterTool().execute(code="x = 1").content == "(no output)"


def test_standard_error_follows_standard_output() -> None:
    code = "import sys\nprint('out', end='')\nprint('err', file=sys.stderr)"

    assert CodeInterpreterTool().execute(code=code).content == "out\nerr"


def test_an_exception_is_named() -> None:
    result = CodeInterpreterTool().execute(code="{}['missing']")

    assert not result.success
    assert "KeyError: 'missing'" in result.content
    assert result.metadata["returncode"] == 1


def test_past_its_time_it_says_so_and_keeps_what_was_printed() -> None:
    result = CodeInterpreterTool(timeout=0.5).execute(code="print('so far')\nwhile True: pass")

    assert not result.success
    assert result.content == "Execution timed out after 0.5 s.\nso far"


def test_long_output_is_cut_with_a_note() -> None:
    result = CodeInterpreterTool(max_output=100).execute(code="print('x' * 5000)")

    assert result.success
    assert result.content == "x" * 100 + "\n[Output truncated at 100 characters of 5,001]"


def test_a_flood_is_stopped_and_cut() -> None:
    result = CodeInterpreterTool(timeout=20).execute(code="while True: print('x' * 100_000)")

    assert not result.success
    assert "wrote more output than any limit allows" in result.content
    assert "[Output truncated at 10,000 characters of more]" in result.content


@pytest.mark.parametrize("arguments", [{}, {"code": ""}, {"code": " \n\t"}])
def test_without_code_it_asks_for_some(arguments: dict[str, str]) -> None:
    result = CodeInterpreterTool().execute(**arguments)

    assert not result.success
    assert "No code" in result.content


def test_where_files_are_open_it_refuses_with_what_to_do() -> None:
    tool = CodeInterpreterTool(sandbox=Sandbox(isolation=Isolation()))

    result = tool.execute(code="1")

    assert not result.success
    assert "Use code_interpreter_docker, or set allow_unsandboxed = true." in result.content


def test_what_the_user_allowed_is_named_in_every_result() -> None:
    tool = CodeInterpreterTool(sandbox=Sandbox(isolation=Isolation(), allow_unsandboxed=True))

    result = tool.execute(code="1")

    assert result.success
    assert result.metadata["sandbox"]["missing"]


def configured(**section: object) -> Services:
    return Services(config=JarvisConfig(tools=ToolsConfig(sections={"code_interpreter": section})))


def test_it_is_built_by_name_with_its_section_of_the_configuration() -> None:
    (tool,) = catalog.build(["code_interpreter"], configured(timeout=0.5, max_output=7))

    assert tool.spec.timeout_seconds > 0.5
    assert "timed out after 0.5 s" in tool.execute(code="while True: pass").content
    assert tool.execute(code="print('x' * 50)").content.startswith("xxxxxxx\n[Output")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"time_out": 3}, "did you mean 'timeout'"),
        ({"timeout": "3"}, "expected a number, got '3'"),
        ({"allow_unsandboxed": 1}, "expected true or false, got 1"),
    ],
)
def test_a_mistake_in_the_configuration_is_named(section: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CodeInterpreterTool.build(configured(**section))


def test_the_executor_waits_longer_than_the_code_may_take() -> None:
    executor = ToolExecutor([CodeInterpreterTool(timeout=0.5)])

    result = executor.execute(ToolCall("1", "code_interpreter", '{"code": "while True: pass"}'))

    assert result.content.startswith("Execution timed out after 0.5 s.")
    assert result.metadata["returncode"] < 0


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    return new_mark(monkeypatch)


def a_long_run(tool: CodeInterpreterTool | ReplTool) -> dict[str, Any]:
    turns = [calls(tool.name, code="import time\ntime.sleep(60)"), says("Awake.")]
    return {
        "messages": [llm.user("Sleep.")],
        "engine": ScriptedEngine(turns),
        "tools": [tool],
        "max_steps": 2,
    }


def interrupt_when_it_runs(mark: str) -> None:
    def interrupt() -> None:
        if eventually(lambda: bool(alive(mark))):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()


looks_into_proc = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
both_tools = pytest.mark.parametrize("make", [CodeInterpreterTool, ReplTool])


@looks_into_proc
@both_tools
def test_ctrl_c_ends_the_code_of_a_run(
    make: type[CodeInterpreterTool] | type[ReplTool], mark: str
) -> None:
    interrupt_when_it_runs(mark)

    with pytest.raises(KeyboardInterrupt) as stopped:
        llm.generate(**a_long_run(make(timeout=60)))

    assert [record.detail for record in stopped.value.response.tool_calls] == ["interrupted"]
    assert wait_until_gone(mark)


@looks_into_proc
@both_tools
def test_cancelling_a_task_ends_its_code(
    make: type[CodeInterpreterTool] | type[ReplTool], mark: str
) -> None:
    async def cancel_when_it_runs() -> None:
        task = asyncio.create_task(llm.agenerate(**a_long_run(make(timeout=60))))
        while not alive(mark):
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_when_it_runs())

    assert wait_until_gone(mark)


@looks_into_proc
@pytest.mark.parametrize("is_async", [False, True])
def test_code_that_runs_below_another_call_ends_with_it(mark: str, *, is_async: bool) -> None:
    @llm.tool(name="delegate")
    def delegate() -> str:
        """Have another model do it."""
        return llm.generate(**a_long_run(CodeInterpreterTool(timeout=60))).text

    @llm.tool(name="delegate")
    async def adelegate() -> str:
        """Have another model do it."""
        return (await llm.agenerate(**a_long_run(CodeInterpreterTool(timeout=60)))).text

    interrupt_when_it_runs(mark)

    with pytest.raises(KeyboardInterrupt):
        llm.generate(
            messages=[llm.user("Go.")],
            engine=ScriptedEngine([calls("delegate"), says("Done.")]),
            tools=[adelegate if is_async else delegate],
            max_steps=2,
        )

    assert wait_until_gone(mark)
