import pytest

from agent_tools import shout
from openjarvis.agents.native_openhands import NativeOpenHandsAgent
from openjarvis.config import JarvisConfig
from openjarvis.execution.record import Outcome
from openjarvis.llm.response import FinishReason
from openjarvis.system import System
from openjarvis.testing import ScriptedEngine, says
from openjarvis.tools.code_interpreter import CodeInterpreterTool


def test_code_runs_in_the_interpreter_and_its_output_comes_back() -> None:
    engine = ScriptedEngine([says("```python\nprint(6 * 7)\n```\nOutput: 41"), says("It is 42.")])

    result = NativeOpenHandsAgent(engine, "m", tools=[CodeInterpreterTool()]).run("6*7?")

    assert result.content == "It is 42."
    assert [(done.tool_name, done.content) for done in result.tool_results] == [
        ("code_interpreter", "42")
    ]
    assert engine.requests[-1].messages[-1].text == "Output:\n42"
    assert "41" not in engine.requests[-1].messages[-2].text


def test_an_exception_comes_back_by_its_name() -> None:
    engine = ScriptedEngine([says("```python\n1 / 0\n```"), says("It fails.")])

    result = NativeOpenHandsAgent(engine, "m", tools=[CodeInterpreterTool()]).run("x")

    assert result.tool_calls[0].outcome is Outcome.FAILED
    assert "ZeroDivisionError" in engine.requests[-1].messages[-1].text


def test_a_denied_block_does_not_run() -> None:
    engine = ScriptedEngine([says("```python\nprint(1)\n```"), says("I may not.")])
    agent = NativeOpenHandsAgent(
        engine, "m", tools=[CodeInterpreterTool()], approve=lambda request: False
    )

    result = agent.run("x")

    assert result.tool_calls[0].outcome is Outcome.DENIED


def test_other_tools_are_offered_and_called_by_name() -> None:
    engine = ScriptedEngine([says("Action: shout\nAction Input: hi"), says("HI it is.")])

    result = NativeOpenHandsAgent(engine, "m", tools=[CodeInterpreterTool(), shout]).run("x")

    assert [done.content for done in result.tool_results] == ["HI"]
    prompt = engine.requests[0].messages[0].text
    assert "### shout" in prompt
    assert "### code_interpreter" not in prompt


def test_without_an_interpreter_the_model_is_told_so() -> None:
    engine = ScriptedEngine([says("```python\nprint(1)\n```"), says("I cannot.")])

    result = NativeOpenHandsAgent(engine, "m").run("x")

    assert result.tool_calls[0].outcome is Outcome.UNKNOWN_TOOL


@pytest.mark.parametrize("tools", [[], ["code_interpreter"], [CodeInterpreterTool()]])
def test_a_system_adds_the_interpreter_where_it_was_not_chosen(tools: list[object]) -> None:
    config = JarvisConfig()
    config.audit.enabled = False
    engine = ScriptedEngine([says("```python\n1+1\n```"), says("2")])

    result = System(config, engine).agent("native_openhands", tools=tools).run("1+1?")  # type: ignore[arg-type]

    assert [done.content for done in result.tool_results] == ["2"]


def test_a_block_cut_off_by_the_limit_of_tokens_does_not_run() -> None:
    cut = says("```python\nprint(1)\nimport os; os.remo", finish_reason=FinishReason.LENGTH.value)
    engine = ScriptedEngine([cut, says("Never mind.")])

    result = NativeOpenHandsAgent(engine, "m", tools=[CodeInterpreterTool()]).run("x")

    assert result.tool_calls == []
