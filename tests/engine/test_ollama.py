import logging
from collections.abc import Callable
from functools import partial

import pytest

import ollama_server as llama
from openai_server import Answer, OpenAIServer, Opened
from openjarvis import llm
from openjarvis.core.types import Message, Role
from openjarvis.engine.ollama import OllamaEngine
from openjarvis.engine.settings import EngineSettings

Serve = Callable[..., tuple[OpenAIServer, OllamaEngine]]
ASK = [Message(Role.USER, "Time?")]
PRINTED = 'Let me see.\n<tool_call>{"name": "now", "arguments": {}}</tool_call>'


@llm.tool
def now() -> str:
    """Tell the time. Call it when the user asks for it."""
    return "noon"


@pytest.fixture
def serve(opened: Opened) -> Serve:
    return partial(opened, OllamaEngine, max_retries=0)


def says(text: str) -> Answer:
    return llama.say(llama.Turn(text), is_streamed=False)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_model_without_tools_is_driven_by_printed_calls(serve: Serve, is_streamed: bool) -> None:
    turns = [llama.say(llama.Turn(text), is_streamed=is_streamed) for text in (PRINTED, "Noon.")]
    server, engine = serve(llama.shown(), *turns)
    request = {"engine": engine, "model": "m", "messages": ASK, "tools": [now], "max_steps": 3}

    if is_streamed:
        with llm.stream(**request) as run:
            heard = "".join(run)
        response = run.response
        assert "<tool_call>" not in heard
    else:
        response = llm.generate(**request)

    assert response.text == "Noon."
    assert [one.output for one in response.tool_calls] == ["noon"]
    _, first, second = server.bodies
    assert first["tools"] == []
    assert '"name": "now"' in first["messages"][0]["content"]
    assert second["messages"][-1] == {
        "role": "user",
        "content": "<tool_response>\nnow: noon\n</tool_response>",
    }


def test_a_model_is_asked_about_once(serve: Serve) -> None:
    server, engine = serve(llama.shown("tools"), says("A."), says("B."))

    engine.generate(ASK, model="m")
    engine.generate(ASK, model="m")

    assert [request.path for request in server.requests] == [
        "/api/show",
        "/api/chat",
        "/api/chat",
    ]


def test_the_context_grows_with_the_request_and_never_shrinks(serve: Serve) -> None:
    server, engine = serve(llama.shown("tools"), says("A."), says("B."), says("C."))

    engine.generate(ASK, model="m")
    engine.generate([Message(Role.USER, "word " * 6000)], model="m")
    engine.generate(ASK, model="m")

    lengths = [body["options"]["num_ctx"] for body in server.bodies[1:]]
    assert lengths == [4096, 16384, 16384]


def test_what_a_model_cannot_hold_is_warned_of(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    server, engine = serve(llama.shown("tools", context=2048), says("A."))

    with caplog.at_level(logging.WARNING, "openjarvis.engine"):
        engine.generate([Message(Role.USER, "word " * 6000)], model="m")

    assert "m holds 2048" in caplog.text
    assert server.bodies[1]["options"]["num_ctx"] == 2048


def test_options_of_the_caller_win(serve: Serve) -> None:
    server, engine = serve(llama.shown(), says("A."))

    engine.generate(ASK, model="m", options={"num_ctx": 512, "seed": 1}, think=False)

    assert server.bodies[1]["options"] == {
        "num_ctx": 512,
        "temperature": 0.7,
        "num_predict": 1024,
        "seed": 1,
    }
    assert server.bodies[1]["think"] is False


def test_thinking_goes_back_with_its_call(serve: Serve) -> None:
    call = {"function": {"name": "now", "arguments": {}}}
    pieces = [llama.piece(thinking="Hm."), llama.piece(tool_calls=[call]), llama.piece(done="stop")]
    last = llama.say(llama.Turn("Noon."), is_streamed=True)
    server, engine = serve(llama.shown("tools"), llama.stream(pieces), last)

    with llm.stream(engine=engine, model="m", messages=ASK, tools=[now], max_steps=2) as run:
        assert "".join(run) == "Noon."

    sent = server.bodies[2]["messages"][1]
    assert {name: value for name, value in sent.items() if value} == {
        "role": "assistant",
        "thinking": "Hm.",
        "tool_calls": [call],
    }


def test_nested_parameters_are_told_in_the_description(serve: Serve) -> None:
    server, engine = serve(llama.shown("tools"), says("A."))
    place = {"type": "object", "properties": {"city": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {
            "place": {"$ref": "#/$defs/P"},
            "days": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "$defs": {"P": place},
    }
    tools = [{"type": "function", "function": {"name": "t", "parameters": schema}}]

    engine.generate(ASK, model="m", tools=tools)

    sent = server.bodies[1]["tools"][0]["function"]["parameters"]["properties"]
    assert sent["place"]["type"] == "object"
    assert '"city"' in sent["place"]["description"]
    assert sent["days"] == {"type": ["integer", "null"]}


def test_an_unknown_model_is_rejected_with_ollamas_words(serve: Serve) -> None:
    _, engine = serve(llama.refusal(404, "model 'm' not found"))

    with pytest.raises(llm.LLMError, match="model 'm' not found") as failed:
        engine.generate(ASK, model="m")

    assert (failed.value.code, failed.value.status) == ("LLM_REQUEST_REJECTED", 404)


def test_settings_and_the_environment_say_where_it_is(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = serve(llama.shown(), says("A."))
    monkeypatch.setenv("OLLAMA_HOST", f"0.0.0.0:{server.port}")
    engine = OllamaEngine.from_settings(EngineSettings(model="chosen", context_length=1024))

    assert engine.generate(ASK)["content"] == "A."
    assert server.bodies[1]["model"] == "chosen"
    assert server.bodies[1]["options"]["num_ctx"] == 1024
    engine.close()
