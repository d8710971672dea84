import pytest

from agent_tools import add
from openjarvis.agents.conversing import ConversingAgent
from openjarvis.agents.native_react import NativeReActAgent
from openjarvis.agents.orchestrator import OrchestratorAgent
from openjarvis.agents.simple import SimpleAgent
from openjarvis.core.errors import LLMError
from openjarvis.core.registry import AgentRegistry
from openjarvis.core.types import Role
from openjarvis.execution.record import Outcome
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


def test_settings_reach_the_engine() -> None:
    engine = ScriptedEngine([says("x")])

    SimpleAgent(engine, "m-1", temperature=0.1, max_tokens=7).run("Hi")

    assert engine.requests[0].model == "m-1"
    assert engine.requests[0].options == {"temperature": 0.1, "max_tokens": 7}


@pytest.mark.parametrize("kind", [OrchestratorAgent, NativeReActAgent])
def test_a_run_can_be_streamed(kind: type[ConversingAgent]) -> None:
    agent = kind(ScriptedEngine([says("It is three.")]), "m", tools=[add])

    with agent.conversing("1+2?") as conversation, Stream(conversation) as stream:
        heard = [event.text for event in stream.events() if isinstance(event, TextEvent)]

    assert "".join(heard) == stream.response.text == "It is three."


class TestOrchestrator:
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
