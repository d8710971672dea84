from types import SimpleNamespace
from typing import Any

import pytest

from agent_tools import add, refund
from openjarvis.agents.base import AgentContext, BaseAgent
from openjarvis.agents.native_react import NativeReActAgent
from openjarvis.agents.orchestrator import OrchestratorAgent
from openjarvis.agents.simple import SimpleAgent
from openjarvis.core.errors import LLMError
from openjarvis.core.events import EventBus, EventType
from openjarvis.core.registry import AgentRegistry
from openjarvis.core.types import Conversation, Message, Role
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.record import Outcome
from openjarvis.llm.history import assistant, user
from openjarvis.llm.stream import Stream, TextEvent
from openjarvis.testing import ScriptedEngine, calls, says


def test_the_documented_agents_are_registered() -> None:
    assert {key: AgentRegistry.get(key).__name__ for key in AgentRegistry.keys()} == {  # noqa: SIM118
        "simple": "SimpleAgent",
        "orchestrator": "OrchestratorAgent",
        "native_react": "NativeReActAgent",
        "native_openhands": "NativeOpenHandsAgent",
        "rlm": "RLMAgent",
    }


def test_simple_asks_once_and_offers_no_tools() -> None:
    engine = ScriptedEngine([says("Hello.")])

    result = SimpleAgent(engine, "m", tools=[add], system_prompt="Be kind.").run("Hi")

    assert (result.content, result.turns, result.tool_results) == ("Hello.", 1, [])
    assert engine.requests[0].tools is None
    assert [message.text for message in engine.requests[0].messages] == ["Be kind.", "Hi"]


def test_the_history_and_what_the_memory_knows_go_with_the_question() -> None:
    engine = ScriptedEngine([says("Blue.")])
    context = AgentContext(
        conversation=Conversation([user("I like blue."), assistant("Noted.")]),
        memory_results=[SimpleNamespace(content="The sky is blue.", source="sky.md")],
    )

    SimpleAgent(engine, "m").run("My colour?", context)

    texts = [message.text for message in engine.requests[0].messages]
    assert texts == [
        "Context:\n\n[Source: sky.md] The sky is blue.",
        "I like blue.",
        "Noted.",
        "My colour?",
    ]


def test_settings_reach_the_engine() -> None:
    engine = ScriptedEngine([says("x")])

    SimpleAgent(engine, "m-1", temperature=0.1, max_tokens=7).run("Hi")

    assert engine.requests[0].model == "m-1"
    assert engine.requests[0].options == {"temperature": 0.1, "max_tokens": 7}


def test_any_object_with_generate_is_an_engine() -> None:
    class Engine:
        def generate(
            self, messages: list[Message], *, model: str, **options: Any
        ) -> dict[str, Any]:
            return {"content": messages[-1].text.upper(), "model": model}

    assert SimpleAgent(Engine(), "m").run("hi").content == "HI"


def test_a_run_tells_the_bus_where_it_begins_and_ends() -> None:
    bus = EventBus(record_history=True)

    SimpleAgent(ScriptedEngine([says("Hello.")]), "m", bus=bus).run("Hi")

    told = [(event.event_type, event.data) for event in bus.history]
    assert told[0] == (EventType.AGENT_TURN_START, {"agent": "simple", "input": "Hi"})
    assert told[-1] == (
        EventType.AGENT_TURN_END,
        {"agent": "simple", "turns": 1, "content_length": 6},
    )


@pytest.mark.parametrize("kind", [OrchestratorAgent, NativeReActAgent])
def test_a_run_can_be_streamed(kind: type[BaseAgent]) -> None:
    agent = kind(ScriptedEngine([says("It is three.")]), "m", tools=[add])

    with agent.conversing("1+2?") as conversation, Stream(conversation) as stream:
        heard = [event.text for event in stream.events() if isinstance(event, TextEvent)]

    assert "".join(heard) == stream.response.text == "It is three."


class TestOrchestrator:
    def test_runs_the_calls_of_a_turn_and_matches_results_to_records(self) -> None:
        engine = ScriptedEngine(
            [[calls("add", a=1, b=2), calls("add", a=3, b=4)], says("3 and 7.")]
        )

        result = OrchestratorAgent(engine, "m", tools=[add]).run("1+2? 3+4?")

        assert (result.content, result.turns) == ("3 and 7.", 2)
        assert [done.content for done in result.tool_results] == ["3", "7"]
        assert [record.output for record in result.tool_calls] == ["3", "7"]
        assert result.metadata["usage"]["total_tokens"] == 4
        assert "max_turns_exceeded" not in result.metadata

    def test_takes_an_executor_and_its_rules(self) -> None:
        engine = ScriptedEngine([calls("refund", order="A7"), says("A person must.")])

        result = OrchestratorAgent(engine, "m", tools=ToolExecutor([refund])).run("Refund A7")

        assert [record.outcome for record in result.tool_calls] == [Outcome.DENIED]

    def test_gives_a_last_answer_without_tools_when_the_turns_run_out(self) -> None:
        engine = ScriptedEngine(
            [calls("add", a=1, b=2), calls("add", a=3, b=4), says("I only got to 3.")]
        )

        result = OrchestratorAgent(engine, "m", tools=[add], max_turns=2).run("Add all")

        assert result.content == "I only got to 3."
        assert result.turns == 2
        assert result.metadata["max_turns_exceeded"] is True
        assert result.metadata["usage"]["total_tokens"] == 6
        assert [record.outcome for record in result.tool_calls] == [Outcome.RAN, Outcome.NOT_RUN]
        assert engine.requests[-1].tools is None
        assert engine.requests[-1].messages[-1].role is Role.USER
        assert "no turns left" in engine.requests[-1].messages[-1].text

    def test_ends_even_with_a_model_that_never_stops_calling(self) -> None:
        engine = ScriptedEngine([calls("add", a=1, b=2)] * 3)

        result = OrchestratorAgent(engine, "m", tools=[add], max_turns=2).run("Add all")

        assert result.content == "No final answer within 2 turns."
        assert len(result.tool_calls) == len(result.tool_results) == 2
        engine.assert_exhausted()

    def test_keeps_what_it_has_when_the_last_answer_fails(self) -> None:
        engine = ScriptedEngine([calls("add", a=1, b=2), LLMError("LLM_UNAVAILABLE", "gone")])

        result = OrchestratorAgent(engine, "m", tools=[add], max_turns=1).run("1+2?")

        assert result.content == "No final answer within 1 turns."
        assert result.metadata["max_turns_exceeded"] is True

    def test_an_error_before_that_carries_what_was_gathered(self) -> None:
        engine = ScriptedEngine([calls("add", a=1, b=2), LLMError("LLM_UNAVAILABLE", "gone")])

        with pytest.raises(LLMError) as caught:
            OrchestratorAgent(engine, "m", tools=[add]).run("1+2?")

        assert [record.output for record in caught.value.response.tool_calls] == ["3"]

    def test_refuses_a_mode_that_is_none(self) -> None:
        with pytest.raises(ValueError, match="'function_calling' or 'structured'"):
            OrchestratorAgent(ScriptedEngine(), "m", mode="magic")

    def test_runs_calls_one_after_the_other_when_told_to(self) -> None:
        running: list[int] = []
        most: list[int] = []

        def work(number: int) -> int:
            """Work."""
            running.append(number)
            most.append(len(running))
            running.remove(number)
            return number

        engine = ScriptedEngine([[calls("work", number=n) for n in range(5)], says("done")])

        OrchestratorAgent(engine, "m", tools=[work], parallel_tools=False).run("go")

        assert most == [1] * 5
