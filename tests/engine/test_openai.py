import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import openai_server as served
from openai_server import OpenAIServer, call, completion
from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.engine.base import Reply
from openjarvis.engine.openai import OpenAIEngine
from openjarvis.engine.settings import EngineSettings

ASK = [Message(Role.USER, "Where is TH-1042?")]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_order_status",
            "description": "Show where an order is.",
            "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}},
        },
    }
]

Serve = Callable[..., tuple[OpenAIServer, OpenAIEngine]]


@pytest.fixture(params=["generate", "agenerate"])
def ask(request: pytest.FixtureRequest) -> Callable[..., Reply]:
    def generate(engine: OpenAIEngine, messages: Any = ASK, **options: Any) -> Reply:
        options.setdefault("model", "test-model")
        if request.param == "generate":
            return engine.generate(messages, **options)
        return asyncio.run(engine.agenerate(messages, **options))

    return generate


Ask = Callable[..., Reply]


def test_an_answer_comes_with_text_usage_model_and_reason(serve: Serve, ask: Ask) -> None:
    server, engine = serve(completion("On its way."))

    reply = ask(engine)

    assert reply == {
        "content": "On its way.",
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        "model": "test-model",
        "finish_reason": "stop",
    }
    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer test-key-123456"
    assert request.body == {
        "model": "test-model",
        "messages": [{"role": "user", "content": "Where is TH-1042?"}],
        "temperature": 0.7,
        "max_tokens": 1024,
    }


def test_a_tool_call_comes_as_the_model_wrote_it(serve: Serve, ask: Ask) -> None:
    written = '{ "order_id":"TH-1042" }'
    server, engine = serve(
        completion(tool_calls=[call("get_order_status", written)], finish_reason="tool_calls")
    )

    reply = ask(engine, tools=TOOLS)

    assert reply["content"] == ""
    assert reply["finish_reason"] == "tool_calls"
    assert reply["tool_calls"] == [
        {"id": "call_1", "name": "get_order_status", "arguments": written}
    ]
    assert server.bodies[0]["tools"] == TOOLS


def test_arguments_sent_as_an_object_become_text(serve: Serve, ask: Ask) -> None:
    _, engine = serve(completion(tool_calls=[call("get_order_status", {"order_id": "ก 1"})]))

    reply = ask(engine, tools=TOOLS)

    assert reply["tool_calls"][0]["arguments"] == '{"order_id": "ก 1"}'
    assert reply["finish_reason"] == "tool_calls"


def test_no_tools_are_sent_when_there_are_none(serve: Serve, ask: Ask) -> None:
    server, engine = serve(completion("Hello."))

    ask(engine, tools=[])

    assert "tools" not in server.bodies[0]


def test_further_arguments_go_to_the_server(serve: Serve, ask: Ask) -> None:
    server, engine = serve(completion("Hello."))

    ask(engine, seed=7, tool_choice="none", temperature=None, max_tokens=None)

    assert server.bodies[0]["seed"] == 7
    assert server.bodies[0]["tool_choice"] == "none"
    assert not {"temperature", "max_tokens"} & server.bodies[0].keys()


def test_a_call_printed_as_text_becomes_a_call(serve: Serve, ask: Ask) -> None:
    text = 'Let me look.\n<tool_call>{"name": "get_order_status", "arguments": {}}</tool_call>'
    _, engine = serve(completion(text))

    reply = ask(engine, tools=TOOLS)

    assert reply["content"] == "Let me look."
    assert reply["finish_reason"] == "tool_calls"
    [made] = reply["tool_calls"]
    assert (made["name"], made["arguments"]) == ("get_order_status", "{}")
    assert made["id"]


@pytest.mark.parametrize(
    ("answer", "tools"),
    [
        (completion("get_order_status()"), None),
        (completion("get_order_status()", finish_reason="length"), TOOLS),
        (
            completion("get_order_status()", tool_calls=[call("get_order_status", '{"a": 1}')]),
            TOOLS,
        ),
    ],
    ids=["no tools were offered", "the text was cut off", "there is a real call"],
)
def test_a_printed_call_stays_text_when(serve: Serve, ask: Ask, answer: Any, tools: Any) -> None:
    _, engine = serve(answer)

    reply = ask(engine, tools=tools)

    assert reply["content"] == "get_order_status()"
    assert [made["arguments"] for made in reply.get("tool_calls", [])] in ([], ['{"a": 1}'])


def test_reasoning_goes_back_to_the_server_that_it_came_from_and_to_no_other(
    serve: Serve, ask: Ask
) -> None:
    thought = call("get_order_status", "{}", extra_content={"google": {"thought_signature": "s"}})
    server, engine = serve(
        completion(tool_calls=[thought], reasoning_content="Look it up."), completion("Done.")
    )
    other_server, other = serve(completion("Done."))

    reply = ask(engine, tools=TOOLS)
    [made] = reply["tool_calls"]
    history = [
        *ASK,
        Message(Role.ASSISTANT, None, tool_calls=[ToolCall(**made)], metadata=reply["metadata"]),
        Message(Role.TOOL, "in Bangkok", tool_call_id=made["id"]),
    ]
    ask(engine, history, tools=TOOLS)
    ask(other, history, tools=TOOLS)

    sent = server.bodies[1]["messages"][1]
    assert sent["reasoning_content"] == "Look it up."
    assert sent["tool_calls"] == [{**thought, "id": made["id"]}]
    assert "reasoning_content" not in other_server.bodies[0]["messages"][1]
    assert "extra_content" not in other_server.bodies[0]["messages"][1]["tool_calls"][0]


@pytest.mark.parametrize("failure", [served.soon(500), served.soon(503), served.soon(429)])
def test_a_failure_that_passes_is_tried_again(serve: Serve, ask: Ask, failure: Any) -> None:
    server, engine = serve(failure, failure, completion("There."))

    reply = ask(engine)

    assert reply["content"] == "There."
    assert len(server.requests) == 3


def test_retries_end(serve: Serve, ask: Ask) -> None:
    server, engine = serve(*[served.soon(500)] * 5, max_retries=1)

    with pytest.raises(LLMError) as failed:
        ask(engine)

    assert len(server.requests) == 2
    assert failed.value.code is LLMErrorCode.UNAVAILABLE
    assert failed.value.status == 500
    assert failed.value.retryable


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, LLMErrorCode.REQUEST_REJECTED),
        (401, LLMErrorCode.UNAUTHORIZED),
        (403, LLMErrorCode.UNAUTHORIZED),
        (404, LLMErrorCode.REQUEST_REJECTED),
        (422, LLMErrorCode.REQUEST_REJECTED),
    ],
)
def test_a_refusal_is_final_and_carries_the_providers_words(
    serve: Serve, ask: Ask, status: int, code: LLMErrorCode
) -> None:
    server, engine = serve(served.refusal(status, "the tools need a schema"))

    with pytest.raises(LLMError, match="the tools need a schema") as failed:
        ask(engine)

    assert failed.value.code is code
    assert failed.value.status == status
    assert not failed.value.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("path", "is_doubted"),
    [("", True), ("/", True), ("/v1/chat/completions", True), ("/v1", False), ("/api", False)],
)
def test_a_base_url_that_leads_nowhere_is_doubted_where_it_looks_wrong(
    serve: Serve, ask: Ask, path: str, is_doubted: bool
) -> None:
    server, _ = serve(served.refusal(404, "Not Found"))
    engine = OpenAIEngine(f"{server.base_url.removesuffix('/v1')}{path}", "test-key-123456")

    with pytest.raises(LLMError, match="Not Found") as failed:
        ask(engine)

    asked = f"Asked was 127.0.0.1:{server.port}{path.rstrip('/')}/chat/completions; most base URLs"
    assert (asked in str(failed.value)) is is_doubted
    engine.close()


def test_too_many_requests_say_when_to_come_back(serve: Serve, ask: Ask) -> None:
    _, engine = serve(
        served.refusal(429, "slow down", headers={"Retry-After": "17"}), max_retries=0
    )

    with pytest.raises(LLMError, match="slow down") as failed:
        ask(engine)

    assert failed.value.code is LLMErrorCode.RATE_LIMITED
    assert failed.value.retryable
    assert failed.value.retry_after == 17.0
    assert str(failed.value).endswith("slow down (try again in 17 s)")


def test_an_error_never_repeats_the_key(serve: Serve, ask: Ask) -> None:
    _, engine = serve(served.refusal(401, "the key test-key-123456 is wrong"))

    with pytest.raises(LLMError) as failed:
        ask(engine)

    assert "test-key-123456" not in str(failed.value)
    assert "[secret]" in str(failed.value)


@pytest.mark.parametrize(
    "answer",
    [
        served.raw(b"{not json"),
        served.raw(b"<html>It works!</html>", content_type="text/html"),
        served.raw(b"[" * 100_000),
        served.raw(b""),
        served.raw(b"\xff\xfe\x00"),
        served.answer(None),
        served.answer("text"),
        served.answer([]),
        served.answer({}),
        served.answer({"choices": []}),
        served.answer({"choices": None}),
        served.answer({"choices": ["x"]}),
        served.answer({"error": {"message": "out of memory"}}),
    ],
)
def test_nonsense_is_unavailable(serve: Serve, ask: Ask, answer: Any) -> None:
    _, engine = serve(answer)

    with pytest.raises(LLMError) as failed:
        ask(engine)

    assert failed.value.code is LLMErrorCode.UNAVAILABLE
    assert failed.value.retryable
    assert "127.0.0.1" in failed.value.message


def test_json_under_another_content_type_is_understood(serve: Serve, ask: Ask) -> None:
    body = json.dumps(served.whole("Fine.")).encode()
    _, engine = serve(served.raw(body, content_type="text/plain"))

    assert ask(engine)["content"] == "Fine."


def test_a_server_that_is_not_there_is_unavailable(ask: Ask) -> None:
    with OpenAIServer() as server:
        base_url = server.base_url
    engine = OpenAIEngine(base_url, api_key="", max_retries=0)

    with pytest.raises(LLMError, match=r"connection to 127\.0\.0\.1") as failed:
        ask(engine)

    assert failed.value.code is LLMErrorCode.UNAVAILABLE
    engine.close()


def test_a_silent_server_is_unavailable_after_the_timeout(serve: Serve, ask: Ask) -> None:
    _, engine = serve(served.silence, timeout=0.1, max_retries=0)

    with pytest.raises(LLMError, match="did not answer in time") as failed:
        ask(engine)

    assert failed.value.code is LLMErrorCode.UNAVAILABLE
    assert failed.value.status == 504


@pytest.mark.parametrize(
    ("refusal", "gone", "there"),
    [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "max_tokens",
            "max_completion_tokens",
        ),
        (
            "Unsupported value: 'temperature' does not support 0.7 with this model. Only the "
            "default (1) value is supported.",
            "temperature",
            "max_tokens",
        ),
    ],
)
def test_a_field_that_a_model_refuses_is_left_out_from_then_on(
    serve: Serve, ask: Ask, refusal: str, gone: str, there: str
) -> None:
    server, engine = serve(served.refusal(400, refusal), completion("One."), completion("Two."))

    assert ask(engine)["content"] == "One."
    assert ask(engine)["content"] == "Two."

    assert gone in server.bodies[0]
    assert all(gone not in body and there in body for body in server.bodies[1:])


def test_a_refusal_of_a_field_that_was_not_sent_is_passed_on(serve: Serve, ask: Ask) -> None:
    refusal = served.refusal(400, "Use 'max_completion_tokens' instead.")
    server, engine = serve(refusal, refusal)

    with pytest.raises(LLMError, match="max_completion_tokens"):
        ask(engine)

    assert len(server.requests) == 2


def test_a_request_that_is_no_json_is_refused_before_it_is_sent(serve: Serve, ask: Ask) -> None:
    server, engine = serve()

    with pytest.raises(LLMError, match="cannot be written as JSON") as failed:
        ask(engine, extra={1, 2})

    assert failed.value.code is LLMErrorCode.INVALID_REQUEST
    assert server.requests == []


def test_text_with_an_unpaired_surrogate_is_sent(serve: Serve, ask: Ask) -> None:
    server, engine = serve(completion("Fine."))

    ask(engine, [Message(Role.USER, "file \udcff name")])

    assert server.bodies[0]["messages"][0]["content"] == "file ? name"


def test_ids_that_the_conversation_has_used_are_replaced(serve: Serve, ask: Ask) -> None:
    _, engine = serve(completion(tool_calls=[call("get_order_status", "{}", call_id="call_0")]))
    used = ToolCall("call_0", "get_order_status", "{}")
    history = [
        *ASK,
        Message(Role.ASSISTANT, None, tool_calls=[used]),
        Message(Role.TOOL, "in Bangkok", tool_call_id="call_0"),
    ]

    reply = ask(engine, history, tools=TOOLS)

    assert reply["tool_calls"][0]["id"] not in ("", "call_0")


def test_many_threads_and_loops_share_an_engine(serve: Serve) -> None:
    server, engine = serve(*[completion("Yes.")] * 40)
    replies: list[Reply] = []

    def asks() -> None:
        replies.append(engine.generate(ASK, model="m"))

        async def twice() -> None:
            await asyncio.gather(*(engine.agenerate(ASK, model="m") for _ in range(2)))
            replies.append(await engine.agenerate(ASK, model="m"))

        asyncio.run(twice())

    threads = [Thread(target=asks) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [reply["content"] for reply in replies] == ["Yes."] * 20
    assert len(server.requests) == 40


def test_a_cancelled_request_ends_at_once(serve: Serve) -> None:
    _, engine = serve(served.silence)

    async def cancelled() -> None:
        async with asyncio.timeout(0.05):
            await engine.agenerate(ASK, model="m")

    with pytest.raises(TimeoutError):
        asyncio.run(cancelled())


def test_models_are_listed(serve: Serve) -> None:
    _, engine = serve(models=("small", "large"))

    assert engine.list_models() == ["small", "large"]


@pytest.mark.parametrize("body", [None, [], {"data": None}, {"data": [1, {"id": 2}, {}]}])
def test_a_strange_list_of_models_is_empty(serve: Serve, body: Any) -> None:
    server, engine = serve()
    server.models_answer = served.answer(body)

    assert engine.list_models() == []


def test_a_request_without_a_model_asks_for_the_configured_one(serve: Serve, ask: Ask) -> None:
    server, engine = serve(completion("Hello."), model="chosen")

    ask(engine, model="")

    assert server.bodies[0]["model"] == "chosen"
    assert server.listings == []


def test_a_server_on_this_machine_is_asked_for_its_first_model_that_chats(
    serve: Serve, ask: Ask
) -> None:
    server, engine = serve(completion("Hello."), models=("nomic-embed-text", "qwen", "llama"))

    ask(engine, model="")

    assert server.bodies[0]["model"] == "qwen"


def test_a_server_without_models_is_no_guess(serve: Serve, ask: Ask) -> None:
    _, engine = serve(models=())

    with pytest.raises(LLMError, match="No model is named") as failed:
        ask(engine, model="")

    assert failed.value.code is LLMErrorCode.INVALID_REQUEST


def test_health_is_yes_while_the_server_answers(serve: Serve) -> None:
    server, engine = serve()

    assert engine.health()

    server.models_answer = served.refusal(404, "no such page")
    assert engine.health()


@pytest.mark.parametrize("status", [401, 500])
def test_health_is_no_when_a_request_would_fail(serve: Serve, status: int) -> None:
    server, engine = serve()
    server.models_answer = served.soon(status)

    assert not engine.health()
    assert len(server.listings) == 1


def test_health_is_no_when_nobody_is_there() -> None:
    with OpenAIServer() as server:
        base_url = server.base_url
    engine = OpenAIEngine(base_url, api_key="")

    assert not engine.health()
    engine.close()


def test_openai_itself_is_not_asked_without_a_key(
    monkeypatch: pytest.MonkeyPatch, ask: Ask
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "admin-key-12345")
    engine = OpenAIEngine()

    with pytest.raises(LLMError, match="Set OPENAI_API_KEY") as failed:
        ask(engine)

    assert failed.value.code is LLMErrorCode.UNAUTHORIZED
    assert not engine.health()


def test_an_empty_key_means_that_no_key_of_the_environment_is_sent(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, ask: Ask
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "somebody-elses-key")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "admin-key-12345")
    server, engine = serve(completion("Hello."), api_key="")

    ask(engine)

    assert server.requests[0].headers["authorization"] == "Bearer none"


def test_a_local_server_is_asked_without_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, ask: Ask
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    _, engine = serve(completion("Hello."), max_retries=0)

    assert ask(engine)["content"] == "Hello."


def test_the_environment_gives_url_and_key(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, ask: Ask
) -> None:
    server, _ = serve(completion("Hello."))
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", " env-key-123456\n")
    engine = OpenAIEngine()

    ask(engine)

    assert server.requests[0].headers["authorization"] == "Bearer env-key-123456"
    engine.close()


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"max_retries": -1},
    ],
)
def test_numbers_out_of_range_are_refused_where_the_engine_is_made(options: Any) -> None:
    with pytest.raises(LLMError, match="expected") as failed:
        OpenAIEngine("http://127.0.0.1:9/v1", "", **options)

    assert failed.value.code is LLMErrorCode.INVALID_REQUEST


def test_an_engine_that_was_closed_connects_again(serve: Serve, ask: Ask) -> None:
    _, engine = serve(completion("One."), completion("Two."))

    assert ask(engine)["content"] == "One."
    engine.close()

    assert ask(engine)["content"] == "Two."


def test_settings_make_an_engine(serve: Serve) -> None:
    server, _ = serve(completion("Hello."))
    settings = EngineSettings(
        model="chosen", openai_base_url=server.base_url, openai_api_key="k", max_retries=0
    )
    engine = EngineRegistry.get("openai").from_settings(settings)

    reply = engine.generate(ASK)

    assert reply["content"] == "Hello."
    assert server.bodies[0]["model"] == "chosen"
    engine.close()


def test_the_engine_is_imported_without_the_client_library(tmp_path: Path) -> None:
    code = "import sys, openjarvis.engine.openai; sys.exit('openai' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0
