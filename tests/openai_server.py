"""An OpenAI-compatible server on loopback that answers by a script: for tests with a real client.

Each answer is for one `POST /chat/completions`; `GET /models` is answered from `models`. A request
that the script does not expect is answered 418, which no client tries again.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self

Answer = Callable[["Exchange"], None]


@dataclass(frozen=True)
class Received:
    """A request as it came; `body` is its JSON."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Exchange(BaseHTTPRequestHandler):
    """One connection; an answer writes to it."""

    protocol_version = "HTTP/1.1"
    server: "_HTTPServer"

    def do_GET(self) -> None:
        script = self.server.script
        script.listings.append(self._received({}))
        script.models_answer(self)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.script.next_answer(self._received(body))(self)

    def reply(
        self,
        body: bytes,
        *,
        status: int = 200,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        """Send a whole response."""
        self.start(status, {"Content-Type": content_type, **(headers or {})}, len(body))
        self.wfile.write(body)

    def start(self, status: int, headers: dict[str, str], length: int | None = None) -> None:
        """Send the head of a response; without a length the body is chunked."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def send_chunk(self, data: bytes) -> None:
        """Send a piece of a chunked body; an empty one ends it."""
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing: a test reads `requests` instead."""

    def _received(self, body: dict[str, Any]) -> Received:
        return Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body)


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    script: "OpenAIServer"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are part of the script."""


class OpenAIServer:
    """A context manager: serves while it is open, and records what it was asked.

    `hung_up` is set when a client closed a connection that was being written to.
    """

    def __init__(self, *answers: Answer, models: Sequence[str] = ("test-model",)) -> None:
        self._answers: Iterator[Answer] = iter(answers)
        self.models = models
        self.models_answer: Answer = lambda exchange: exchange.reply(
            json.dumps({"object": "list", "data": [{"id": name} for name in self.models]}).encode()
        )
        self.requests: list[Received] = []
        self.listings: list[Received] = []
        self.hung_up = Event()
        self.closing = Event()
        self._http = _HTTPServer(("127.0.0.1", 0), Exchange)
        self._http.script = self

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    def next_answer(self, request: Received) -> Answer:
        self.requests.append(request)
        return next(self._answers, refusal(418, "the script expects no further request"))

    def __enter__(self) -> Self:
        Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()


Opened = Callable[..., tuple[OpenAIServer, Any]]
"""What the fixture `opened` gives: starts a server, and an engine of a kind that asks it."""

# Answers


def completion(
    content: Any = None, *, tool_calls: Any = None, finish_reason: Any = "stop", **message: Any
) -> Answer:
    """Answer with a completion of one choice."""
    return answer(whole(content, tool_calls=tool_calls, finish_reason=finish_reason, **message))


def whole(
    content: Any = None, *, tool_calls: Any = None, finish_reason: Any = "stop", **message: Any
) -> dict[str, Any]:
    """Return a completion of one choice."""
    spoken = {"role": "assistant", "content": content, **message}
    if tool_calls is not None:
        spoken["tool_calls"] = tool_calls
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "test-model",
        "choices": [{"index": 0, "message": spoken, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def call(name: Any, arguments: Any, *, call_id: Any = "call_1", **more: Any) -> dict[str, Any]:
    """Return a tool call as a message, or a delta, holds it."""
    part = {"type": "function", "function": {"name": name, "arguments": arguments}, **more}
    return part if call_id is None else {"id": call_id, **part}


def answer(body: Any) -> Answer:
    """Answer with any JSON."""
    return lambda exchange: exchange.reply(json.dumps(body).encode())


def raw(body: bytes, *, content_type: str = "application/json") -> Answer:
    """Answer with any bytes."""
    return lambda exchange: exchange.reply(body, content_type=content_type)


def refusal(status: int, message: str, *, headers: dict[str, str] | None = None) -> Answer:
    """Answer with an error as OpenAI writes them."""
    body = json.dumps({"error": {"message": message, "type": "test", "code": None}}).encode()
    return lambda exchange: exchange.reply(body, status=status, headers=headers)


def soon(status: int, message: str = "not now") -> Answer:
    """Answer with a failure after which the client may try again at once."""
    return refusal(status, message, headers={"Retry-After-Ms": "1"})


def silence(exchange: Exchange) -> None:
    """Answer nothing until the server closes."""
    exchange.server.script.closing.wait()
    exchange.close_connection = True


# Streams


def delta(finish_reason: Any = None, **change: Any) -> dict[str, Any]:
    """Return a stream's chunk."""
    choice = {"index": 0, "delta": change, "finish_reason": finish_reason}
    return {"object": "chat.completion.chunk", "model": "test-model", "choices": [choice]}


def fragment(
    arguments: Any = None, *, index: Any = 0, call_id: Any = None, name: Any = None
) -> dict[str, Any]:
    """Return a chunk with a piece of a tool call; what is None is not there."""
    function = {"name": name, "arguments": arguments}
    given = {
        "index": index,
        "id": call_id,
        "function": {key: value for key, value in function.items() if value is not None},
    }
    return delta(tool_calls=[{key: value for key, value in given.items() if value is not None}])


USAGE = {
    "choices": [],
    "model": "test-model",
    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
}


def stream(
    *chunks: dict[str, Any] | bytes, piece: int | None = None, done: bool = True, cut: bool = False
) -> Answer:
    """Answer with a stream of chunks, in pieces of `piece` bytes.

    `done`: whether the end mark comes. `cut`: whether the connection breaks instead of ending.
    """

    data = b"".join(map(_event, chunks)) + (b"data: [DONE]\n\n" if done else b"")
    return streamed(data, piece=piece, cut=cut)


def streamed(
    data: bytes,
    *,
    content_type: str = "text/event-stream",
    piece: int | None = None,
    cut: bool = False,
) -> Answer:
    """Answer with any bytes, in pieces of `piece` bytes; `cut` breaks instead of ending."""

    def write(exchange: Exchange) -> None:
        exchange.start(200, {"Content-Type": content_type})
        size = piece or len(data)
        for start in range(0, len(data), size):
            exchange.send_chunk(data[start : start + size])
        if cut:
            exchange.close_connection = True
        else:
            exchange.send_chunk(b"")

    return write


def endless(chunk: dict[str, Any] | bytes) -> Answer:
    """Answer with the same chunk again and again, until the client hangs up."""

    def write(exchange: Exchange) -> None:
        exchange.start(200, {"Content-Type": "text/event-stream"})
        with suppress(OSError):
            while not exchange.server.script.closing.is_set():
                exchange.send_chunk(_event(chunk))
        exchange.close_connection = True
        exchange.server.script.hung_up.set()

    return write


def _event(chunk: dict[str, Any] | bytes) -> bytes:
    data = chunk if isinstance(chunk, bytes) else json.dumps(chunk, ensure_ascii=False).encode()
    return b"data: " + data + b"\n\n"
