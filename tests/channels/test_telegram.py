from collections.abc import Iterator
from threading import enumerate as enumerate_threads
from typing import Any

import pytest

from channel_server import Received, ServiceServer
from openjarvis import Jarvis
from openjarvis.channels import telegram
from openjarvis.channels.base import ChannelMessage, ChannelStatus
from openjarvis.channels.telegram import TelegramChannel
from openjarvis.config import ChannelConfig
from openjarvis.testing import ScriptedEngine, calls, says
from waiting import eventually

TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"


@pytest.fixture
def bot(service: ServiceServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[TelegramChannel]:
    monkeypatch.setattr(telegram, "FIRST_PAUSE", 0.02)
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
    assert eventually(lambda: _offset(service) == 11)


def _offset(service: ServiceServer) -> int:
    polls = [one.body["offset"] for one in service.received if one.path.endswith("getUpdates")]
    return int(polls[-1]) if polls else 0


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


@pytest.mark.parametrize(
    "update",
    [
        {"message": {"text": "without a number"}},
        {"update_id": "x", "message": {"text": "a number that is none"}},
        {"update_id": 1, "message": {"text": "without a chat"}},
        {"update_id": 1, "message": {"text": "hi", "chat": {"id": 4242}, "from": "nobody"}},
        {"update_id": 1, "message": {"text": ["hi"], "chat": {"id": 4242}}},
        "nonsense",
    ],
)
def test_updates_that_are_malformed_are_passed_over(
    bot: TelegramChannel, service: ServiceServer, update: Any
) -> None:
    first = [update]
    received: list[str] = []
    bot.on_message(lambda one: received.append(one.content))
    service.answer = lambda request: (
        (200, {"ok": True, "result": [first.pop()]})
        if request.path.endswith("/getUpdates") and first
        else None
    )
    bot.connect()
    service.updates.put(message(3, 4242, "hello"))

    assert eventually(lambda: "hello" in received)


@pytest.mark.parametrize(
    "answer",
    [
        (200, []),
        (200, "<html>"),
        (200, {"ok": True, "result": {"a": 1}}),
        (429, {"ok": False, "parameters": {"retry_after": 0.01}}),
        (429, {"ok": False, "parameters": {"retry_after": None}}),
        (429, {"ok": False, "parameters": {"retry_after": "soon"}}),
        (429, {"ok": False, "parameters": {"retry_after": -5}}),
        (429, {"ok": False, "parameters": []}),
        (500, {"ok": False, "description": ["?"]}),
        (502, "<html>bad gateway</html>"),
    ],
)
def test_an_answer_that_is_none_is_tried_again(
    bot: TelegramChannel, service: ServiceServer, answer: tuple[int, Any]
) -> None:
    answers = [answer, answer]
    service.answer = lambda request: (
        answers.pop() if request.path.endswith("/getUpdates") and answers else None
    )
    received: list[str] = []
    bot.on_message(lambda one: received.append(one.content))
    bot.connect()
    service.updates.put(message(3, 4242, "hello"))

    assert eventually(lambda: received == ["hello"])


def test_another_program_that_receives_is_told_as_long_as_it_does(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    conflict = [True]
    description = "Conflict: terminated by other getUpdates request"

    def answer(request: Received) -> tuple[int, Any] | None:
        if request.path.endswith("/getUpdates") and conflict:
            return 409, {"ok": False, "description": description}
        return None

    service.answer = answer
    received: list[str] = []
    bot.on_message(lambda one: received.append(one.content))
    bot.connect()

    assert eventually(lambda: "Conflict" in bot.look()[1])
    assert bot.status() is ChannelStatus.ERROR
    conflict.clear()
    service.updates.put(message(3, 4242, "hello"))
    assert eventually(lambda: received == ["hello"])
    assert bot.status() is ChannelStatus.CONNECTED


def test_receiving_goes_on_after_the_network_was_lost(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    received: list[str] = []
    bot.on_message(lambda one: received.append(one.content))
    bot.plugin()
    service.__exit__()
    bot.connect()

    assert eventually(lambda: bot.status() is ChannelStatus.DISCONNECTED)
    with ServiceServer(at=service.port) as back:
        back.updates.put(message(3, 4242, "hello"))
        assert eventually(lambda: received == ["hello"])
        bot.disconnect()
        back.updates.put({})


def test_a_message_is_taken_once_also_after_a_restart(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    received: list[str] = []
    bot.on_message(lambda one: received.append(one.content))
    bot.connect()
    service.updates.put(message(10, 4242, "first"))
    assert eventually(lambda: _offset(service) == 11)

    bot.disconnect()
    again = TelegramChannel("tg", ChannelConfig(url=f"tgram://{TOKEN}/4242", attempts=1))
    again.on_message(lambda one: received.append(one.content))
    again.connect()
    service.updates.put({})
    service.updates.put(message(11, 4242, "second"))

    assert eventually(lambda: "second" in received)
    again.disconnect()
    service.updates.put({})
    assert received == ["first", "second"]


def test_a_channel_that_is_connected_anew_receives_again(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    received: list[str] = []
    bot.on_message(lambda one: received.append(one.content))

    for number in range(3):
        bot.connect()
        service.updates.put(message(number, 4242, f"message {number}"))
        assert eventually(lambda number=number: f"message {number}" in received)
        bot.disconnect()
        service.updates.put({})

    assert received == ["message 0", "message 1", "message 2"]


def test_nothing_is_taken_after_disconnecting(bot: TelegramChannel, service: ServiceServer) -> None:
    received: list[str] = []
    bot.on_message(lambda one: received.append(one.content))
    bot.connect()
    assert eventually(lambda: any(one.path.endswith("getUpdates") for one in service.received))

    bot.disconnect()
    service.updates.put(message(3, 4242, "too late"))

    assert eventually(lambda: not any(one.name == "openjarvis-tg" for one in enumerate_threads()))
    assert received == []


def test_an_agent_may_answer(bot: TelegramChannel, service: ServiceServer) -> None:
    engine = ScriptedEngine([calls("calculator", expression="6*7"), says("It is 42.")])
    with Jarvis(engine=engine, model="scripted") as jarvis:
        bot.on_message(lambda one: jarvis.ask(one.content, tools=["calculator"]))
        bot.connect()
        service.updates.put(message(1, 4242, "What is 6*7?"))

        assert eventually(lambda: "It is 42." in service.texts())
