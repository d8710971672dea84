import asyncio
import gc
from collections.abc import Callable
from contextlib import aclosing, closing
from typing import Any

import pytest

import openai_server as served
from openai_server import USAGE, Exchange, OpenAIServer, call, delta, fragment, stream, whole
from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.core.types import Message, Role
from openjarvis.engine.base import Reply, StreamChunk
from openjarvis.engine.openai import OpenAIEngine

ASK = [Message(Role.USER, "Where is TH-1042?")]
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "…", "parameters": {}}}
    for name in ("get_order_status", "refund")
]
CALLS = [fragment("", call_id="call_1", name="get_order_status"), fragment('{"order_id": "ก')]
END = [fragment('1"}'), delta("tool_calls"), USAGE]

Serve = Callable[..., tuple[OpenAIServer, OpenAIEngine]]
Read = Callable[..., list[StreamChunk]]


@pytest.fixture(params=["chunks", "achunks"])
def read(request: pytest.FixtureRequest) -> Read:
    def chunks(engine: OpenAIEngine, **options: Any) -> list[StreamChunk]:
        if request.param == "chunks":
            return list(engine.chunks(ASK, **options))

        async def collect() -> list[StreamChunk]:
            return [chunk async for chunk in engine.achunks(ASK, **options)]

        return asyncio.run(collect())

    return chunks


def reply_in(chunks: list[StreamChunk]) -> Reply:
    reply = chunks[-1].reply
    assert reply is not None
    assert all(chunk.reply is None for chunk in chunks[:-1])
    return reply


def test_text_comes_in_pieces_and_then_the_whole_reply(serve: Serve, read: Read) -> None:
    server, engine = serve(
        stream(
            delta(role="assistant"),
            delta(content="On "),
            delta(content="it."),
            delta("stop"),
            USAGE,
        )
    )

    chunks = read(engine)

    assert [chunk.text for chunk in chunks] == ["On ", "it.", ""]
    assert reply_in(chunks) == {
        "content": "On it.",
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        "model": "test-model",
        "finish_reason": "stop",
    }
    assert server.bodies[0]["stream"] is True
    assert server.bodies[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 64, None])
def test_the_cuts_of_the_network_do_not_matter(serve: Serve, read: Read, piece: int) -> None:
    _, engine = serve(stream(delta(content="ดู🙂"), *CALLS, *END, piece=piece))

    reply = reply_in(read(engine, tools=TOOLS))

    assert reply["content"] == "ดู🙂"
    assert reply["finish_reason"] == "tool_calls"
    assert reply["usage"]["total_tokens"] == 10
    assert reply["tool_calls"] == [
        {"id": "call_1", "name": "get_order_status", "arguments": '{"order_id": "ก1"}'}
    ]


def test_a_stream_ends_with_what_generate_returns(serve: Serve, read: Read) -> None:
    arguments = '{"order_id": "TH-1042"}'
    message = {"content": "Wait.", "reasoning_content": "Look it up."}
    parts = [
        *(delta(reasoning_content=letter) for letter in "Look it up."),
        *(delta(content=letter) for letter in "Wait."),
        fragment(call_id="call_1", name="get_order_status"),
        *(fragment(letter) for letter in arguments),
        delta("tool_calls"),
        USAGE,
    ]
    made = [call("get_order_status", arguments)]
    _, engine = serve(
        stream(*parts), served.answer(whole(tool_calls=made, finish_reason="tool_calls", **message))
    )

    streamed = reply_in(read(engine, tools=TOOLS))

    assert streamed == engine.generate(ASK, tools=TOOLS)


@pytest.mark.parametrize("end", [{"cut": True}, {"done": False}, {"done": True}])
@pytest.mark.parametrize("piece", [None, 1])
def test_a_stream_that_breaks_off_is_unavailable_and_never_half_a_call(
    serve: Serve, read: Read, end: dict[str, bool], piece: int | None
) -> None:
    _, engine = serve(stream(delta(content="Wait."), *CALLS, piece=piece, **{"done": False, **end}))

    with pytest.raises(LLMError) as failed:
        read(engine, tools=TOOLS)

    assert failed.value.code is LLMErrorCode.UNAVAILABLE
    assert failed.value.retryable


def test_text_that_came_before_the_break_was_shown(serve: Serve) -> None:
    _, engine = serve(stream(delta(content="On its "), done=False, cut=True))
    chunks = engine.chunks(ASK)

    assert next(chunks).text == "On its "
    with pytest.raises(LLMError):
        next(chunks)


def test_a_stream_without_its_end_mark_is_whole_when_it_gave_a_reason(
    serve: Serve, read: Read
) -> None:
    _, engine = serve(stream(delta(content="Yes."), delta("stop"), done=False))

    assert reply_in(read(engine)) == {
        "content": "Yes.",
        "usage": {},
        "model": "test-model",
        "finish_reason": "stop",
    }


@pytest.mark.parametrize("garbage", [b"{not json", b"\xff\xfe", b"[" * 100_000])
def test_a_garbled_event_is_unavailable(serve: Serve, read: Read, garbage: bytes) -> None:
    _, engine = serve(stream(delta(content="Yes."), garbage, delta("stop")))

    with pytest.raises(LLMError, match="cannot be read") as failed:
        read(engine)

    assert failed.value.code is LLMErrorCode.UNAVAILABLE


def test_strange_events_are_passed_over(serve: Serve, read: Read) -> None:
    strange = [b"null", b"5", b'"x"', b"[]", b"{}", b'{"choices": [null, 1, {"delta": 3}]}']
    _, engine = serve(stream(*strange, delta(content="Yes."), delta("stop"), *strange))

    assert reply_in(read(engine))["content"] == "Yes."


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"message": "slow down", "code": 429}, LLMErrorCode.RATE_LIMITED),
        ({"message": "no such model", "code": 404}, LLMErrorCode.REQUEST_REJECTED),
        ({"message": "out of memory", "code": "oom"}, LLMErrorCode.UNAVAILABLE),
        ("out of memory", LLMErrorCode.UNAVAILABLE),
    ],
)
def test_an_error_in_mid_stream_is_told(
    serve: Serve, read: Read, error: Any, code: LLMErrorCode
) -> None:
    _, engine = serve(stream(delta(content="Yes."), {"error": error}))

    with pytest.raises(LLMError, match=r"slow down|no such model|out of memory") as failed:
        read(engine)

    assert failed.value.code is code


def test_a_server_that_does_not_know_stream_options_is_asked_without_them(
    serve: Serve, read: Read
) -> None:
    answer = stream(delta(content="Yes."), delta("stop"))
    refusal = served.refusal(400, "stream_options: extra fields not permitted")
    server, engine = serve(refusal, answer, answer)

    assert reply_in(read(engine))["content"] == "Yes."
    assert reply_in(read(engine))["content"] == "Yes."

    assert ["stream_options" in body for body in server.bodies] == [True, False, False]


def test_a_failure_before_the_stream_is_tried_again(serve: Serve, read: Read) -> None:
    server, engine = serve(served.soon(503), stream(delta(content="Yes."), delta("stop")))

    assert reply_in(read(engine))["content"] == "Yes."
    assert len(server.requests) == 2


def test_a_failure_in_mid_stream_is_not(serve: Serve, read: Read) -> None:
    server, engine = serve(stream(delta(content="Yes."), cut=True, done=False))

    with pytest.raises(LLMError):
        read(engine)

    assert len(server.requests) == 1


def test_leaving_early_closes_the_connection(serve: Serve) -> None:
    server, engine = serve(served.endless(delta(content="and ")))

    with closing(engine.chunks(ASK)) as chunks:
        assert next(chunks).text == "and "

    assert server.hung_up.wait(5)


def test_leaving_early_closes_the_connection_of_an_asynchronous_stream_too(serve: Serve) -> None:
    server, engine = serve(served.endless(delta(content="and ")))

    async def leave() -> str:
        async with aclosing(engine.achunks(ASK)) as chunks:
            return (await anext(chunks)).text

    assert asyncio.run(leave()) == "and "
    assert server.hung_up.wait(5)


def test_a_cancelled_stream_closes_the_connection(serve: Serve) -> None:
    server, engine = serve(served.endless(delta(content="and ")))

    async def read_on(started: asyncio.Event) -> None:
        async for _ in engine.achunks(ASK):
            started.set()

    async def cancel() -> None:
        started = asyncio.Event()
        reading = asyncio.create_task(read_on(started))
        await started.wait()
        reading.cancel()
        await asyncio.wait([reading])
        assert reading.cancelled()

    asyncio.run(cancel())
    assert server.hung_up.wait(5)


def test_a_stream_that_is_dropped_closes_the_connection(serve: Serve) -> None:
    server, engine = serve(served.endless(delta(content="and ")))

    chunks = engine.chunks(ASK)
    next(chunks)
    del chunks
    gc.collect()

    assert server.hung_up.wait(5)


def test_a_stream_that_falls_silent_is_unavailable(serve: Serve, read: Read) -> None:
    def falls_silent(exchange: Exchange) -> None:
        exchange.start(200, {"Content-Type": "text/event-stream"})
        exchange.send_chunk(b'data: {"choices": [{"delta": {"content": "Wait"}}]}\n\n')
        served.silence(exchange)

    server = OpenAIServer(falls_silent)
    with server:
        engine = OpenAIEngine(server.base_url, "", timeout=0.1, max_retries=0, model="m")

        with pytest.raises(LLMError, match="did not answer in time") as failed:
            read(engine)

        assert failed.value.code is LLMErrorCode.UNAVAILABLE
        engine.close()


def test_a_printed_call_is_not_shown_as_text(serve: Serve, read: Read) -> None:
    text = 'Wait. <tool_call>{"name": "refund", "arguments": {"n": 1}}</tool_call>'
    _, engine = serve(stream(*(delta(content=letter) for letter in text), delta("stop")))

    chunks = read(engine, tools=TOOLS)

    assert "".join(chunk.text for chunk in chunks) == "Wait. "
    reply = reply_in(chunks)
    assert reply["content"] == "Wait."
    assert [(made["name"], made["arguments"]) for made in reply["tool_calls"]] == [
        ("refund", '{"n": 1}')
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "nobody", "arguments": {}}',
        "refund(everything)",
        "A tag <tool_call> and nothing in it",
        "ends in <tool",
        "  \n",
        "```json\n[1]\n```",
    ],
)
def test_text_that_only_resembles_a_call_is_shown_whole(
    serve: Serve, read: Read, text: str
) -> None:
    _, engine = serve(stream(*(delta(content=letter) for letter in text), delta("stop")))

    chunks = read(engine, tools=TOOLS)

    assert "".join(chunk.text for chunk in chunks) == text
    assert reply_in(chunks)["content"] == text


def test_a_stream_of_words_gives_the_words(serve: Serve) -> None:
    _, engine = serve(stream(delta(content="On "), delta(content="it."), delta("stop")))

    async def words() -> list[str]:
        return [word async for word in engine.stream(ASK)]

    assert asyncio.run(words()) == ["On ", "it."]
