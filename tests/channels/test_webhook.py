import json
import logging
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from threading import Event, Semaphore
from typing import Any

import httpx2
import pytest

from channel_server import ServiceServer
from openjarvis.channels import webhook
from openjarvis.channels.base import ChannelError, ChannelMessage, ChannelStatus
from openjarvis.channels.webhook import (
    MAX_AGE_SECONDS,
    MAX_AHEAD_SECONDS,
    MAX_BODY,
    MAX_CONNECTIONS,
    Seal,
    WebhookChannel,
    signature,
)
from openjarvis.config import ChannelConfig
from waiting import eventually

SECRET = "a secret of enough characters"


@pytest.fixture
def hook() -> Iterator[WebhookChannel]:
    """A webhook that was started a while ago: a new one waits for the next second."""
    channel = WebhookChannel("hook", ChannelConfig(listen="127.0.0.1:0", secret=SECRET))
    clock = chain([time.time() - 1], iter(time.time, None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webhook, "Seal", lambda secret: Seal(secret, now=lambda: next(clock)))
        channel.connect()
    yield channel
    channel.disconnect()


def post(hook: WebhookChannel, content: Any, **changed: str) -> httpx2.Response:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    timestamp = changed.get("timestamp", str(int(time.time())))
    headers = {
        "X-Timestamp": timestamp,
        "X-Signature-256": changed.get("signature", signature(SECRET, timestamp, body)),
    }
    return httpx2.post(f"http://127.0.0.1:{hook.port}/", content=body, headers=headers)


def test_a_signed_message_is_answered_by_the_handlers(hook: WebhookChannel) -> None:
    hook.on_message(lambda one: f"{one.sender} said {one.content}")

    answer = post(hook, {"content": "hello", "sender": "ann"})

    assert (answer.status_code, answer.json()) == (200, {"answers": ["ann said hello"]})
    assert hook.status() is ChannelStatus.CONNECTED


def test_forged_old_and_repeated_requests_are_refused(hook: WebhookChannel) -> None:
    received: list[ChannelMessage] = []
    hook.on_message(received.append)  # type: ignore[arg-type]
    message = {"content": "pay"}
    old = str(int(time.time()) - MAX_AGE_SECONDS - 60)

    first = post(hook, message, timestamp=(now := str(int(time.time()))))
    refused = [
        post(hook, message, timestamp=now),
        post(hook, message, signature="sha256=00"),
        post(hook, message, signature=""),
        post(hook, message, timestamp=old),
        post(hook, message, timestamp="nan"),
    ]

    assert first.status_code == 200
    assert [one.status_code for one in refused] == [401] * 5
    assert len(received) == 1


def test_a_request_that_was_taken_is_refused_after_connecting_anew(hook: WebhookChannel) -> None:
    message, now = {"content": "pay"}, str(int(time.time()))

    first = post(hook, message, timestamp=now)
    hook.disconnect()
    hook.connect()

    assert (first.status_code, post(hook, message, timestamp=now).status_code) == (200, 401)


@pytest.mark.parametrize("timestamp", ["999999", "1000000"])
def test_a_request_that_was_not_made_after_the_start_is_refused(timestamp: str) -> None:
    clock = [1_000_000.9]
    seal = Seal(SECRET, now=lambda: clock[0])

    assert "before this program" in seal.fault(signature(SECRET, timestamp, b"x"), timestamp, b"x")
    assert seal.fault(signature(SECRET, "1000001", b"x"), "1000001", b"x") == ""


def test_a_request_from_the_future_is_refused() -> None:
    seal = Seal(SECRET, now=lambda: 1_000_000.0)
    near, far = str(1_000_000 + MAX_AHEAD_SECONDS), str(1_000_001 + MAX_AHEAD_SECONDS)

    assert seal.fault(signature(SECRET, near, b"x"), near, b"x") == ""
    assert "ahead" in seal.fault(signature(SECRET, far, b"x"), far, b"x")


def test_what_was_taken_is_refused_after_a_restart_though_the_clock_of_the_sender_is_ahead(
    hook: WebhookChannel,
) -> None:
    message, ahead = {"content": "pay"}, str(int(time.time()) + 2)
    again = WebhookChannel("hook", ChannelConfig(listen="127.0.0.1:0", secret=SECRET))

    first = post(hook, message, timestamp=ahead)
    hook.disconnect()
    again.connect()
    answers = [first, post(again, message, timestamp=ahead), post(again, {"content": "new"})]
    again.disconnect()

    assert [one.status_code for one in answers] == [200, 401, 200]


def test_a_message_that_a_handler_failed_at_is_answered_500_and_may_be_sent_again(
    hook: WebhookChannel,
) -> None:
    failures = [SystemExit(), ValueError("db is down")]

    def fragile(message: ChannelMessage) -> str:
        if failures:
            raise failures.pop()
        return "done"

    hook.on_message(lambda message: "heard")
    hook.on_message(fragile)
    now = str(int(time.time()))

    answers = [post(hook, {"content": "pay"}, timestamp=now) for _ in range(4)]

    failed = {"error": "the message could not be handled"}
    assert [one.status_code for one in answers] == [500, 500, 200, 401]
    assert [one.json() for one in answers[:3]] == [failed, failed, {"answers": ["heard", "done"]}]


def test_the_log_shows_no_escapes_and_no_secrets(
    hook: WebhookChannel, caplog: pytest.LogCaptureFixture
) -> None:
    line = b"POST /\x1b[31mEVIL\x1b[0m?token=QSSECRET1 HTTP/1.1\r\nContent-Length: 0\r\n\r\n"

    with caplog.at_level(logging.DEBUG), raw(hook, line) as connection:
        assert b" 401 " in connection.recv(1_000)

    assert eventually(lambda: "EVIL" in caplog.text)
    assert "\x1b" not in caplog.text
    assert "QSSECRET1" not in caplog.text


@pytest.mark.parametrize("host", ["[::1]", "localhost"])
def test_any_address_of_this_machine_can_be_listened_on(host: str) -> None:
    channel = WebhookChannel("hook", ChannelConfig(listen=f"{host}:0", secret=SECRET))
    channel.connect()

    assert channel.status() is ChannelStatus.CONNECTED
    channel.disconnect()
    assert channel.status() is ChannelStatus.DISCONNECTED


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"content": 1}', b"\xff", b"[" * 10_000])
def test_what_is_no_message_is_refused(hook: WebhookChannel, body: bytes) -> None:
    assert post(hook, body).status_code == 400


def test_a_body_past_the_limit_is_not_read(hook: WebhookChannel) -> None:
    assert post(hook, b"x" * 70_000).status_code == 413


def raw(hook: WebhookChannel, sent: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", hook.port), 10)
    connection.sendall(sent)
    return connection


def dripped(connection: socket.socket, pieces: Iterator[bytes]) -> float:
    """Send a piece now and then until the other side hangs up; return how long that took."""
    began = time.monotonic()
    connection.settimeout(0.02)
    while True:
        try:
            connection.sendall(next(pieces))
            if connection.recv(1) == b"":
                return time.monotonic() - began
        except TimeoutError:
            assert time.monotonic() - began < 10
        except OSError:
            return time.monotonic() - began


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"POST / HTTP/1.1\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 60000\r\n\r\n",
    ],
)
def test_who_sends_drop_by_drop_is_hung_up_on(
    hook: WebhookChannel, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(webhook, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(webhook, "READ_SECONDS", 0.6)
    drops = iter(lambda: b"x", b"")  # no wait between two is as long as the limit

    with raw(hook, begun) as connection:
        assert dripped(connection, drops) < 5


def test_a_head_has_less_time_than_a_body(
    hook: WebhookChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "HEAD_SECONDS", 0.3)

    with raw(hook, b"POST / HTTP/1.1\r\n") as silent:
        assert silent.recv(1) == b""
    with raw(hook, b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n") as slow:
        slow.settimeout(0.6)
        with pytest.raises(TimeoutError):
            slow.recv(1)
        slow.sendall(b"x")
        slow.settimeout(10)
        assert b" 401 " in slow.recv(1_000)


def test_when_too_many_requests_are_on_their_way_the_oldest_is_hung_up_on(
    hook: WebhookChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "HEAD_SECONDS", 60.0)
    waiting = [raw(hook) for _ in range(MAX_CONNECTIONS)]

    answer = post(hook, {"content": "hello"})

    assert answer.status_code == 200
    assert _hung_up_on(waiting[0])
    for one in waiting[1:]:
        one.settimeout(0.001)
        with one, pytest.raises(TimeoutError):
            one.recv(1)


def test_a_request_that_is_being_handled_is_in_nobodys_way(
    hook: WebhookChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "MAX_CONNECTIONS", 1)
    begun, go_on = Semaphore(0), Event()

    def slowly(message: ChannelMessage) -> str:
        begun.release()
        assert go_on.wait(10)
        return message.content

    hook.on_message(slowly)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(post, hook, {"content": "first"})
        assert begun.acquire(timeout=10)
        second = pool.submit(post, hook, {"content": "second"})
        assert begun.acquire(timeout=10)
        with raw(hook) as idle:
            third = pool.submit(post, hook, {"content": "third"})
            assert begun.acquire(timeout=10)
            go_on.set()
            assert idle.recv(1) == b""

    answers = [one.result().json()["answers"] for one in (first, second, third)]
    assert answers == [["first"], ["second"], ["third"]]


def _hung_up_on(connection: socket.socket) -> bool:
    with connection:
        try:
            return connection.recv(1) == b""
        except ConnectionError:
            return True


def test_a_handler_that_takes_long_is_waited_for(
    hook: WebhookChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "READ_SECONDS", 0.1)

    def slowly(message: ChannelMessage) -> str:
        time.sleep(0.3)
        return "done"

    hook.on_message(slowly)

    assert post(hook, {"content": "hello"}).json() == {"answers": ["done"]}


@pytest.mark.parametrize(
    "request_head",
    [
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY + 1),
    ],
)
def test_a_body_of_no_length_or_too_great_a_one_is_refused(
    hook: WebhookChannel, request_head: bytes
) -> None:
    with raw(hook, request_head) as connection:
        assert b" 413 " in connection.recv(1_000)


def test_the_status_is_what_a_look_from_outside_finds(hook: WebhookChannel) -> None:
    settings = ChannelConfig(listen=f"127.0.0.1:{hook.port}", secret=SECRET)
    elsewhere = WebhookChannel("hook", settings)

    assert elsewhere.look() == (
        ChannelStatus.CONNECTED,
        f"a webhook answers at 127.0.0.1:{hook.port}",
    )
    hook.disconnect()
    assert elsewhere.status() is ChannelStatus.DISCONNECTED


def test_another_server_at_the_address_is_no_webhook(service: ServiceServer) -> None:
    settings = ChannelConfig(listen=f"127.0.0.1:{service.port}", secret=SECRET)

    status, seen = WebhookChannel("hook", settings).look()

    assert status is ChannelStatus.ERROR
    assert "something else" in seen


def test_a_request_may_be_made_again_only_when_it_is_too_old_to_be_believed() -> None:
    clock = [1_000_000.0]
    seal = Seal(SECRET, now=lambda: clock[0])
    clock[0] += 1
    signed = signature(SECRET, "1000001", b"x")

    assert seal.fault(signed, "1000001", b"x") == ""
    clock[0] += MAX_AGE_SECONDS
    assert "made before" in seal.fault(signed, "1000001", b"x")
    clock[0] += MAX_AGE_SECONDS * 3
    assert "too old" in seal.fault(signed, "1000001", b"x")


@pytest.mark.parametrize(
    ("listen", "secret", "reason"),
    [
        ("127.0.0.1:0", "short", "at least 16"),
        ("nonsense", SECRET, "no HOST:PORT"),
        ("::1:8090", SECRET, "no HOST:PORT"),
        ("127.0.0.1:²", SECRET, "no HOST:PORT"),
        ("127.0.0.1:99999", SECRET, "cannot be listened on"),
    ],
)
def test_settings_that_are_unsafe_or_wrong_are_refused(
    listen: str, secret: str, reason: str
) -> None:
    with pytest.raises(ChannelError, match=reason):
        WebhookChannel("hook", ChannelConfig(listen=listen, secret=secret)).connect()
