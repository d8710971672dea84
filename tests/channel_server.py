"""A loopback server that speaks the documented APIs of Telegram, Discord and Slack."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any, Self

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]
HANG_UP: Answer = (0, None)
"""For an answer: the request is taken and the connection closed."""


@dataclass
class Received:
    """A request as it came."""

    method: str
    path: str
    body: dict[str, Any]
    headers: dict[str, str]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing: clients that hang up are part of the tests."""


@dataclass
class ServiceServer:
    """Answers what `answer(request)` says, by default as a service that is content."""

    answer: Callable[[Received], Answer | None] = lambda request: None
    received: list[Received] = field(default_factory=list)
    updates: "Queue[dict[str, Any]]" = field(default_factory=Queue)
    unconfirmed: list[dict[str, Any]] = field(default_factory=list)
    at: int = 0

    def __enter__(self) -> Self:
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                service.reply(self, "GET")

            def do_POST(self) -> None:
                service.reply(self, "POST")

            def log_message(self, *_: Any) -> None:
                pass

        self._http = _Server(("127.0.0.1", self.at), Handler)
        Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    def reply(self, handler: Any, method: str) -> None:
        raw = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        request = Received(method, handler.path, json.loads(raw or b"{}"), dict(handler.headers))
        self.received.append(request)
        answer = self.answer(request) or self._content(request)
        if answer is HANG_UP:
            handler.close_connection = True
            return
        status, content, headers = (*answer, {})[:3]
        as_text = isinstance(content, str)
        body = content.encode() if as_text else json.dumps(content).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "text/plain" if as_text else "application/json")
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def _content(self, request: Received) -> Answer:
        if request.path.endswith("/getUpdates"):
            return 200, {"ok": True, "result": self._updates_from(request.body["offset"])}
        if request.path.startswith("/services/"):  # a webhook of Slack
            return (200, "ok") if request.body else (400, "no_text")
        return 200, {"ok": True, "result": {"id": 1, "username": "a_bot"}}

    def _updates_from(self, offset: int) -> list[dict[str, Any]]:
        """Return the updates that were not confirmed by an offset past them, else the next one."""
        self.unconfirmed = [one for one in self.unconfirmed if one.get("update_id", 0) >= offset]
        if not self.unconfirmed and (update := self.updates.get(timeout=30)):
            self.unconfirmed.append(update)
        return list(self.unconfirmed)

    def texts(self) -> list[str]:
        """Return the texts that were sent."""
        bodies = [one.body for one in self.received]
        return [_text(body) for body in bodies if body]


def _text(body: dict[str, Any]) -> str:
    attachments = body.get("attachments") or [{}]
    return str(body.get("text") or body.get("content") or attachments[0].get("text"))
