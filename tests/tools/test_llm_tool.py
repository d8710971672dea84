from typing import Any

import pytest

from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import Message, Role
from openjarvis.testing import ScriptedEngine, says
from openjarvis.toolkit.services import Services
from openjarvis.tools.llm_tool import LLMTool


class ForeignEngine:
    """An object that has nothing but a sync `generate`; it gives or raises `reply`."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def generate(self, *positional: Any, **keywords: Any) -> Any:
        self.calls.append((positional, keywords))
        if isinstance(self.reply, BaseException):
            raise self.reply
        return self.reply


def test_the_answer_of_the_model_is_the_result() -> None:
    engine = ScriptedEngine([says("สวัสดี")])

    result = LLMTool(engine, "small").execute(prompt="Say hello in Thai")

    assert (result.content, result.success) == ("สวัสดี", True)
    assert result.usage == {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    assert engine.requests[0].model == "small"


def test_messages_are_the_first_positional_argument_and_the_rest_are_keywords() -> None:
    engine = ForeignEngine({"content": "yes"})

    LLMTool(engine=engine, model="m").execute(prompt="Ready?", system="Be brief.")

    positional, keywords = engine.calls[0]
    assert positional == ([Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Ready?")],)
    assert keywords == {"model": "m", "temperature": 0.7, "max_tokens": 1024}


def test_without_a_system_text_only_the_prompt_is_sent() -> None:
    engine = ForeignEngine({"content": "yes"})

    LLMTool(engine, "m").execute(prompt="Ready?")

    assert engine.calls[0][0] == ([Message(Role.USER, "Ready?")],)


def test_usage_cost_and_what_ended_the_answer_are_copied() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    reply = {"content": "a", "usage": usage, "cost_usd": 0.25, "finish_reason": "length"}

    result = LLMTool(ForeignEngine(reply), "m").execute(prompt="Ready?")

    assert result.usage == usage
    assert result.usage is not usage
    assert result.cost_usd == 0.25
    assert result.metadata == {"model": "m", "finish_reason": "length"}


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        (LLMTool(), {"prompt": "hi"}, "No inference engine"),
        (LLMTool(model="m"), {}, "No inference engine"),
        (LLMTool(ForeignEngine({})), {"prompt": "hi"}, "No model"),
        (LLMTool(ForeignEngine({}), "m"), {}, "No prompt"),
        (LLMTool(ForeignEngine({}), "m"), {"prompt": "  "}, "No prompt"),
    ],
)
def test_what_is_missing_is_told(tool: LLMTool, arguments: dict[str, str], told: str) -> None:
    result = tool.execute(**arguments)

    assert result.success is False
    assert result.content.startswith(told)


@pytest.mark.parametrize(
    "reply",
    [
        RuntimeError("the server is on fire"),
        LLMError(LLMErrorCode.RATE_LIMITED, "slow down", 429, retryable=True),
        {},
        {"content": None},
        {"content": ""},
        {"content": ["text"]},
        {"content": "a", "usage": 7},
        None,
        "text",
    ],
    ids=repr,
)
def test_an_engine_that_fails_or_answers_nonsense_is_an_llm_error(reply: Any) -> None:
    result = LLMTool(ForeignEngine(reply), "m").execute(prompt="hi")

    assert result.success is False
    assert result.content.startswith("LLM error: ")


def test_secrets_in_an_engines_error_are_masked() -> None:
    engine = ForeignEngine(ValueError("no route to https://joe:hunter2secret@llm.local/v1"))

    result = LLMTool(engine, "m").execute(prompt="hi")

    assert "hunter2secret" not in result.content


def test_an_interruption_by_the_user_passes_through() -> None:
    tool = LLMTool(ForeignEngine(KeyboardInterrupt()), "m")

    with pytest.raises(KeyboardInterrupt):
        tool.execute(prompt="hi")


def test_it_is_built_from_the_services_and_says_that_it_needs_a_model() -> None:
    engine = ForeignEngine({"content": "built"})

    tool = ToolRegistry.get("llm").build(Services(engine=engine, model="m"))

    assert tool.execute(prompt="hi").content == "built"
    assert (tool.spec.name, tool.spec.category) == ("llm", "inference")
    assert tool.spec.metadata == {"needs_model": True}
    assert tool.spec.parameters["required"] == ["prompt"]
