import json
from typing import Any

import pytest

from agent_tools import add, refund, shout
from openjarvis.agents.base import AgentContext
from openjarvis.agents.native_react import NativeReActAgent
from openjarvis.agents.orchestrator import OrchestratorAgent
from openjarvis.core.errors import LLMError
from openjarvis.core.events import EventBus, EventType
from openjarvis.core.types import Conversation, Role
from openjarvis.engine.offline.engine import OfflineEngine
from openjarvis.execution.record import Detail, Outcome
from openjarvis.llm.history import assistant, user
from openjarvis.llm.stream import Stream
from openjarvis.testing import ScriptedEngine, calls, says
from openjarvis.tools.calculator import CalculatorTool

ADD = 'Thought: add\nAction: add\nAction Input: {"a": 1, "b": 2}'
DONE = says("Thought: done\nFinal Answer: It is 3.")


def texts(engine: ScriptedEngine, request: int = -1) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in engine.requests[request].messages]


def test_a_tool_is_called_in_text_and_answers_in_text() -> None:
    engine = ScriptedEngine([says(ADD), DONE])

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?")

    assert (result.content, result.turns) == ("It is 3.", 2)
    assert [done.content for done in result.tool_results] == ["3"]
    assert [request.tools for request in engine.requests] == [None, None]
    assert texts(engine)[1:] == [
        ("user", "1+2?"),
        ("assistant", ADD),
        ("user", "Observation: 3"),
    ]


def test_the_prompt_has_the_one_tool_section() -> None:
    engine = ScriptedEngine([DONE])

    NativeReActAgent(engine, "m", tools=[add], system_prompt="Be kind.").run("1+2?")

    prompt = texts(engine)[0][1]
    assert prompt.startswith("Be kind.\n\n")
    assert "### add\nAdd two numbers.\nParameters:\n  - a (integer, required)" in prompt


def test_what_a_model_invents_is_neither_believed_nor_kept() -> None:
    engine = ScriptedEngine([says(f"{ADD}\nObservation: 99\nFinal Answer: 99"), DONE])

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?")

    assert result.content == "It is 3."
    assert "99" not in str(texts(engine))


def test_a_text_input_is_recorded_as_the_json_it_means() -> None:
    engine = ScriptedEngine([says("Action: shout\nAction Input: hi there"), DONE])

    result = NativeReActAgent(engine, "m", tools=[shout]).run("Shout")

    (record,) = result.tool_calls
    assert json.loads(record.input) == {"text": "hi there"}
    assert record.output == "HI THERE"


def test_every_call_is_announced_and_approved_as_any_other() -> None:
    bus = EventBus(record_history=True)
    engine = ScriptedEngine([says("Action: refund\nAction Input: A7"), DONE])

    result = NativeReActAgent(engine, "m", tools=[refund], bus=bus).run("Refund A7")

    assert [record.outcome for record in result.tool_calls] == [Outcome.DENIED]
    assert "was denied" in texts(engine)[-1][1]
    kinds = [event.event_type for event in bus.history]
    assert kinds.count(EventType.TOOL_CALL_START) == kinds.count(EventType.TOOL_CALL_END) == 1


def test_an_unknown_tool_is_answered_with_those_there_are() -> None:
    engine = ScriptedEngine([says("Action: sum\nAction Input: 1"), DONE])

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?")

    assert [record.outcome for record in result.tool_calls] == [Outcome.UNKNOWN_TOOL]
    assert "Unknown tool 'sum'. Available: add." in texts(engine)[-1][1]


def test_a_call_that_repeats_itself_is_stopped() -> None:
    engine = ScriptedEngine([says(ADD)] * 4 + [DONE])

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?")

    assert result.tool_calls[-1].detail is Detail.REPEATED


def test_a_malformed_step_is_corrected_and_the_run_goes_on() -> None:
    engine = ScriptedEngine([says("Thought: let me see"), says(ADD), DONE])

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?")

    assert (result.content, result.turns) == ("It is 3.", 3)
    assert texts(engine, 1)[-1][0] == "user"
    assert "no usable Action" in texts(engine, 1)[-1][1]


def test_a_malformed_step_is_corrected_twice_in_a_row_and_then_is_the_answer() -> None:
    engine = ScriptedEngine([says("Thought: it is three")] * 3)

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?")

    assert (result.content, result.turns) == ("it is three", 3)
    assert result.metadata["finish_reason"] == "stop"


def test_a_good_step_between_starts_the_count_of_corrections_anew() -> None:
    bad = says("Thought: hm")
    engine = ScriptedEngine([bad, bad, says(ADD), bad, bad, DONE])

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?")

    assert (result.content, result.turns) == ("It is 3.", 6)


def test_corrections_spend_turns_too() -> None:
    engine = ScriptedEngine([says("Thought: hm"), says("Final Answer: I cannot tell.")])

    result = NativeReActAgent(engine, "m", tools=[add], max_turns=1).run("1+2?")

    assert (result.content, result.turns) == ("I cannot tell.", 1)
    assert result.metadata["max_turns_exceeded"] is True


def test_the_last_word_follows_the_protocol_and_the_roles_alternate() -> None:
    engine = ScriptedEngine([says(ADD), says("Thought: so\nFinal Answer: Not sure.")])

    result = NativeReActAgent(engine, "m", tools=[add], max_turns=1).run("1+2?")

    assert result.content == "Not sure."
    roles = [role for role, _ in texts(engine)]
    assert roles == ["system", "user", "assistant", "user"]
    assert "Observation: Not run" in texts(engine)[-1][1]
    assert "no turns left" in texts(engine)[-1][1]
    assert texts(engine)[-1][1].endswith("Write nothing but 'Final Answer: <answer>'.")


def test_an_action_in_the_last_turn_is_no_answer() -> None:
    engine = ScriptedEngine([says(ADD), says(ADD)])

    result = NativeReActAgent(engine, "m", tools=[add], max_turns=1).run("1+2?")

    assert result.content == "No final answer within 1 turns."


def test_a_step_left_by_a_last_turn_that_failed_is_no_answer_either() -> None:
    engine = ScriptedEngine([says(ADD), LLMError("LLM_UNAVAILABLE", "gone")])

    result = NativeReActAgent(engine, "m", tools=[add], max_turns=1).run("1+2?")

    assert result.content == "No final answer within 1 turns."


def test_a_step_that_was_cut_off_does_not_run() -> None:
    cut = says("Action: shout\nAction Input: delete everything in", finish_reason="length")
    engine = ScriptedEngine([cut, DONE])

    result = NativeReActAgent(engine, "m", tools=[shout]).run("x")

    assert result.tool_calls == []
    assert "cut off" in texts(engine)[-1][1]


def test_a_whole_step_before_what_was_cut_off_runs() -> None:
    rambling = says(f"{ADD}\nObservation: I think that", finish_reason="length")
    engine = ScriptedEngine([rambling, DONE])

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?")

    assert [record.output for record in result.tool_calls] == ["3"]


def test_a_step_that_the_provider_filtered_does_not_run() -> None:
    engine = ScriptedEngine([says(ADD, finish_reason="content_filter")])

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?")

    assert [record.outcome for record in result.tool_calls] == [Outcome.NOT_RUN]


def test_a_call_that_the_server_read_itself_counts_as_an_action() -> None:
    engine = ScriptedEngine([calls("add", a=1, b=2), DONE])

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?")

    assert [record.output for record in result.tool_calls] == ["3"]
    assert texts(engine)[-2] == ("assistant", 'Action: add\nAction Input: {"a": 1, "b": 2}')


def test_an_earlier_conversation_goes_on() -> None:
    engine = ScriptedEngine([DONE])
    context = AgentContext(Conversation([user("Hi"), assistant("Hello.")]))

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?", context)

    assert [message.role for message in result.metadata["messages"]] == [
        Role.USER,
        Role.ASSISTANT,
        Role.USER,
        Role.ASSISTANT,
    ]


def test_an_interrupted_run_leaves_a_history_that_goes_on() -> None:
    def interrupt(messages: Any) -> Any:
        raise KeyboardInterrupt

    engine = ScriptedEngine([says(ADD), interrupt])
    agent = NativeReActAgent(engine, "m", tools=[add])

    with agent.conversing("1+2?") as conversation, Stream(conversation) as stream:
        with pytest.raises(KeyboardInterrupt):
            list(stream.events())
        history = stream.response.messages

    assert [message.text for message in history] == ["1+2?", ADD, "Observation: 3"]


def test_an_engine_that_follows_no_prompt_is_asked_for_calls_instead() -> None:
    result = NativeReActAgent(OfflineEngine(), "", tools=[CalculatorTool()]).run(
        "What is 15% of 340?"
    )

    assert result.content == "51.0"


def test_a_model_that_wants_specs_beside_its_tools_thinks_in_text_too() -> None:
    class SpecsEngine(ScriptedEngine):
        takes_specs = True

    engine = SpecsEngine([says(ADD), DONE])

    result = NativeReActAgent(engine, "m", tools=[add]).run("1+2?")

    assert result.content == "It is 3."
    assert [request.tools for request in engine.requests] == [None, None]


class TestStructured:
    def test_uses_its_own_labels_for_the_same_loop(self) -> None:
        engine = ScriptedEngine(
            [
                says('THOUGHT: add\nTOOL: add\nINPUT: {"a": 1, "b": 2}\nOBSERVATION: 9'),
                says("THOUGHT: done\nFINAL_ANSWER: It is 3."),
            ]
        )

        result = OrchestratorAgent(engine, "m", tools=[add], mode="structured").run("1+2?")

        assert result.content == "It is 3."
        assert texts(engine)[-1] == ("user", "OBSERVATION: 3")
        prompt = texts(engine)[0][1]
        for label in ("THOUGHT:", "TOOL:", "INPUT:", "FINAL_ANSWER:", "### add"):
            assert label in prompt
