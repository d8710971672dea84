"""Servers that lead elsewhere, never end, break off or answer in pieces that fit nothing.

Each attack is made on every engine with a client of its own, in all four ways of asking.
"""

import asyncio
import gzip
import json
import socket
import struct
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from loopback import Answer, Loopback, answer, redirect, serving
from openjarvis import llm
from openjarvis.engine import bounds
from openjarvis.engine.anthropic import AnthropicEngine
from openjarvis.engine.base import InferenceEngine
from openjarvis.engine.gemini import GeminiEngine
from openjarvis.engine.ollama import OllamaEngine
from openjarvis.engine.openai import OpenAIEngine

KEY = "zQ9-very-secret-key-of-mine"
QUESTION = "my private question"


@dataclass(frozen=True)
class Kind:
    """An engine, the paths that it asks, how its server begins a stream, and a whole answer."""

    engine: Callable[..., InferenceEngine]
    whole_path: str
    stream_path: str
    begun: bytes
    whole: Any
    base: str = ""


def event(**data: Any) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


MESSAGE = {"type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
HELLO = {"type": "text_delta", "text": "Hello"}
GEMINI = {"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"}]}
OLLAMA = {"model": "m", "message": {"role": "assistant", "content": "Hello"}, "done": True}
KINDS = {
    "openai": Kind(
        OpenAIEngine,
        "/v1/chat/completions",
        "/v1/chat/completions",
        event(choices=[{"delta": {"content": "Hello"}}]),
        {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]},
        "/v1",
    ),
    "anthropic": Kind(
        AnthropicEngine,
        "/v1/messages",
        "/v1/messages",
        b"event: message_start\n"
        + event(type="message_start", message=MESSAGE)
        + b"event: content_block_delta\n"
        + event(type="content_block_delta", index=0, delta=HELLO),
        {**MESSAGE, "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn"},
    ),
    "gemini": Kind(
        GeminiEngine,
        "/v1/models/m:generateContent",
        "/v1/models/m:streamGenerateContent",
        event(candidates=[{"content": {"parts": [{"text": "Hello"}]}}]),
        GEMINI,
    ),
    "ollama": Kind(
        OllamaEngine,
        "/api/chat",
        "/api/chat",
        json.dumps({**OLLAMA, "done": False}).encode() + b"\n",
        OLLAMA,
    ),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
each_way = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
whole_or_streamed = pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "stream"])


def ask(engine: InferenceEngine, *, is_streamed: bool, is_async: bool) -> str:
    """Return the answer to the question, asked in one of the four ways."""
    request: dict[str, Any] = {
        "engine": engine,
        "model": "m",
        "messages": [llm.user(QUESTION)],
    }
    if not is_streamed:
        done = asyncio.run(llm.agenerate(**request)) if is_async else llm.generate(**request)
        return done.text
    if is_async:
        return asyncio.run(heard(request))
    with llm.stream(**request) as run:
        return "".join(run)


async def heard(request: dict[str, Any]) -> str:
    async with llm.astream(**request) as run:
        return "".join([text async for text in run])


@contextmanager
def asking(name: str, reply: Answer, **options: Any) -> Iterator[tuple[InferenceEngine, Loopback]]:
    """Serve `reply` on the paths that an engine asks, and give the engine."""
    kind = KINDS[name]
    shown = answer(
        b'{"capabilities": ["tools"], "model_info": {}}',
        headers={"Content-Type": "application/json"},
    )
    paths = {kind.whole_path: reply, kind.stream_path: reply, "/api/show": shown}
    with serving(paths) as server:
        options = {"api_key": KEY, "timeout": 10.0, "max_retries": 0, **options}
        engine = kind.engine(server.url(kind.base), **options)
        yield engine, server
        engine.close()


def asked_questions(server: Loopback) -> list[bytes]:
    return [request for request in server.requests if QUESTION.encode() in request]


def json_answer(body: Any, **headers: str) -> bytes:
    return answer(
        json.dumps(body).encode(), headers={"Content-Type": "application/json", **headers}
    )


def begun(name: str) -> tuple[bytes, bytes]:
    """Return the head and the beginning of a streamed answer whose body is chunked."""
    kind = b"application/x-ndjson" if name == "ollama" else b"text/event-stream"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % kind
    piece = KINDS[name].begun
    return head, b"%x\r\n%s\r\n" % (len(piece), piece)


# Elsewhere


@each_way
@whole_or_streamed
@each_kind
@pytest.mark.parametrize("status", ["302 Found", "307 Temporary Redirect"])
def test_neither_key_nor_conversation_follows_a_redirect_to_another_place(
    kind: str, status: str, is_streamed: bool, is_async: bool
) -> None:
    elsewhere = json_answer(KINDS[kind].whole)
    with (
        serving({"/evil": elsewhere}) as other,
        asking(kind, redirect(other.url("/evil"), status)) as (engine, server),
        pytest.raises(llm.LLMError, match=f"redirects to http://{other.place}") as failed,
    ):
        ask(engine, is_streamed=is_streamed, is_async=is_async)

    assert failed.value.code == "LLM_UNAVAILABLE"
    assert other.requests == []
    assert len(asked_questions(server)) == 1


@pytest.mark.parametrize(
    "target",
    ["http://localhost:PORT/x", "//localhost:PORT/x", "https://127.0.0.1:PORT/x", "http://[::1",
     "http:///x", "ftp://127.0.0.1:PORT/x", "http://127.0.0.1:PORT@localhost/x"],
)  # fmt: skip
def test_no_spelling_of_another_place_is_followed(target: str) -> None:
    places: list[str] = []

    def elsewhere(connection: socket.socket) -> None:
        connection.sendall(redirect(places[0], "307 Temporary Redirect"))

    with asking("openai", elsewhere) as (engine, server):
        places.append(target.replace("PORT", str(server.port)))
        with pytest.raises(llm.LLMError) as failed:
            ask(engine, is_streamed=False, is_async=False)

    assert failed.value.code in ("LLM_UNAVAILABLE", "LLM_REQUEST_REJECTED")
    assert len(server.requests) == 1


@each_way
@each_kind
def test_a_refusal_of_our_own_is_told_as_it_is(kind: str, is_async: bool) -> None:
    lead = redirect("http://elsewhere.example/", "307 Temporary Redirect")
    with (
        asking(kind, lead, max_retries=1) as (engine, server),
        pytest.raises(llm.LLMError) as failed,
    ):
        ask(engine, is_streamed=False, is_async=is_async)

    assert failed.value.message == (
        f"{server.place} redirects to http://elsewhere.example; neither the key nor the "
        "conversation was sent there. If that is the right address, set it as the base URL."
    )
    assert failed.value.__cause__ is None


@each_kind
def test_a_redirect_within_the_place_is_followed(kind: str) -> None:
    moved = redirect("/moved", "308 Permanent Redirect")
    with asking(kind, moved) as (engine, server):
        server.answers["/moved"] = json_answer(KINDS[kind].whole)

        said = ask(engine, is_streamed=False, is_async=False)

    assert said == "Hello"


@each_kind
def test_the_list_of_models_is_not_asked_elsewhere(kind: str) -> None:
    with serving({"/evil": json_answer({})}) as other:
        lead = redirect(other.url("/evil"), "302 Found")
        listings = dict.fromkeys(("/v1/models", "/api/tags"), lead)
        with asking(kind, b"") as (engine, server):
            server.answers.update(listings)

            alive = engine.health()
            with pytest.raises(llm.LLMError, match="redirects to"):
                engine.list_models()

    assert not alive
    assert other.requests == []


# Without end


@each_way
@whole_or_streamed
@each_kind
def test_a_compressed_answer_is_refused_before_it_is_unpacked(
    kind: str, is_streamed: bool, is_async: bool
) -> None:
    bomb = gzip.compress(b" " * 1_000_000)
    reply = answer(bomb, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})
    with (
        asking(kind, reply) as (engine, server),
        pytest.raises(llm.LLMError, match="compressed its answer") as failed,
    ):
        ask(engine, is_streamed=is_streamed, is_async=is_async)

    assert failed.value.code == "LLM_UNAVAILABLE"
    asked = asked_questions(server)[0].lower()
    assert b"accept-encoding: identity" in asked
    assert b"gzip" not in asked.partition(b"\r\n\r\n")[0]


def repeating(piece: bytes, *, head: bytes, first: bytes = b"") -> Answer:
    """Send the same piece until the other side has had enough."""

    def send(connection: socket.socket) -> None:
        connection.sendall(head + first)
        with suppress(OSError):
            while True:
                connection.sendall(piece)

    return send


@each_way
@each_kind
def test_an_endless_answer_is_left_at_its_bound(
    kind: str, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MAX_ANSWER", 1_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    with (
        asking(kind, repeating(b" " * 10_000, head=head)) as (engine, _),
        pytest.raises(llm.LLMError, match="an answer of more than 1,000,000 bytes") as failed,
    ):
        ask(engine, is_streamed=False, is_async=is_async)

    assert failed.value.code == "LLM_UNAVAILABLE"


@each_way
@each_kind
def test_an_endless_stream_is_left_at_its_bound(
    kind: str, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MAX_STREAM", 50_000)
    head, first = begun(kind)
    with (
        asking(kind, repeating(first * 10, head=head)) as (engine, _),
        pytest.raises(llm.LLMError, match="an answer of more than 50,000 bytes") as failed,
    ):
        ask(engine, is_streamed=True, is_async=is_async)

    assert failed.value.code == "LLM_UNAVAILABLE"
    assert failed.value.response.text.startswith("HelloHello")


@each_way
@pytest.mark.parametrize(
    ("kind", "piece", "said"),
    [
        *[(kind, b"a" * 10_000, "more than 100,000 bytes") for kind in KINDS],
        # A line is an event of Ollama's.
        *[(kind, b"data: \n" * 100, "more than 1,000 lines") for kind in KINDS if kind != "ollama"],
    ],
)
def test_an_event_without_end_is_left_at_its_bound(
    kind: str, piece: bytes, said: str, is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MAX_EVENT", 100_000)
    head, first = begun(kind)
    endless = repeating(b"%x\r\n%s\r\n" % (len(piece), piece), head=head, first=first)
    with (
        asking(kind, endless) as (engine, _),
        pytest.raises(llm.LLMError, match=f"a single event of {said}") as failed,
    ):
        ask(engine, is_streamed=True, is_async=is_async)

    assert failed.value.code == "LLM_UNAVAILABLE"


@each_way
@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize("called", [b"text/plain", b"application/json"])
def test_an_event_is_bounded_whatever_the_answer_calls_itself(
    kind: str, called: bytes, is_async: bool
) -> None:
    head, first = begun(kind)
    lines = b"data: \n" * 100
    endless = repeating(
        b"%x\r\n%s\r\n" % (len(lines), lines),
        head=head.replace(b"text/event-stream", called),
        first=first,
    )
    with (
        asking(kind, endless) as (engine, _),
        pytest.raises(llm.LLMError, match=r"a single event of more than 1,000 lines"),
    ):
        ask(engine, is_streamed=True, is_async=is_async)


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_events_are_measured_one_by_one_however_they_are_cut(
    end: bytes, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MAX_EVENT", 60)
    monkeypatch.setattr(bounds, "MAX_EVENT_LINES", 5)
    one = event(choices=[{"delta": {"content": "x"}}])[:-2] + end
    last = event(choices=[{"delta": {}, "finish_reason": "stop"}])
    monkeypatch.setattr(bounds, "MAX_EVENT", max(len(one), len(last)) + 4)
    data = one * 200 + last

    def send(connection: socket.socket) -> None:
        connection.sendall(begun("openai")[0])
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        connection.sendall(b"0\r\n\r\n")

    with asking("openai", send) as (engine, _):
        assert ask(engine, is_streamed=True, is_async=False) == "x" * 200


# Broken off


def dropped(connection: socket.socket) -> None:
    """End the connection in the middle of the body."""


def reset(connection: socket.socket) -> None:
    """Break the connection off."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def stalled(connection: socket.socket) -> None:
    """Say nothing more; wait for the other side to leave."""
    with suppress(OSError):
        connection.recv(1)


def garbled(connection: socket.socket) -> None:
    """Send a chunk that is none."""
    connection.sendall(b"zz\r\nzz\r\n")


@each_way
@each_kind
@pytest.mark.parametrize("ending", [dropped, reset, stalled, garbled])
def test_a_connection_that_breaks_in_a_stream_is_unavailable(
    kind: str, ending: Callable[[socket.socket], None], is_async: bool
) -> None:
    def send(connection: socket.socket) -> None:
        connection.sendall(b"".join(begun(kind)))
        ending(connection)

    with (
        asking(kind, send, timeout=0.5) as (engine, _),
        pytest.raises(llm.LLMError) as failed,
    ):
        ask(engine, is_streamed=True, is_async=is_async)

    assert failed.value.code == "LLM_UNAVAILABLE"
    assert failed.value.retryable


@each_way
@each_kind
@pytest.mark.parametrize("charset", ["rot13", "utf-16", "hex", "undefined", "no such thing"])
def test_an_answer_is_utf_8_whatever_its_head_says(kind: str, charset: str, is_async: bool) -> None:
    head = {"Content-Type": f"application/json; charset={charset}"}
    whole = json.dumps(KINDS[kind].whole).replace("Hello", "ฝน 🙂").encode()
    with asking(kind, answer(whole, headers=head)) as (engine, _):
        assert ask(engine, is_streamed=False, is_async=is_async) == "ฝน 🙂"


# Keys


@each_way
@whole_or_streamed
@each_kind
def test_a_key_that_is_echoed_stands_in_no_traceback(
    kind: str, is_streamed: bool, is_async: bool
) -> None:
    said = f"bad key {KEY}\x1b]0;gone\x07"
    body = {"error": {"message": said, "code": 401, "status": "NO"}, "message": said}
    reply = answer(
        json.dumps(body if kind != "ollama" else {"error": said}).encode(),
        status="401 Unauthorized",
        headers={"Content-Type": "application/json"},
    )
    with asking(kind, reply) as (engine, _), pytest.raises(llm.LLMError) as failed:
        ask(engine, is_streamed=is_streamed, is_async=is_async)

    shown = "".join(traceback.format_exception(failed.value))
    assert "bad key" in str(failed.value)
    assert KEY not in shown
    assert "\x1b" not in shown
    assert failed.value.__cause__ is not None


# Words


def test_a_finish_reason_of_gemini_that_nobody_knows_is_not_printed() -> None:
    odd = {**GEMINI["candidates"][0], "finishReason": "\x1b]0;gone\x07"}
    with (
        asking("gemini", json_answer({"candidates": [odd]})) as (engine, _),
        warnings.catch_warnings(record=True) as printed,
    ):
        assert ask(engine, is_streamed=False, is_async=False) == "Hello"

    assert printed == []


def test_models_that_are_offered_are_told_in_harmless_characters() -> None:
    names = [{"id": "one\x1b[31m"}, {"id": "x" * 5000}]
    with serving({"/v1/models": json_answer({"data": names})}) as server:
        # Under this name it is not taken for a server on this machine, of which any model will do.
        engine = OpenAIEngine(server.url("/v1").replace("127.0.0.1", "0.0.0.0"), api_key=KEY)
        with pytest.raises(llm.LLMError, match="No model is named") as failed:
            engine.generate([llm.user(QUESTION)])
        engine.close()

    assert r"one\x1b[31m, x" in str(failed.value)
    assert len(str(failed.value)) < 500
