from collections.abc import Iterator
from typing import Any

import pytest

from channel_server import ServiceServer
from openjarvis.channels.base import ChannelMessage, ChannelStatus
from openjarvis.channels.telegram import TelegramChannel
from openjarvis.config import ChannelConfig
from waiting import eventually

TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"


@pytest.fixture
def bot(service: ServiceServer) -> Iterator[TelegramChannel]:
    channel = TelegramChannel("tg", ChannelConfig(url=f"tgram://{TOKEN}/4242", attempts=1))
    yield channel
    channel.disconnect()
    service.updates.put({})


def message(number: int, chat: int, text: str) -> dict[str, Any]:
    return {
        "update_id": number,
        "message": {
            "message_id": number,
            "from": {"id": 7, "username": "ann"},
            "chat": {"id": chat},
            "text": text,
        },
    }


def test_a_message_reaches_the_handler_and_its_answer_the_chat(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    received: list[ChannelMessage] = []

    def answer(one: ChannelMessage) -> str:
        received.append(one)
        return f"you said {one.content}"

    bot.on_message(answer)
    bot.connect()
    service.updates.put(message(10, 4242, "hello"))

    assert eventually(lambda: "you said hello" in service.texts())
    assert (received[0].sender, received[0].conversation_id) == ("ann", "4242")
    sent = next(one for one in service.received if one.path.endswith("sendMessage"))
    assert str(sent.body["chat_id"]) == "4242"
    polled = [one.body["offset"] for one in service.received if one.path.endswith("getUpdates")]
    assert eventually(lambda: polled[-1] == 11 or _offset(service) == 11)


def _offset(service: ServiceServer) -> int:
    polls = [one.body["offset"] for one in service.received if one.path.endswith("getUpdates")]
    return int(polls[-1])


def test_chats_that_are_not_in_the_address_are_not_listened_to(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    received: list[str] = []
    bot.on_message(lambda one: received.append(one.content))
    bot.connect()
    service.updates.put(message(1, 666, "let me in"))
    service.updates.put(message(2, 4242, "hello"))

    assert eventually(lambda: received == ["hello"])


def test_a_handler_that_raises_does_not_stop_the_next(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    def broken(one: ChannelMessage) -> str:
        raise ValueError("broken")

    bot.on_message(broken)
    bot.on_message(lambda one: "still here")
    bot.connect()
    service.updates.put(message(1, 4242, "hello"))

    assert eventually(lambda: "still here" in service.texts())


def test_a_refused_token_is_an_error_that_the_status_tells(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    service.answer = lambda request: (401, {"ok": False, "description": "Unauthorized"})
    bot.connect()

    assert eventually(lambda: "Unauthorized" in bot.look()[1])
    assert bot.status() is ChannelStatus.ERROR


def test_updates_that_are_no_messages_are_passed_over(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    received: list[str] = []
    bot.on_message(lambda one: received.append(one.content))
    bot.connect()
    service.updates.put({"update_id": 1, "edited_message": {}})
    service.updates.put({"update_id": 2, "message": {"chat": {"id": 4242}}})
    service.updates.put(message(3, 4242, "hello"))

    assert eventually(lambda: received == ["hello"])
