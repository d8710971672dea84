import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import gemini_server as google
from openai_server import OpenAIServer, Opened, answer
from openjarvis import llm
from openjarvis.core.types import Message, Role
from openjarvis.engine import google_tools
from openjarvis.engine.gemini import GeminiEngine
from openjarvis.engine.settings import EngineSettings

Serve = Callable[..., tuple[OpenAIServer, GeminiEngine]]
ASK = [Message(Role.USER, "Rain?")]
SIGNED = {"functionCall": {"name": "now", "args": {}}, "thoughtSignature": "c2lnbmVk"}
GROUNDING = {
    "webSearchQueries": ["rain oslo"],
    "groundingChunks": [
        {"web": {"uri": "https://yr.no", "title": "yr.no"}},
        {"web": {"uri": "https://met.no", "title": "met.no"}},
    ],
}


@llm.tool
def now() -> str:
    """Tell the time. Call it when the user asks for it."""
    return "noon"


@pytest.fixture
def serve(opened: Opened) -> Serve:
    return partial(opened, GeminiEngine)


def reply_whole(engine: GeminiEngine) -> Any:
    return engine.generate(ASK, model="m")


def reply_streamed(engine: GeminiEngine) -> Any:
    return list(engine.chunks(ASK, model="m"))[-1].reply


@pytest.mark.parametrize("is_streamed", [False, True])
def test_signatures_go_back_unchanged_with_their_calls(serve: Serve, is_streamed: bool) -> None:
    thought = {"text": "Hm.", "thought": True}
    pieces = [google.content(thought, reason=None), google.content(SIGNED)]
    first = google.stream(pieces, piece=9) if is_streamed else google.whole(thought, SIGNED)
    last = google.say(google.Turn("Noon."), is_streamed=is_streamed)
    server, engine = serve(first, last)
    request = {
        "engine": engine,
        "model": "gemini-3",
        "messages": [llm.user("Time?")],
        "tools": [now],
        "max_steps": 3,
    }

    if is_streamed:
        with llm.stream(**request) as run:
            assert "".join(run) == "Noon."
    else:
        assert llm.generate(**request).text == "Noon."

    _, model, results = server.bodies[1]["contents"]
    assert model["parts"] == [thought, SIGNED]
    assert results["parts"] == [
        {"functionResponse": {"name": "now", "response": {"result": "noon"}}}
    ]


def test_arguments_may_be_named_in_any_language(serve: Serve) -> None:
    theirs = "arg_ed84a166"
    call = {"functionCall": {"name": "weather", "args": {theirs: "北京"}}}
    server, engine = serve(google.whole(call), google.whole({"text": "Rain."}))

    @llm.tool
    def weather(城市: str) -> str:  # noqa: N803 - as users name it
        """Tell the weather. Call it when the user asks for it."""
        return f"{城市}: rain"

    response = llm.generate(
        engine=engine, model="gemini-3", messages=ASK, tools=[weather], max_steps=2
    )

    declared = server.bodies[0]["tools"][0]["functionDeclarations"][0]["parameters_json_schema"]
    assert declared["properties"] == {theirs: {"type": "string", "description": "城市"}}
    assert declared["required"] == [theirs]
    assert response.tool_calls[0].output == "北京: rain"
    assert server.bodies[1]["contents"][1]["parts"] == [call]


def test_the_ids_that_gemini_gives_come_back_to_it(serve: Serve) -> None:
    calls = [{"functionCall": {"id": f"g{at}", "name": "now", "args": {}}} for at in (1, 2)]
    server, engine = serve(google.whole(*calls), google.whole({"text": "Noon."}))

    llm.generate(
        engine=engine, model="gemini-3", messages=[llm.user("Time?")], tools=[now], max_steps=2
    )

    _, model, results = server.bodies[1]["contents"]
    assert [part["functionCall"]["id"] for part in model["parts"]] == ["g1", "g2"]
    assert [part["functionResponse"]["id"] for part in results["parts"]] == ["g1", "g2"]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_grounding_tells_queries_and_sources(serve: Serve, is_streamed: bool) -> None:
    pieces = [
        google.content({"text": "No "}, reason=None),
        google.content({"text": "rain."}, reason=None),
        # The sources come in pieces without text.
        google.content(
            reason=None, groundingMetadata={"groundingChunks": GROUNDING["groundingChunks"][:1]}
        ),
        google.content(groundingMetadata=GROUNDING),
    ]
    whole = google.whole({"text": "No rain."}, groundingMetadata=GROUNDING)
    server, engine = serve(google.stream(pieces) if is_streamed else whole)
    request = {
        "engine": engine,
        "model": "gemini-2.5-flash",
        "messages": ASK,
        "tools": [google_tools.google_search(), google_tools.url_context()],
    }

    if is_streamed:
        with llm.stream(**request) as run:
            assert "".join(run) == "No rain."
        response = run.response
    else:
        response = llm.generate(**request)

    assert response.sources == [
        llm.Source("yr.no", "https://yr.no"),
        llm.Source("met.no", "https://met.no"),
    ]
    [record] = response.tool_calls
    assert (record.name, record.input) == (
        "provider:google_search",
        '{"queries": ["rain oslo"]}',
    )
    assert server.bodies[0]["tools"] == [{"googleSearch": {}}, {"urlContext": {}}]


def test_code_that_google_ran_is_told_with_its_output(serve: Serve) -> None:
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "print(6*7)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "42\n"}},
        {"text": "42."},
    ]
    server, engine = serve(google.whole(*parts), google.whole({"text": "Sure."}))

    response = llm.generate(
        engine=engine, model="gemini-3", messages=ASK, tools=[google_tools.code_execution()]
    )
    llm.generate(engine=engine, model="gemini-3", messages=[*response.messages, *ASK])

    [record] = response.tool_calls
    assert record.name == "provider:code_execution"
    assert json.loads(record.input) == {"code": "print(6*7)"}
    assert record.output == "42\n"
    assert server.bodies[1]["contents"][1]["parts"] == parts


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "models/gemini-2.5-flash"])
def test_mixing_is_refused_before_sending_where_it_is_known_not_to_go(
    serve: Serve, model: str
) -> None:
    server, engine = serve()

    with pytest.raises(llm.LLMError, match="not both in one request") as failed:
        llm.stream(
            engine=engine, model=model, messages=ASK, tools=[now, google_tools.google_search()]
        )

    assert failed.value.code == "LLM_INVALID_REQUEST"
    assert server.requests == []


def test_mixing_sets_the_flag_that_gemini_3_wants(serve: Serve) -> None:
    invoked = {
        "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1", "args": {"queries": ["q"]}},
        "thoughtSignature": "c2ln",
    }
    server, engine = serve(
        google.whole(invoked, SIGNED, groundingMetadata=GROUNDING), google.whole({"text": "Dry."})
    )

    response = llm.generate(
        engine=engine,
        model="gemini-3-pro",
        messages=ASK,
        tools=[now, google_tools.google_search()],
        max_steps=2,
    )

    assert server.bodies[0]["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert [one.name for one in response.tool_calls] == ["provider:google_search", "now"]
    assert google.camel(server.bodies[1]["contents"][1]["parts"]) == [invoked, SIGNED]


def test_the_providers_refusal_to_mix_reaches_the_caller(serve: Serve) -> None:
    said = "Built-in tools and Function Calling cannot be combined in the same request."
    server, engine = serve(google.refusal(400, said), max_retries=3)

    with pytest.raises(llm.LLMError, match="cannot be combined") as failed:
        llm.generate(
            engine=engine,
            model="learnlm-9",
            messages=ASK,
            tools=[now, google_tools.google_search()],
        )

    assert (failed.value.code, failed.value.status) == ("LLM_REQUEST_REJECTED", 400)
    assert not failed.value.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "g"},
        google.content(reason="PROHIBITED_CONTENT"),
        google.content({"text": ""}, reason="RECITATION"),
    ],
)
def test_a_safety_stop_is_content_that_was_filtered(serve: Serve, body: Any) -> None:
    _, engine = serve(answer(body))

    response = llm.generate(engine=engine, model="m", messages=ASK)

    assert response.finish_reason is llm.FinishReason.CONTENT_FILTER
    assert response.text == ""


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("MALFORMED_FUNCTION_CALL", "its model wrote a tool call that is none"),
        ("UNEXPECTED_TOOL_CALL", "its model called a tool where none was offered"),
        ("TOO_MANY_TOOL_CALLS", "its model called tools again and again"),
    ],
)
@pytest.mark.parametrize("ask", [reply_whole, reply_streamed])
def test_a_call_that_gemini_could_not_read_may_be_asked_for_again(
    serve: Serve, reason: str, why: str, ask: Any
) -> None:
    broken = google.content({"text": "I "}, reason=reason)
    _, engine = serve(google.stream([broken]) if ask is reply_streamed else answer(broken))

    with pytest.raises(llm.LLMError, match=f"{why} \\({reason}\\). The same request") as failed:
        ask(engine)

    assert failed.value.code == "LLM_UNAVAILABLE"
    assert failed.value.retryable


def test_too_many_requests_tell_when_to_come_back(serve: Serve) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    _, engine = serve(google.refusal(429, "quota", info), max_retries=0)

    with pytest.raises(llm.LLMError, match="quota") as failed:
        engine.generate(ASK, model="m")

    assert failed.value.code == "LLM_RATE_LIMITED"
    assert failed.value.retry_after == 34.5


def test_thoughts_and_cached_tokens_are_counted(serve: Serve) -> None:
    body = google.content({"text": "No."})
    body["usageMetadata"] = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 40,
        "totalTokenCount": 143,
    }
    _, engine = serve(answer(body))

    assert engine.generate(ASK, model="m")["usage"] == {
        "prompt_tokens": 100,
        "completion_tokens": 43,
        "total_tokens": 143,
        "cached_tokens": 60,
    }


def test_options_of_the_generation_go_along_and_unknown_ones_are_refused(serve: Serve) -> None:
    server, engine = serve(google.whole({"text": "No."}))

    engine.generate(ASK, model="m", thinking_config={"thinking_budget": 0}, max_tokens=9)
    with pytest.raises(llm.LLMError, match="nonsense") as failed:
        engine.generate(ASK, model="m", nonsense=1)

    config = google.camel(server.bodies[0]["generationConfig"])
    assert config["thinkingConfig"] == {"thinkingBudget": 0}
    assert config["maxOutputTokens"] == 9
    assert failed.value.code == "LLM_INVALID_REQUEST"


def test_a_search_can_be_limited_to_a_time(serve: Serve) -> None:
    server, engine = serve(google.whole({"text": "No."}))
    tool = google_tools.google_search_since("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")

    llm.generate(engine=engine, model="gemini-3", messages=ASK, tools=[tool])

    span = google.camel(server.bodies[0]["tools"][0])["googleSearch"]["timeRangeFilter"]
    assert span == {
        "startTime": "2026-01-01T00:00:00+00:00",
        "endTime": "2026-02-01T00:00:00+00:00",
    }


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("yesterday", "2026-02-01T00:00:00Z"),
        ("2026-01-01", "2026-02-01T00:00:00Z"),
        ("2026-01-01T00:00:00", "2026-02-01T00:00:00Z"),
        ("2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z"),
        (None, "2026-02-01T00:00:00Z"),
    ],
)
def test_times_that_are_none_are_refused_where_the_tool_is_made(start: Any, end: Any) -> None:
    with pytest.raises(llm.LLMError) as failed:
        google_tools.google_search_since(start, end)

    assert failed.value.code == "LLM_INVALID_REQUEST"


def test_pages_only_means_no_images() -> None:
    assert google_tools.google_search_web_only().options == {"searchTypes": {"webSearch": {}}}


def test_a_recursive_schema_is_refused_naming_tool_field_and_keyword(serve: Serve) -> None:
    server, engine = serve()
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/N"}}}
    schema = {"type": "object", "properties": {"root": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}}
    tools = [{"type": "function", "function": {"name": "tree", "parameters": schema}}]

    with pytest.raises(llm.LLMError, match=r"'tree'.*parameters\.root\.child, '\$ref'") as failed:
        engine.generate(ASK, model="m", tools=tools)

    assert failed.value.code == "LLM_INVALID_REQUEST"
    assert server.requests == []


def test_models_are_those_that_write(serve: Serve) -> None:
    server, engine = serve()
    listed = {
        "models": [
            {"name": "models/gemini-3", "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/embedding-1", "supportedGenerationMethods": ["embedContent"]},
        ]
    }
    server.models_answer = lambda exchange: exchange.reply(json.dumps(listed).encode())

    assert engine.list_models() == ["gemini-3"]
    assert engine.default_model() == "gemini-3"
    assert engine.health()


def test_settings_make_an_engine(serve: Serve) -> None:
    server, _ = serve(google.whole({"text": "No."}))
    settings = EngineSettings(
        model="chosen",
        gemini_base_url=server.base_url.removesuffix("/v1"),
        gemini_api_key="the-key-123456",
    )
    engine = GeminiEngine.from_settings(settings)

    assert engine.generate(ASK)["content"] == "No."
    assert server.requests[0].path.endswith("/models/chosen:generateContent")
    assert server.requests[0].headers["x-goog-api-key"] == "the-key-123456"
    engine.close()
