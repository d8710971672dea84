"""A web server for tests: raw answers by path, served on loopback, with what it was asked kept."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Answer = bytes | Callable[[socket.socket], None]


def answer(
    body: bytes = b"", *, status: str = "200 OK", headers: dict[str, str] | None = None
) -> bytes:
    """Return a whole HTTP answer."""
    lines = {"Content-Length": str(len(body)), "Connection": "close", **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def redirect(target: str, status: str = "302 Found") -> bytes:
    return answer(status=status, headers={"Location": target})


@dataclass
class Loopback:
    """Answers by path; `requests` holds each request as it came."""

    answers: dict[str, Answer]
    port: int = 0
    requests: list[bytes] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.place}{path}"

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            request = _request(connection)
            self.requests.append(request)
            path = request.split(b" ")[1].decode() if b" " in request else ""
            reply = self.answers.get(path.partition("?")[0], answer(status="404 Not Found"))
            if callable(reply):
                reply(connection)
            else:
                connection.sendall(reply)


def _request(connection: socket.socket) -> bytes:
    text = b""
    while b"\r\n\r\n" not in text:
        part = connection.recv(65536)
        if not part:
            return text
        text += part
    head, _, body = text.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            while len(body) < int(value):
                body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


@contextmanager
def serving(answers: dict[str, Answer]) -> Iterator[Loopback]:
    """Serve `answers` on a free port of 127.0.0.1 for as long as the block lasts."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Loopback(answers, port=listener.getsockname()[1])
    thread = threading.Thread(target=server.serve, args=(listener,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
