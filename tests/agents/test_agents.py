import threading
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from openjarvis.agents.base import AgentContext, BaseAgent
from openjarvis.agents.orchestrator import OrchestratorAgent
from openjarvis.agents.simple import SimpleAgent
from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.core.events import EventBus, EventType
from openjarvis.core.registry import AgentRegistry
from openjarvis.core.types import Conversation
from openjarvis.execution.executor import ToolExecutor
from openjarvis.llm import Denied, Outcome, Role, ToolCallRequest, assistant, tool, user
from openjarvis.testing import ScriptedEngine, calls, calls_raw, says
from openjarvis.toolkit.context import ToolContext

AGENTS: list[type[BaseAgent]] = [SimpleAgent, OrchestratorAgent]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(requires_confirmation=True)
def erase() -> str:
    """Erase everything."""
    return "erased"


def test_they_are_registered_by_their_ids() -> None:
    for kind in AGENTS:
        assert AgentRegistry.get(kind.agent_id) is kind


@pytest.mark.parametrize("kind", AGENTS)
class TestEveryAgent:
    def test_it_answers(self, kind: type[BaseAgent]) -> None:
        result = kind(ScriptedEngine([says("Hello.")]), "m").run("Hi")

        assert (result.content, result.turns, result.tool_results) == ("Hello.", 1, [])
        assert "max_turns_exceeded" not in result.metadata
        assert result.metadata["usage"]["total_tokens"] == 2

    def test_the_engine_gets_no_tools_where_there_are_none(self, kind: type[BaseAgent]) -> None:
        engine = MagicMock()
        engine.generate.return_value = {"content": "Hello."}

        result = kind(engine, "m").run("Hi")

        assert result.content == "Hello."
        assert engine.generate.call_args.kwargs == {
            "model": "m",
            "temperature": 0.7,
            "max_tokens": 1024,
        }
        engine.agenerate.assert_not_called()

    def test_the_engine_gets_the_history_then_the_question(self, kind: type[BaseAgent]) -> None:
        engine = ScriptedEngine([says("Ann.")])
        history = Conversation([user("I am Ann."), assistant("Hi.")])

        kind(engine, "m", system_prompt="Be brief.").run("Who am I?", AgentContext(history))

        assert [(message.role, message.text) for message in engine.requests[0].messages] == [
            (Role.SYSTEM, "Be brief."),
            (Role.USER, "I am Ann."),
            (Role.ASSISTANT, "Hi."),
            (Role.USER, "Who am I?"),
        ]
        assert len(history.messages) == 2

    def test_what_the_memory_knows_goes_into_the_system_text(self, kind: type[BaseAgent]) -> None:
        engine = ScriptedEngine([says("ok")])
        passages = [
            SimpleNamespace(content="Tea is at 4.", source="notes.txt"),
            SimpleNamespace(content="Cake at 5.", source=""),
        ]

        kind(engine, "m", system_prompt="Be brief.").run("?", AgentContext(memory_results=passages))

        assert engine.requests[0].messages[0].text == (
            "Be brief.\n\nContext:\n\n[Source: notes.txt] Tea is at 4.\n\n"
            "[Source: memory] Cake at 5."
        )

    def test_the_bus_hears_when_it_begins_and_ends(self, kind: type[BaseAgent]) -> None:
        bus = EventBus(record_history=True)

        kind(ScriptedEngine([says("Hello.")]), "m", bus=bus).run("Hi")

        first, *_, last = bus.history
        assert first.event_type is EventType.AGENT_TURN_START
        assert first.data == {"agent": kind.agent_id, "input": "Hi"}
        assert last.event_type is EventType.AGENT_TURN_END
        assert last.data == {"agent": kind.agent_id, "turns": 1, "content_length": 6}

    def test_an_engine_that_fails_is_an_error(self, kind: type[BaseAgent]) -> None:
        gone = LLMError(LLMErrorCode.UNAVAILABLE, "gone", 503, True)

        with pytest.raises(LLMError, match="gone"):
            kind(ScriptedEngine([gone]), "m").run("Hi")

    @pytest.mark.parametrize("reply", [None, "text", ["text"], MagicMock()])
    def test_an_engine_that_gives_no_reply_is_an_error(
        self, kind: type[BaseAgent], reply: Any
    ) -> None:
        engine = MagicMock()
        engine.generate.return_value = reply

        with pytest.raises(LLMError, match="LLM_UNAVAILABLE"):
            kind(engine, "m").run("Hi")

    @pytest.mark.parametrize(
        ("reply", "content"), [({}, ""), ({"content": None}, ""), ({"content": 3}, "3")]
    )
    def test_a_reply_without_text_is_read_as_far_as_it_goes(
        self, kind: type[BaseAgent], reply: Any, content: str
    ) -> None:
        engine = MagicMock()
        engine.generate.return_value = {**reply, "finish_reason": "unheard-of"}

        assert kind(engine, "m").run("Hi").content == content


class TestSimple:
    def test_it_offers_no_tools(self) -> None:
        engine = ScriptedEngine([says("ok")])

        SimpleAgent(engine, "m", tools=[add]).run("1+2?")

        assert engine.requests[0].tools is None
        assert SimpleAgent.uses_tools is False


class TestOrchestrator:
    def test_it_calls_tools_until_the_model_answers(self) -> None:
        engine = ScriptedEngine([calls("add", a=1, b=2), calls("add", a=3, b=4), says("7")])

        result = OrchestratorAgent(engine, "m", tools=[add]).run("?")

        assert (result.content, result.turns) == ("7", 3)
        assert [done.content for done in result.tool_results] == ["3", "7"]
        assert [record.outcome for record in result.tool_calls] == [Outcome.RAN, Outcome.RAN]
        assert result.metadata["messages"][-1].text == "7"
        engine.assert_exhausted()

    def test_the_calls_of_a_turn_run_in_parallel(self) -> None:
        met = threading.Barrier(2, timeout=10)

        @tool
        def meet(name: str) -> str:
            """Wait for the other."""
            met.wait()
            return name

        engine = ScriptedEngine([[calls("meet", name="a"), calls("meet", name="b")], says("ok")])

        result = OrchestratorAgent(engine, "m", tools=[meet]).run("?")

        assert [done.content for done in result.tool_results] == ["a", "b"]

    def test_they_run_one_after_the_other_where_that_is_wanted(self) -> None:
        met = threading.Barrier(2)

        @tool
        def meet() -> bool:
            """Tell whether the other came."""
            try:
                met.wait(0.1)
            except threading.BrokenBarrierError:
                return False
            return True

        engine = ScriptedEngine([[calls("meet"), calls("meet")], says("ok")])

        result = OrchestratorAgent(engine, "m", tools=[meet], parallel_tools=False).run("?")

        assert [done.content for done in result.tool_results] == ["false", "false"]

    def test_a_call_that_fails_is_told_to_the_model_and_the_run_goes_on(self) -> None:
        engine = ScriptedEngine(
            [[calls("nope"), calls_raw("add", '{"a": 1'), calls("add", a=1, b=2)], says("3")]
        )

        result = OrchestratorAgent(engine, "m", tools=[add]).run("?")

        told = [message.text for message in engine.requests[1].messages[-3:]]
        assert result.content == "3"
        assert "Unknown tool 'nope'" in told[0]
        assert "Invalid arguments JSON" in told[1]
        assert told[2] == "3"
        assert [done.success for done in result.tool_results] == [False, False, True]

    def test_turns_that_run_out_are_told(self) -> None:
        engine = ScriptedEngine([calls("add", a=1, b=1), calls("add", a=2, b=2)])

        result = OrchestratorAgent(engine, "m", tools=[add], max_turns=2).run("?")

        assert result.metadata["max_turns_exceeded"] is True
        assert (result.content, result.turns) == ("No final answer within 2 turns.", 2)
        assert [record.outcome for record in result.tool_calls] == [Outcome.RAN, Outcome.NOT_RUN]
        assert len(result.tool_results) == 2

    def test_what_the_model_said_beside_its_last_call_is_kept(self) -> None:
        engine = ScriptedEngine([[says("Let me see."), calls("add", a=1, b=1)]])

        result = OrchestratorAgent(engine, "m", tools=[add], max_turns=1).run("?")

        assert result.content == "Let me see."
        assert result.metadata["max_turns_exceeded"] is True

    def test_without_an_approver_a_tool_that_needs_one_is_denied(self) -> None:
        engine = ScriptedEngine([calls("erase"), says("I may not.")])

        result = OrchestratorAgent(engine, "m", tools=[erase]).run("?")

        assert [record.outcome for record in result.tool_calls] == [Outcome.DENIED]

    def test_the_approver_and_the_tool_get_the_context(self) -> None:
        seen: list[Any] = []

        @tool
        def whoami(context: ToolContext) -> str:
            """Tell who asks."""
            return str(context.context)

        def approve(request: ToolCallRequest) -> Denied | None:
            seen.append(request.context)
            return None

        engine = ScriptedEngine([calls("whoami"), says("ok")])
        agent = OrchestratorAgent(engine, "m", tools=[whoami], approve=approve)

        result = agent.run("?", AgentContext(metadata={"context": "Ann"}))

        assert seen == ["Ann"]
        assert result.tool_results[0].content == "Ann"

    def test_the_context_hears_of_progress(self) -> None:
        heard: list[tuple[str, str]] = []

        @tool
        def walk(context: ToolContext) -> str:
            """Walk."""
            context.progress("half way")
            return "there"

        engine = ScriptedEngine([calls("walk"), says("ok")])

        result = OrchestratorAgent(engine, "m", tools=[walk]).run(
            "?", AgentContext(on_progress=lambda call_id, text: heard.append((call_id, text)))
        )

        assert heard == [(result.tool_calls[0].call_id, "half way")]

    def test_it_takes_an_executor_of_the_callers(self) -> None:
        bus = EventBus(record_history=True)
        engine = ScriptedEngine([calls("add", a=1, b=2), says("3")])

        OrchestratorAgent(engine, "m", tools=ToolExecutor([add], bus)).run("?")

        heard = [event.event_type for event in bus.history]
        assert heard == [EventType.TOOL_CALL_START, EventType.TOOL_CALL_END]
        assert bus.history[0].data["agent"] == "orchestrator"

    def test_it_drives_any_object_with_a_sync_generate(self) -> None:
        engine = MagicMock()
        call = {"id": "1", "name": "add", "arguments": {"a": 1, "b": 2}}
        engine.generate.side_effect = [
            {"content": None, "tool_calls": [call]},
            {"content": "3"},
        ]

        result = OrchestratorAgent(engine, "m", tools=[add]).run("?")

        sent = engine.generate.call_args.kwargs["tools"]
        assert result.content == "3"
        assert sent[0]["function"]["name"] == "add"

    def test_runs_in_threads_do_not_mix(self) -> None:
        def answer(messages: Any) -> Any:
            last = messages[-1]
            return (
                says(last.text) if last.role is Role.TOOL else calls("add", a=int(last.text), b=0)
            )

        agent = OrchestratorAgent(ScriptedEngine([answer] * 40), "m", tools=[add])
        answers: dict[int, str] = {}

        def run(number: int) -> None:
            answers[number] = agent.run(str(number)).content

        threads = [threading.Thread(target=run, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

        assert answers == {number: str(number) for number in range(20)}

    def test_an_unknown_mode_is_refused(self) -> None:
        with pytest.raises(ValueError, match="mode='guess': expected 'function_calling'"):
            OrchestratorAgent(ScriptedEngine(), "m", mode="guess")
