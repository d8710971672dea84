import json
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from openjarvis.channels.base import ChannelError, ChannelMessage, ChannelStatus
from openjarvis.channels.webhook import MAX_AGE_SECONDS, Seal, WebhookChannel, signature
from openjarvis.config import ChannelConfig

SECRET = "a secret of enough characters"


@pytest.fixture
def hook() -> Iterator[WebhookChannel]:
    channel = WebhookChannel("hook", ChannelConfig(listen="127.0.0.1:0", secret=SECRET))
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


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"content": 1}', b"\xff", b"[" * 10_000])
def test_what_is_no_message_is_refused(hook: WebhookChannel, body: bytes) -> None:
    assert post(hook, body).status_code == 400


def test_a_body_past_the_limit_is_not_read(hook: WebhookChannel) -> None:
    assert post(hook, b"x" * 70_000).status_code == 413


def test_a_request_may_be_made_again_only_when_it_is_too_old_to_be_believed() -> None:
    clock = [1_000_000.0]
    seal = Seal(SECRET, now=lambda: clock[0])
    signed = signature(SECRET, "1000000", b"x")

    assert seal.fault(signed, "1000000", b"x") == ""
    clock[0] += MAX_AGE_SECONDS
    assert "before" in seal.fault(signed, "1000000", b"x")
    clock[0] += MAX_AGE_SECONDS * 3
    assert "too old" in seal.fault(signed, "1000000", b"x")


@pytest.mark.parametrize(
    ("listen", "secret", "reason"),
    [
        ("127.0.0.1:0", "short", "at least 16"),
        ("nonsense", SECRET, "no HOST:PORT"),
        ("127.0.0.1:99999", SECRET, "cannot be listened on"),
    ],
)
def test_settings_that_are_unsafe_or_wrong_are_refused(
    listen: str, secret: str, reason: str
) -> None:
    with pytest.raises(ChannelError, match=reason):
        WebhookChannel("hook", ChannelConfig(listen=listen, secret=secret)).connect()
