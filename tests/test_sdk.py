import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import pytest

import openjarvis
from openjarvis import Jarvis
from openjarvis.agents.base import AgentContext, AgentResult
from openjarvis.config import JarvisConfig, home
from openjarvis.core.errors import ConfigError, LLMError, LLMErrorCode
from openjarvis.core.registry import AgentRegistry
from openjarvis.core.types import Conversation, ToolResult
from openjarvis.execution.audit import AuditLog
from openjarvis.llm import Denied, assistant, user
from openjarvis.system import UnknownAgentError
from openjarvis.testing import ScriptedEngine, calls, says
from openjarvis.tools.catalog import UnknownToolError


def jarvis(*turns: Any, **options: Any) -> Jarvis:
    return Jarvis(JarvisConfig(), engine=ScriptedEngine(turns), **options)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class TestAsk:
    def test_the_answer_is_text(self) -> None:
        with jarvis(says("Hello.")) as asked:
            assert asked.ask("Hi") == "Hello."

    def test_without_tools_it_is_one_turn_and_no_tool_is_offered(self) -> None:
        engine = ScriptedEngine([says("Hello.")])

        with Jarvis(JarvisConfig(), engine=engine) as asked:
            answer = asked.ask_full("Hi")

        assert answer == {
            "content": "Hello.",
            "finish_reason": "stop",
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            "cost_usd": None,
            "model": "scripted-model",
            "engine": "scripted",
            "agent": "simple",
            "turns": 1,
            "max_turns_exceeded": False,
            "tool_results": [],
            "messages": [user("Hi"), assistant("Hello.")],
        }
        assert engine.requests[0].tools is None

    def test_what_the_turns_cost_is_told_where_it_is_known(self) -> None:
        engine = MagicMock()
        engine.generate.return_value = {"content": "Hi", "cost_usd": 0.25}

        with Jarvis(JarvisConfig(), engine=engine) as asked:
            assert asked.ask_full("Hi")["cost_usd"] == 0.25

    def test_with_tools_it_is_the_orchestrator(self) -> None:
        with jarvis(calls("add", a=1, b=2), says("3")) as asked:
            answer = asked.ask_full("1+2?", tools=[add])

        (result,) = answer["tool_results"]
        assert (answer["agent"], answer["turns"]) == ("orchestrator", 2)
        assert answer["max_turns_exceeded"] is False
        assert answer["usage"]["total_tokens"] == 4
        assert result.pop("latency_seconds") >= 0
        assert result == {
            "tool_name": "add",
            "content": "3",
            "success": True,
            "metadata": {},
            "call_id": "call_1",
            "arguments": {"a": 1, "b": 2},
            "outcome": "ran",
            "detail": None,
            "step": 1,
        }

    def test_tools_may_be_names_functions_and_tools(self) -> None:
        engine = ScriptedEngine([says("ok")])

        with Jarvis(JarvisConfig(), engine=engine) as asked:
            asked.ask("?", tools=["calculator", add, openjarvis.tool("plus", "Add.")(add)])

        assert [one["function"]["name"] for one in engine.requests[0].tools or ()] == [
            "calculator",
            "add",
            "plus",
        ]

    def test_the_options_reach_the_engine(self) -> None:
        engine = ScriptedEngine([says("ok")])

        with Jarvis(JarvisConfig(), engine=engine, model="small") as asked:
            asked.ask("?", model="big", temperature=0.0, max_tokens=7)

        (request,) = engine.requests
        assert request.model == "big"
        assert request.options == {"temperature": 0.0, "max_tokens": 7}

    @pytest.mark.parametrize("agent", ["simple", "orchestrator", "native_react", "rlm"])
    def test_a_system_prompt_takes_the_place_of_the_configured(self, agent: str) -> None:
        config = JarvisConfig()
        config.agent.system_prompt = "Be long."
        engine = ScriptedEngine([says("Final Answer: FINAL(ok)")])

        with Jarvis(config, engine=engine) as asked:
            asked.ask("?", agent=agent, system_prompt="Be brief.")

        system = engine.requests[0].messages[0].text
        assert system.startswith("Be brief.")
        assert "Be long." not in system

    def test_the_turns_have_a_ceiling(self) -> None:
        with jarvis(*[calls("add", a=n, b=n) for n in range(3)]) as asked:
            answer = asked.ask_full("?", tools=[add], max_turns=3)

        assert answer["max_turns_exceeded"] is True
        assert answer["content"] == "No final answer within 3 turns."
        assert [one["outcome"] for one in answer["tool_results"]] == ["ran", "ran", "not_run"]

    def test_a_refused_call_stays_in_the_answer(self) -> None:
        with jarvis(calls("add", a=1, b=2), says("I may not.")) as asked:
            answer = asked.ask_full("?", tools=[add], approve=lambda request: Denied("no adding"))

        (result,) = answer["tool_results"]
        assert (result["outcome"], result["success"]) == ("denied", False)
        assert "no adding" in result["content"]

    def test_an_earlier_conversation_may_be_given(self) -> None:
        engine = ScriptedEngine([says("Ann.")])
        history = AgentContext(Conversation([user("I am Ann."), assistant("Hi Ann.")]))

        with Jarvis(JarvisConfig(), engine=engine) as asked:
            asked.ask("Who am I?", history=history)

        assert [message.text for message in engine.requests[0].messages] == [
            "I am Ann.",
            "Hi Ann.",
            "Who am I?",
        ]

    def test_an_answer_that_was_cut_off_says_so(self) -> None:
        with jarvis(says("half an ans", finish_reason="length")) as asked:
            assert asked.ask_full("?")["finish_reason"] == "length"

    @pytest.mark.parametrize("options", [{}, {"tools": [add]}, {"agent": "orchestrator"}])
    def test_the_messages_of_an_answer_are_the_history_of_the_next(
        self, options: dict[str, Any]
    ) -> None:
        engine = ScriptedEngine([says("Hi Ann."), says("Ann.")])

        with Jarvis(JarvisConfig(), engine=engine) as asked:
            first = asked.ask_full("I am Ann.", **options)
            asked.ask("Who am I?", history=first["messages"])

        assert [message.text for message in engine.requests[1].messages] == [
            "I am Ann.",
            "Hi Ann.",
            "Who am I?",
        ]

    def test_a_context_takes_a_list_of_messages(self) -> None:
        engine = ScriptedEngine([says("Ann.")])
        history = AgentContext(conversation=[user("I am Ann.")])  # type: ignore[arg-type]

        with Jarvis(JarvisConfig(), engine=engine) as asked:
            asked.ask("Who am I?", history=history)

        assert [one.text for one in engine.requests[0].messages] == ["I am Ann.", "Who am I?"]

    def test_an_agent_without_records_is_fine(self) -> None:
        class Foreign:
            uses_tools = True

            def __init__(self, engine: Any, model: str, tools: Any, bus: Any) -> None: ...

            def run(self, text: str, context: Any) -> AgentResult:
                return AgentResult("done", [ToolResult("x", "y")], 3)

        with AgentRegistry.isolated(), jarvis() as asked:
            AgentRegistry.register_value("foreign", Foreign)
            answer = asked.ask_full("?", agent="foreign")

        assert (answer["content"], answer["turns"]) == ("done", 3)
        assert answer["finish_reason"] is None
        assert answer["messages"] == [user("?"), assistant("done")]
        assert answer["tool_results"][0]["tool_name"] == "x"

    @pytest.mark.parametrize(
        ("options", "error", "told"),
        [
            ({"tools": "calculator"}, TypeError, r"expected a list of names, e\.g\. \['calc"),
            ({"tools": ["nope"]}, UnknownToolError, "Unknown tool 'nope'"),
            ({"tools": [3]}, TypeError, "3 is no tool"),
            ({"history": "Hi"}, TypeError, "history is str, expected a list of messages"),
            ({"history": {"role": "user"}}, TypeError, "history is dict, expected a list"),
            ({"history": [{"role": "user"}]}, LLMError, r"messages\[0\] is dict, expected a Mess"),
            ({"agent": "nope"}, UnknownAgentError, "Unknown agent 'nope'"),
            ({"max_turns": 0, "tools": [add]}, LLMError, "LLM_INVALID_REQUEST"),
            ({"temperature": 7}, LLMError, "LLM_INVALID_REQUEST: temperature=7"),
        ],
    )
    def test_a_wrong_option_is_told_before_the_model_is_asked(
        self, options: dict[str, Any], error: type[Exception], told: str
    ) -> None:
        engine = ScriptedEngine([])

        with Jarvis(JarvisConfig(), engine=engine) as asked, pytest.raises(error, match=told):
            asked.ask("?", **options)

        assert engine.requests == []

    def test_an_error_of_the_engine_comes_through_with_what_had_been_gathered(self) -> None:
        gone = LLMError(LLMErrorCode.UNAVAILABLE, "gone", 503, True)

        with (
            jarvis(calls("add", a=1, b=2), gone) as asked,
            pytest.raises(LLMError, match="gone") as caught,
        ):
            asked.ask("?", tools=[add])

        assert [record.output for record in caught.value.response.tool_calls] == ["3"]


class TestAsync:
    def test_it_answers_the_same(self) -> None:
        async def ask() -> tuple[str, dict[str, Any]]:
            with jarvis(says("one"), calls("add", a=1, b=2), says("two")) as asked:
                return await asked.aask("?"), await asked.aask_full("?", tools=[add])

        first, second = asyncio.run(ask())

        assert first == "one"
        assert (second["content"], second["tool_results"][0]["content"]) == ("two", "3")

    def test_the_event_loop_goes_on_meanwhile(self) -> None:
        answered = threading.Event()

        def answer(messages: Any) -> Any:
            assert answered.wait(10)
            return says("done")

        async def ask() -> str:
            with jarvis(answer) as asked:
                waiting = asyncio.create_task(asked.aask("?"))
                await asyncio.sleep(0)
                answered.set()
                return await waiting

        assert asyncio.run(ask()) == "done"


def test_threads_may_share_one_instance() -> None:
    def answer(messages: Any) -> Any:
        last = messages[-1]
        if last.role == "tool":
            return says(last.text)
        return calls("add", a=int(last.text), b=1)

    with jarvis(*[answer] * 64) as asked, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: asked.ask(str(n), tools=[add]), range(32)))

    assert answers == [str(n + 1) for n in range(32)]


class TestEngines:
    def test_one_that_was_named_and_is_not_there_is_an_error(self) -> None:
        told = "No inference engine 'ofline' is ready: .* Did you mean 'offline'"
        with pytest.raises(RuntimeError, match=told):
            Jarvis(JarvisConfig(), engine_key="ofline")

    def test_one_that_is_configured_and_not_there_is_an_error(self) -> None:
        config = JarvisConfig()
        config.engine.default = "openai"

        with pytest.raises(RuntimeError, match="No inference engine 'openai' is ready"):
            Jarvis(config)

    def test_callers_may_replace_it_with_a_mock(self) -> None:
        engine = MagicMock()
        engine.generate.return_value = {"content": "Hi", "model": "mock-1", "usage": {}}
        config = JarvisConfig()

        with patch("openjarvis.sdk.get_engine", return_value=("mock", engine)) as get_engine:
            asked = Jarvis(config, engine_key="mock", model="m")
        answer = asked.ask_full("Hello")
        asked.close()

        assert get_engine.call_args.args == (config, "mock", "m")
        assert (answer["content"], answer["engine"], answer["model"]) == ("Hi", "mock", "mock-1")
        assert engine.generate.call_args.kwargs["model"] == "m"
        assert "tools" not in engine.generate.call_args.kwargs

    def test_any_object_that_generates_is_an_engine(self) -> None:
        class Echo:
            def generate(self, messages: Any, *, model: str, **request: Any) -> dict[str, Any]:
                return {"content": messages[-1].text}

        with Jarvis(JarvisConfig(), engine=Echo(), model="e") as asked:
            answer = asked.ask_full("Hello")

        assert (answer["content"], answer["engine"], answer["model"]) == ("Hello", "", "e")

    def test_models_and_ready_engines_are_listed(self) -> None:
        with jarvis() as asked:
            assert asked.list_models() == ["scripted-model"]
            assert "offline" in asked.list_engines()
            assert "openai" not in asked.list_engines()


class TestConfiguration:
    def test_it_may_be_a_path(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text("[agent]\nsystem_prompt = 'Be brief.'\n")
        engine = ScriptedEngine([says("ok")])

        with Jarvis(str(path), engine=engine) as asked:
            asked.ask("?")

        assert asked.config.path == path
        assert engine.requests[0].messages[0].text == "Be brief."

    def test_without_one_the_users_is_read(self) -> None:
        home().mkdir()
        (home() / "config.toml").write_text("[agent]\nmax_turn = 3\n")

        with pytest.raises(ConfigError, match="did you mean 'max_turns'"):
            Jarvis(engine=ScriptedEngine())

    def test_anything_else_is_refused(self) -> None:
        with pytest.raises(TypeError, match="expected a JarvisConfig, or the path of a file"):
            Jarvis({"engine": {"default": "offline"}})  # type: ignore[arg-type]

    def test_the_version_is_told(self) -> None:
        with jarvis() as asked:
            assert asked.version == openjarvis.__version__


def test_the_end_of_the_block_closes_what_was_opened() -> None:
    with jarvis(calls("add", a=1, b=2), says("3")) as asked:
        asked.ask("?", tools=[add])

    assert asked.system.audit is not None
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        asked.system.audit.entries()


def test_calls_are_recorded_for_good() -> None:
    with jarvis(calls("add", a=1, b=2), says("3")) as asked:
        asked.ask("?", tools=[add])

    trail = AuditLog(home() / "audit.db")
    (entry,) = trail.entries()
    trail.close()
    assert (entry.name, entry.agent, entry.output) == ("add", "orchestrator", "3")


def test_file_tools_read_the_allowed_folders(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Buy milk.")
    turns = [calls("file_read", path=str(tmp_path / "note.txt")), says("read")]

    with jarvis(*turns, allowed_dirs=[tmp_path]) as asked:
        answer = asked.ask_full("?", tools=["file_read"])

    assert answer["tool_results"][0]["content"] == "Buy milk."


def test_the_package_has_what_its_documentation_names() -> None:
    assert {"Jarvis", "llm", "tool", "__version__"} <= set(dir(openjarvis))
    assert openjarvis.tool is openjarvis.llm.tool
    with pytest.raises(AttributeError, match="no attribute 'jarvis'"):
        openjarvis.jarvis  # noqa: B018 - reading it is the test
