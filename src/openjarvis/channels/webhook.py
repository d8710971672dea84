"""A webhook that takes signed messages, each once, and answers with what the handlers say."""

import hashlib
import hmac
import io
import json
import logging
import re
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

import httpx2

from openjarvis.channels.apprise_channel import AppriseChannel
from openjarvis.channels.base import ChannelError, ChannelMessage, ChannelStatus
from openjarvis.config import ChannelConfig
from openjarvis.core.environment import filled
from openjarvis.core.strict_json import JSONRefused, loads
from openjarvis.safety.concealment import conceal, masked

_log = logging.getLogger("openjarvis.channels")

MAX_BODY = 65_536
MAX_AGE_SECONDS = 300
MAX_AHEAD_SECONDS = 5
SHORTEST_SECRET = 16
_SIGNATURE = "X-Signature-256"
_TIMESTAMP = "X-Timestamp"
_LONGEST_LENGTH = 9
_NAME = "openjarvis"
_PLACE = re.compile(r"(?:\[(?P<address>[^\]]+)\]|(?P<name>[^:]+)):(?P<port>[0-9]{1,9})")
_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where one that listens everywhere is

HEAD_SECONDS = 2.0
"""How long the head of a request may take to come, however many pieces it comes in."""

READ_SECONDS = 10.0
"""How long the whole of it may take."""

MAX_CONNECTIONS = 64
"""How many requests may be on their way; for a further one the oldest is hung up on."""


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return what a sender puts into `X-Signature-256`.

    It is `sha256=` and the HMAC of the text of `X-Timestamp` (seconds since 1970), a dot and the
    body.
    """
    digest = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"sha256={digest.hexdigest()}"


class Seal:
    """Tells genuine requests from forged, old and repeated ones.

    What was signed no later than the seal was made is refused: it may have been taken by an earlier
    one.
    """

    def __init__(self, secret: str, now: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._now = now
        self._since = now()
        self._seen: dict[str, float] = {}
        self._lock = Lock()

    def fault(self, given: str, timestamp: str, body: bytes) -> str:
        """Return what is wrong with a request, "" when it is to be believed."""
        expected = signature(self._secret, timestamp, body)
        if not hmac.compare_digest(given.encode(), expected.encode()):
            return "the signature is wrong"
        age = self._now() - float(timestamp) if timestamp.isdecimal() else float("inf")
        if age > MAX_AGE_SECONDS:
            return "the request is too old"
        if age < -MAX_AHEAD_SECONDS:
            return "the clock of the sender is ahead"
        if float(timestamp) <= self._since:
            return "the request was made before this program was there to take it"
        with self._lock:
            limit = self._now() - 2 * MAX_AGE_SECONDS
            self._seen = {key: at for key, at in self._seen.items() if at > limit}
            if expected in self._seen:
                return "the request was made before"
            self._seen[expected] = self._now()
        return ""

    def forget(self, given: str) -> None:
        """Let a request that was believed be made again, by its signature."""
        with self._lock:
            self._seen.pop(given, None)

    def wait_until(self, timestamp: float) -> None:
        """Return when it is `timestamp`."""
        while (left := timestamp - self._now()) > 0:
            Event().wait(left)

    def wait_until_ready(self) -> None:
        """Return when what is signed now is believed: in the next whole second."""
        self.wait_until(int(self._since) + 1)


class WebhookChannel(AppriseChannel):
    """Takes `{"content": …, "sender": …, "conversation_id": …}` by signed POST, answers JSON.

    With a `url` it also sends, through apprise.
    """

    def __init__(self, name: str, settings: ChannelConfig) -> None:
        super().__init__(name, settings)
        self._server: _Server | None = None
        self._seal: Seal | None = None

    @property
    def port(self) -> int:
        """The port that is listened on, 0 when none is."""
        return self._server.server_address[1] if self._server is not None else 0

    def connect(self) -> None:
        """Start to listen, in the next second: what is signed from then on is believed.

        Raises:
            ChannelError: when the secret is too short, or the address cannot be had.
        """
        if self._server is not None:
            return
        secret = filled(self._settings.secret, f"the channel {self.channel_id!r}")
        if len(secret) < SHORTEST_SECRET:
            raise ChannelError(
                f"The channel {self.channel_id!r} needs a `secret` of at least {SHORTEST_SECRET} "
                "characters."
            )
        conceal([secret])
        host, port = self._place()
        self._seal = self._seal or Seal(secret)
        self._seal.wait_until_ready()
        try:
            self._server = _Server((host, port), self, self._seal)
        except (OSError, OverflowError) as error:
            raise ChannelError(f"{self._settings.listen} cannot be listened on: {error}") from error
        Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.05},
            name=f"openjarvis-{self.channel_id}",
            daemon=True,
        ).start()

    def disconnect(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def list_channels(self) -> list[str]:
        return super().list_channels() if self._settings.url else []

    def plugin(self, conversation_id: str = "") -> Any:
        if not self._settings.url:
            raise ChannelError(
                f"The channel {self.channel_id!r} only receives; to send, it needs a `url` too."
            )
        return super().plugin(conversation_id)

    def _place(self) -> tuple[str, int]:
        """Return the host and the port to listen on.

        Raises:
            ChannelError: when the settings name none.
        """
        found = _PLACE.fullmatch(self._settings.listen)
        if found is None:
            raise ChannelError(f"{self._settings.listen!r} is no HOST:PORT to listen on.")
        return found["address"] or found["name"], int(found["port"])

    def look(self) -> tuple[ChannelStatus, str]:
        if self._settings.url:
            return super().look()
        try:
            host, port = self._place()
        except ChannelError as error:
            return ChannelStatus.ERROR, str(error)
        host = _HERE.get(host, host)
        place = f"{f'[{host}]' if ':' in host else host}:{self.port or port}"
        try:
            with httpx2.Client(timeout=self._settings.timeout_seconds, trust_env=False) as client:
                response = client.get(f"http://{place}/")
        except (httpx2.HTTPError, httpx2.InvalidURL):
            return ChannelStatus.DISCONNECTED, "not listening"
        if response.headers.get("Server") != _NAME:
            return ChannelStatus.ERROR, f"something else answers at {place}"
        return ChannelStatus.CONNECTED, f"a webhook answers at {place}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, address: tuple[str, int], channel: WebhookChannel, seal: Seal) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Request)
        self.channel = channel
        self.seal = seal
        self._arriving: dict[Any, None] = {}
        self._lock = Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._arriving) >= MAX_CONNECTIONS:
                oldest = next(iter(self._arriving))
                del self._arriving[oldest]
                with suppress(OSError):  # whoever it was has hung up
                    oldest.shutdown(socket.SHUT_RDWR)
            self._arriving[request] = None
        super().process_request(request, client_address)

    def note_arrival(self, request: Any) -> None:
        """Count a request no longer, since all of it is there or nothing more will come."""
        with self._lock:
            self._arriving.pop(request, None)

    def shutdown_request(self, request: Any) -> None:
        self.note_arrival(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        _log.debug("A webhook request broke off", exc_info=True)


class _Hurried(io.RawIOBase):
    """What comes over a connection, until the time for all of it is over."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._began = time.monotonic()
        self._until = self._began + HEAD_SECONDS

    def expect_body(self) -> None:
        """Give the rest of the request its time."""
        self._until = self._began + READ_SECONDS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long to come")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Request(BaseHTTPRequestHandler):
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._incoming = _Hurried(self.connection)
        self.rfile = io.BufferedReader(self._incoming)

    def version_string(self) -> str:
        return _NAME

    def do_GET(self) -> None:
        self._reply(405, {"error": "messages come by POST"})

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            self._reply(413, {"error": f"a body of at most {MAX_BODY} bytes is needed"})
            return
        self.server.note_arrival(self.connection)
        given, timestamp = self.headers.get(_SIGNATURE, ""), self.headers.get(_TIMESTAMP, "")
        fault = self.server.seal.fault(given, timestamp, body)
        if fault:
            _log.warning("%s: refused: %s", self.server.channel.channel_id, fault)
            self._reply(401, {"error": fault})
            return
        message = self._message(body)
        if message is None:
            self._reply(400, {"error": 'expected {"content": "…"}'})
            return
        # Taken no earlier than it was signed, it is too old for the program that is started next.
        self.server.seal.wait_until(float(timestamp))
        try:
            self._reply(200, {"answers": self.server.channel.answers(message, strict=True)})
        except ChannelError as error:
            self.server.seal.forget(given)
            self._reply(500, {"error": str(error)})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        _log.debug("%s", masked(format % args))

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > _LONGEST_LENGTH or int(length) > MAX_BODY:
            return None
        self._incoming.expect_body()
        return self.rfile.read(int(length))

    def _message(self, body: bytes) -> ChannelMessage | None:
        try:
            told = loads(body.decode())
        except (UnicodeDecodeError, JSONRefused):
            return None
        if not isinstance(told, dict) or not isinstance(told.get("content"), str):
            return None
        return ChannelMessage(
            self.server.channel.channel_id,
            str(told.get("sender", "")),
            told["content"],
            str(told.get("message_id", "")),
            str(told.get("conversation_id", "")),
        )

    def _reply(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.connection.settimeout(READ_SECONDS)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
