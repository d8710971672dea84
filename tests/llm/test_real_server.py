"""The whole way: the loop, the real client, a real HTTP server on loopback."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from openai_server import (
    Answer,
    OpenAIServer,
    call,
    completion,
    delta,
    endless,
    fragment,
    raw,
    refusal,
    soon,
    stream,
)
from openjarvis import Jarvis, llm
from openjarvis.engine.openai import OpenAIEngine
from openjarvis.llm import LLMError, LLMErrorCode, Outcome

Run = Callable[..., llm.Response]
ARGUMENTS = '{"order_id": "TH-1042"}'


@llm.tool("get_order_status", "Show where an order is.")
def get_order_status(order_id: str) -> str:
    return f"{order_id} is on its way"


class Ready:
    """A server and the engine that asks it."""

    def __init__(self, server: OpenAIServer, engine: OpenAIEngine) -> None:
        self.server = server
        self.engine = engine


@pytest.fixture
def serve() -> Iterator[Callable[..., Ready]]:
    opened: list[Ready] = []

    def start(*answers: Answer) -> Ready:
        server = OpenAIServer(*answers).__enter__()
        opened.append(Ready(server, OpenAIEngine(server.base_url, api_key="test-key-123456")))
        return opened[-1]

    yield start
    for ready in opened:
        ready.engine.close()
        ready.server.__exit__()


def generate(ready: Ready, **request: Any) -> llm.Response:
    return llm.generate(
        messages=[llm.user("Where is TH-1042?")],
        tools=[get_order_status],
        max_steps=3,
        engine=ready.engine,
        model="test-model",
        **request,
    )


def agenerate(ready: Ready, **request: Any) -> llm.Response:
    return asyncio.run(
        llm.agenerate(
            messages=[llm.user("Where is TH-1042?")],
            tools=[get_order_status],
            max_steps=3,
            engine=ready.engine,
            model="test-model",
            **request,
        )
    )


both = pytest.mark.parametrize("run", [generate, agenerate])


@both
def test_a_real_server_is_asked_called_for_and_answered(run: Run, serve: Any) -> None:
    ready = serve(
        completion(None, tool_calls=[call("get_order_status", ARGUMENTS)]),
        completion("On its way."),
    )

    response = run(ready)

    assert response.text == "On its way."
    assert [record.outcome for record in response.tool_calls] == [Outcome.RAN]
    first, second = ready.server.bodies
    assert first["tools"] == [get_order_status.to_openai_function()]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "tool"]
    assert second["messages"][2]["content"] == "TH-1042 is on its way"
    assert second["messages"][2]["tool_call_id"] == second["messages"][1]["tool_calls"][0]["id"]
    assert "metadata" not in second["messages"][2]


@both
@pytest.mark.parametrize(
    "said",
    [
        call("get_order_status", {"order_id": "TH-1042"}),
        call("get_order_status", ARGUMENTS, call_id=None),
        call("get_order_status", ARGUMENTS, call_id=""),
        call("get_order_status", "{'order_id': 'TH-1042',}"),
    ],
    ids=["arguments as an object", "no id", "empty id", "python's spelling"],
)
def test_calls_that_servers_really_send_are_run(run: Run, serve: Any, said: Any) -> None:
    ready = serve(completion(None, tool_calls=[said]), completion("ok"))

    response = run(ready)

    assert [record.output for record in response.tool_calls] == ["TH-1042 is on its way"]
    assert response.text == "ok"


@both
def test_a_failed_call_is_told_to_the_model_and_not_to_the_wire_otherwise(
    run: Run, serve: Any
) -> None:
    ready = serve(completion(None, tool_calls=[call("nope", "{}")]), completion("Sorry."))

    assert run(ready).text == "Sorry."
    told = ready.server.bodies[1]["messages"][-1]
    assert told["content"].startswith("Unknown tool 'nope'.")
    assert told.keys() <= {"role", "content", "tool_call_id", "name"}


@both
def test_what_may_pass_is_tried_again(run: Run, serve: Any) -> None:
    ready = serve(soon(429), soon(500), completion("At last."))

    assert run(ready).text == "At last."


@both
def test_what_the_provider_rejects_is_not(run: Run, serve: Any) -> None:
    ready = serve(refusal(400, "tools are not for this model"))

    with pytest.raises(LLMError, match="tools are not for this model") as caught:
        run(ready)

    assert caught.value.code is LLMErrorCode.REQUEST_REJECTED
    assert (caught.value.status, caught.value.retryable) == (400, False)
    assert len(ready.server.bodies) == 1


@both
def test_a_provider_that_fails_after_a_call_loses_no_record(run: Run, serve: Any) -> None:
    ready = serve(
        completion(None, tool_calls=[call("get_order_status", ARGUMENTS)]),
        refusal(401, "key revoked"),
    )

    with pytest.raises(LLMError) as caught:
        run(ready)

    assert caught.value.code is LLMErrorCode.UNAUTHORIZED
    assert [record.outcome for record in caught.value.response.tool_calls] == [Outcome.RAN]


@both
def test_nonsense_is_an_error_in_words(run: Run, serve: Any) -> None:
    with pytest.raises(LLMError) as caught:
        run(serve(*[raw(b"<html>busy</html>", content_type="text/html")] * 3))

    assert caught.value.code is LLMErrorCode.UNAVAILABLE


FRAGMENTS = [
    fragment("", call_id="c1", name="get_order_status"),
    *(fragment(byte) for byte in ARGUMENTS),
    delta("tool_calls"),
]


@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_a_call_that_comes_in_pieces_runs_once_and_whole(serve: Any, piece: int) -> None:
    ready = serve(
        stream(*FRAGMENTS, piece=piece),
        stream(delta(content="On its "), delta(content="way."), delta("stop"), piece=piece),
    )

    with llm.stream(
        messages=[llm.user("Where?")],
        tools=[get_order_status],
        max_steps=3,
        engine=ready.engine,
        model="m",
    ) as running:
        text = "".join(running)

    assert text == "On its way."
    assert [record.arguments for record in running.response.tool_calls] == [{"order_id": "TH-1042"}]


def test_a_stream_that_is_cut_runs_no_half_call(serve: Any) -> None:
    ran: list[str] = []

    @llm.tool("get_order_status", "")
    def status(order_id: str) -> None:
        ran.append(order_id)

    ready = serve(stream(*FRAGMENTS[:-4], cut=True))

    with (
        pytest.raises(LLMError) as caught,
        llm.stream(
            messages=[llm.user("Where?")],
            tools=[status],
            max_steps=3,
            engine=ready.engine,
            model="m",
        ) as running,
    ):
        list(running)

    assert caught.value.code is LLMErrorCode.UNAVAILABLE
    assert ran == []
    assert caught.value.response.tool_calls == []


def test_leaving_a_stream_early_hangs_up(serve: Any) -> None:
    ready = serve(endless(delta(content="and on ")))

    with llm.stream(messages=[llm.user("Go")], engine=ready.engine, model="m") as running:
        for _ in running:
            break

    assert running.response.text == "and on "
    assert ready.server.hung_up.wait(30)


def test_the_sdk_asks_the_server_that_the_environment_names(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = serve(
        completion(None, tool_calls=[call("calculator", '{"expression": "6*7"}')]),
        completion("It is 42."),
    )
    monkeypatch.setenv("OPENAI_BASE_URL", ready.server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-123456")

    with Jarvis() as jarvis:
        answer = jarvis.ask_full("6*7?", tools=["calculator"])

    assert (answer["content"], answer["engine"], answer["model"]) == (
        "It is 42.",
        "openai",
        "test-model",
    )
    assert answer["tool_results"][0]["content"] == "42"
