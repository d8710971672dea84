import json
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import pytest

import anthropic_server as claude
from openai_server import Answer, OpenAIServer, Opened, endless, soon
from openjarvis import llm
from openjarvis.agents.orchestrator import OrchestratorAgent
from openjarvis.core.types import Message, Role
from openjarvis.engine import anthropic_tools
from openjarvis.engine.anthropic import AnthropicEngine
from openjarvis.engine.anthropic_messages import AnthropicReading
from openjarvis.engine.errors import Server
from openjarvis.engine.settings import EngineSettings
from openjarvis.llm.loop import MOST_PAUSES

Serve = Callable[..., tuple[OpenAIServer, AnthropicEngine]]
ASK = [Message(Role.USER, "Rain?")]
THINKING = {"type": "thinking", "thinking": "Let me look.", "signature": "sig=="}
HIDDEN = {"type": "redacted_thinking", "data": "opaque"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}}
SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "rain oslo"},
}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {
            "type": "web_search_result",
            "url": "https://yr.no",
            "title": "Yr",
            "encrypted_content": "abc",
        }
    ],
}
SEARCH_AGAIN = {**SEARCH, "id": "srvtoolu_2"}
FOUND_AGAIN = {**FOUND, "tool_use_id": "srvtoolu_2"}
CITED = {
    "type": "text",
    "text": "No rain.",
    "citations": [
        {
            "type": "web_search_result_location",
            "url": "https://yr.no",
            "title": "Yr",
            "encrypted_index": "x",
            "cited_text": "dry",
        }
    ],
}


@llm.tool
def now() -> str:
    """Tell the time. Call it when the user asks for it."""
    return "noon"


@pytest.fixture
def serve(opened: Opened) -> Serve:
    return partial(opened, AnthropicEngine)


def said(*blocks: dict[str, Any], stop_reason: str, is_streamed: bool) -> Answer:
    if is_streamed:
        return claude.stream(claude.events(*blocks, stop_reason=stop_reason), piece=5)
    return claude.message(*blocks, stop_reason=stop_reason)


def reply_of(engine: AnthropicEngine, *, is_streamed: bool, **request: Any) -> Any:
    if is_streamed:
        return list(engine.chunks(ASK, model="m", **request))[-1].reply
    return engine.generate(ASK, model="m", **request)


def asked(
    engine: AnthropicEngine, *, is_streamed: bool, **request: Any
) -> tuple[str, llm.Response]:
    if not is_streamed:
        response = llm.generate(engine=engine, model="m", messages=ASK, **request)
        return response.text, response
    with llm.stream(engine=engine, model="m", messages=ASK, **request) as run:
        return "".join(run), run.response


@pytest.mark.parametrize("is_streamed", [False, True])
def test_arguments_may_be_named_in_any_language(serve: Serve, is_streamed: bool) -> None:
    @llm.tool
    def weather(城市: Annotated[str, "which city"]) -> str:  # noqa: N803 - as users name it
        """Tell the weather. Call it when the user asks for it."""
        return f"{城市}: rain"

    theirs = "arg_ed84a166"
    use = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {theirs: "北京"}}
    server, engine = serve(
        said(use, stop_reason="tool_use", is_streamed=is_streamed),
        said({"type": "text", "text": "Rain."}, stop_reason="end_turn", is_streamed=is_streamed),
    )

    _, response = asked(engine, is_streamed=is_streamed, tools=[weather], max_steps=2)

    schema = server.bodies[0]["tools"][0]["input_schema"]
    assert schema["properties"] == {theirs: {"description": "城市: which city", "type": "string"}}
    assert schema["required"] == [theirs]
    assert response.tool_calls[0].arguments == {"城市": "北京"}
    assert response.tool_calls[0].output == "北京: rain"
    assert server.bodies[1]["messages"][1]["content"][-1]["input"] == {theirs: "北京"}


@pytest.mark.parametrize("is_streamed", [False, True])
def test_thinking_goes_back_unchanged_with_its_signature(serve: Serve, is_streamed: bool) -> None:
    server, engine = serve(
        said(THINKING, HIDDEN, USE, stop_reason="tool_use", is_streamed=is_streamed),
        said({"type": "text", "text": "Noon."}, stop_reason="end_turn", is_streamed=is_streamed),
    )
    request = {
        "engine": engine,
        "model": "m",
        "messages": [llm.user("Time?")],
        "tools": [now],
        "max_steps": 3,
        "engine_options": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    }

    if is_streamed:
        with llm.stream(**request) as run:
            assert "".join(run) == "Noon."
    else:
        assert llm.generate(**request).text == "Noon."

    _, assistant, results = server.bodies[1]["messages"]
    assert assistant["content"] == [THINKING, HIDDEN, USE]
    assert results["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "noon"}
    ]
    assert "temperature" not in server.bodies[0]


def test_thinking_does_not_go_to_another_server(serve: Serve) -> None:
    _, first = serve(claude.message(THINKING, {"type": "text", "text": "Hm."}))
    other, second = serve(claude.message({"type": "text", "text": "No."}))
    response = llm.generate(engine=first, model="m", messages=[llm.user("Rain?")])

    llm.generate(engine=second, model="m", messages=[*response.messages, llm.user("Sure?")])

    assert "sig==" not in json.dumps(other.bodies[0])
    assert other.bodies[0]["messages"][1]["content"] == [{"type": "text", "text": "Hm."}]


def test_a_rewritten_answer_is_sent_as_rewritten(serve: Serve) -> None:
    server, engine = serve(
        claude.message(THINKING, {"type": "text", "text": "Hm."}),
        claude.message({"type": "text", "text": "No."}),
    )
    response = llm.generate(engine=engine, model="m", messages=[llm.user("Rain?")])
    response.messages[-1].content = "Edited."

    llm.generate(engine=engine, model="m", messages=[*response.messages, llm.user("Sure?")])

    assert server.bodies[1]["messages"][1]["content"] == [{"type": "text", "text": "Edited."}]


def test_results_of_parallel_calls_are_one_turn_and_failures_are_marked(serve: Serve) -> None:
    @llm.tool
    def broken() -> str:
        """Fail. Call it never."""
        raise llm.ToolError("closed")

    server, engine = serve(
        claude.message(USE, {**USE, "id": "toolu_2", "name": "broken"}, stop_reason="tool_use"),
        claude.message({"type": "text", "text": "Noon."}),
    )

    llm.generate(
        engine=engine, model="m", messages=[llm.user("Time?")], tools=[now, broken], max_steps=2
    )

    results = server.bodies[1]["messages"][-1]["content"]
    assert [one["tool_use_id"] for one in results] == ["toolu_1", "toolu_2"]
    assert [one.get("is_error", False) for one in results] == [False, True]


def test_a_turn_without_tools_sends_no_blocks_of_tools(serve: Serve) -> None:
    server, engine = serve(
        claude.message(THINKING, USE, stop_reason="tool_use"),
        claude.message({"type": "text", "text": "I saw no clock."}),
    )

    result = OrchestratorAgent(engine, "m", tools=[now], max_turns=1).run("Time?")

    assert result.content == "I saw no clock."
    assert "tools" not in server.bodies[1]
    assert [turn["role"] for turn in server.bodies[1]["messages"]] == ["user", "assistant", "user"]
    kinds = {block["type"] for turn in server.bodies[1]["messages"] for block in turn["content"]}
    assert kinds == {"text"}


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_search_by_the_provider_is_told_with_query_and_sources(
    serve: Serve, is_streamed: bool
) -> None:
    server, engine = serve(
        said(SEARCH, FOUND, CITED, stop_reason="end_turn", is_streamed=is_streamed),
        claude.message({"type": "text", "text": "Yes."}),
    )
    tool = anthropic_tools.web_search(max_uses=2, allowed_domains=["yr.no"])
    request = {"engine": engine, "model": "m", "messages": ASK, "tools": [now, tool]}

    if is_streamed:
        with llm.stream(**request) as run:
            assert "".join(run) == "No rain."
        response = run.response
    else:
        response = llm.generate(**request)

    assert response.sources == [llm.Source("Yr", "https://yr.no")]
    [record] = response.tool_calls
    assert (record.name, record.input) == ("provider:web_search", '{"query": "rain oslo"}')
    assert (record.outcome, record.output) == ("ran", "https://yr.no")
    assert server.bodies[0]["tools"][1] == {
        "type": "web_search_20250305",
        "name": "web_search",
        "max_uses": 2,
        "allowed_domains": ["yr.no"],
    }
    llm.generate(engine=engine, model="m", messages=[*response.messages, llm.user("Sure?")])
    assert server.bodies[1]["messages"][1]["content"] == [SEARCH, FOUND, CITED]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_turn_that_is_paused_goes_on_where_it_stood(serve: Serve, is_streamed: bool) -> None:
    begun = {"type": "text", "text": "I look. "}
    server, engine = serve(
        said(begun, SEARCH, FOUND, stop_reason="pause_turn", is_streamed=is_streamed),
        said(SEARCH_AGAIN, stop_reason="pause_turn", is_streamed=is_streamed),
        said(FOUND_AGAIN, CITED, stop_reason="end_turn", is_streamed=is_streamed),
    )

    heard, response = asked(engine, is_streamed=is_streamed, tools=[anthropic_tools.web_search()])

    assert heard == response.text == "I look. No rain."
    assert response.finish_reason is llm.FinishReason.STOP
    assert response.steps == 3
    assert response.usage["completion_tokens"] == 9
    assert [one.output for one in response.tool_calls] == ["https://yr.no", "https://yr.no"]
    assert server.bodies[1]["messages"][1:] == [
        {"role": "assistant", "content": [begun, SEARCH, FOUND]}
    ]
    assert server.bodies[2]["messages"][1:] == [
        {"role": "assistant", "content": [begun, SEARCH, FOUND, SEARCH_AGAIN]}
    ]


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize(
    ("limit", "turns"),
    [({"max_steps": 2}, 2), ({"max_tokens_total": 5}, 1), ({}, MOST_PAUSES)],
)
def test_a_turn_is_not_paused_without_end(
    serve: Serve, limit: dict[str, int], turns: int, is_streamed: bool
) -> None:
    paused = said(SEARCH, FOUND, stop_reason="pause_turn", is_streamed=is_streamed)
    server, engine = serve(*[paused] * 20)

    _, response = asked(
        engine, is_streamed=is_streamed, tools=[anthropic_tools.web_search()], **limit
    )

    assert len(server.bodies) == response.steps == turns
    assert response.finish_reason is llm.FinishReason.LENGTH


def test_own_calls_of_a_paused_turn_are_answered_first(serve: Serve) -> None:
    server, engine = serve(
        claude.message(SEARCH, FOUND, USE, stop_reason="pause_turn"),
        claude.message(CITED),
    )

    _, response = asked(
        engine, is_streamed=False, tools=[now, anthropic_tools.web_search()], max_steps=3
    )

    assert response.text == "No rain."
    assert server.bodies[1]["messages"][-1]["content"][0]["content"] == "noon"


def test_cached_tokens_are_part_of_the_prompt(serve: Serve) -> None:
    counted = {
        "input_tokens": 5,
        "output_tokens": 3,
        "cache_read_input_tokens": 90,
        "cache_creation_input_tokens": 10,
    }
    _, engine = serve(claude.message({"type": "text", "text": "No."}, usage=counted))

    assert engine.generate(ASK, model="m")["usage"] == {
        "prompt_tokens": 105,
        "completion_tokens": 3,
        "total_tokens": 108,
        "cached_tokens": 90,
    }


def test_too_many_requests_tell_when_to_come_back(serve: Serve) -> None:
    _, engine = serve(claude.refusal(429, "slow down", **{"Retry-After": "7"}), max_retries=0)

    with pytest.raises(llm.LLMError, match="slow down") as failed:
        engine.generate(ASK, model="m")

    assert failed.value.code == "LLM_RATE_LIMITED"
    assert failed.value.retry_after == 7.0


def test_overload_is_tried_again_and_then_unavailable(serve: Serve) -> None:
    server, engine = serve(soon(529, "Overloaded"), soon(529, "Overloaded"), max_retries=1)

    with pytest.raises(llm.LLMError, match="Overloaded") as failed:
        engine.generate(ASK, model="m")

    assert failed.value.code == "LLM_UNAVAILABLE"
    assert len(server.requests) == 2


def test_an_overload_in_mid_stream_is_unavailable(serve: Serve) -> None:
    begun = claude.events({"type": "text", "text": "No"})[:4]
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    _, engine = serve(claude.stream([*begun, error]), max_retries=0)

    with pytest.raises(llm.LLMError, match="Overloaded") as failed:
        list(engine.chunks(ASK, model="m"))

    assert failed.value.code == "LLM_UNAVAILABLE"


def test_a_refusal_is_content_that_was_filtered(serve: Serve) -> None:
    _, engine = serve(claude.message(stop_reason="refusal"))

    response = llm.generate(engine=engine, model="m", messages=ASK)

    assert response.finish_reason is llm.FinishReason.CONTENT_FILTER


@pytest.mark.parametrize("written", ["", "{", '{"city": "Os'])
def test_a_call_that_was_cut_off_stays_as_it_was_written(serve: Serve, written: str) -> None:
    cut = {**USE, "input": written}
    _, engine = serve(claude.stream(claude.events(cut, stop_reason="max_tokens")))

    reply = reply_of(engine, is_streamed=True)

    assert reply["finish_reason"] == "length"
    assert reply["tool_calls"][0]["arguments"] == (written or "{}")


def test_leaving_a_stream_closes_the_connection(serve: Serve) -> None:
    delta = {"type": "text_delta", "text": "la"}
    event = json.dumps({"type": "content_block_delta", "index": 0, "delta": delta})
    server, engine = serve(endless(f"{event}\nevent: content_block_delta".encode()))

    with llm.stream(engine=engine, model="m", messages=ASK) as run:
        assert next(iter(run)) == "la"

    assert server.hung_up.wait(10)


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_a_schema_that_claude_does_not_take_is_refused_before_it_is_sent(
    serve: Serve, keyword: str
) -> None:
    server, engine = serve()
    schema = {keyword: [{"type": "object"}]}
    tools = [{"type": "function", "function": {"name": "odd", "parameters": schema}}]

    with pytest.raises(llm.LLMError, match=f"'odd'.*parameters, '{keyword}'") as failed:
        engine.generate(ASK, model="m", tools=tools)

    assert failed.value.code == "LLM_INVALID_REQUEST"
    assert server.requests == []


def test_a_temperature_above_one_is_one(serve: Serve) -> None:
    server, engine = serve(claude.message({"type": "text", "text": "No."}))

    engine.generate(ASK, model="m", temperature=1.8, max_tokens=5)

    assert server.bodies[0]["temperature"] == 1.0
    assert server.bodies[0]["max_tokens"] == 5
    assert server.requests[0].path == "/v1/messages"


def test_settings_make_an_engine(serve: Serve) -> None:
    server, _ = serve(claude.message({"type": "text", "text": "No."}))
    settings = EngineSettings(
        model="chosen",
        anthropic_base_url=server.base_url.removesuffix("/v1"),
        anthropic_api_key="the-key-123456",
    )
    engine = AnthropicEngine.from_settings(settings)

    assert engine.generate(ASK)["content"] == "No."
    assert server.bodies[0]["model"] == "chosen"
    assert "the-key-123456" in str(server.requests[0].headers)
    assert engine.list_models() == ["test-model"]
    assert engine.health()
    engine.close()


def test_no_key_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    engine = AnthropicEngine()

    with pytest.raises(llm.LLMError, match="Set ANTHROPIC_API_KEY") as failed:
        engine.generate(ASK, model="m")

    assert failed.value.code == "LLM_UNAUTHORIZED"


@pytest.mark.parametrize(
    "options",
    [{"max_uses": 0}, {"max_uses": True}, {"allowed_domains": ["a"], "blocked_domains": ["b"]}],
)
def test_options_that_cannot_be_are_refused_where_the_tool_is_made(options: Any) -> None:
    with pytest.raises(llm.LLMError) as failed:
        anthropic_tools.web_search(**options)

    assert failed.value.code == "LLM_INVALID_REQUEST"


def test_a_long_answer_in_many_pieces_is_read_in_linear_time() -> None:
    reading = AnthropicReading(Server("x"), "m", frozenset(), {})
    piece = {"type": "content_block_delta", "index": 0, "delta": {"text": "x" * 10}}
    began = time.process_time()

    for _ in range(200_000):
        reading.feed(piece)
    reading.feed({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})

    assert len(reading.reply()["content"]) == 2_000_000
    assert time.process_time() - began < 5
