from collections.abc import Iterator
from threading import Event, current_thread, get_ident
from threading import enumerate as enumerate_threads
from typing import Any

import pytest

from channel_server import Received, ServiceServer
from openjarvis import Jarvis
from openjarvis.channels import inbox, polling
from openjarvis.channels.base import ChannelError, ChannelMessage, ChannelStatus
from openjarvis.channels.telegram import TelegramChannel
from openjarvis.config import ChannelConfig
from openjarvis.testing import ScriptedEngine, calls, says
from waiting import eventually

TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"


@pytest.fixture
def bot(service: ServiceServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[TelegramChannel]:
    monkeypatch.setattr(polling, "FIRST_PAUSE", 0.02)
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


def heard_by(bot: TelegramChannel) -> list[str]:
    """Return the list that grows by each message that the bot's handler gets."""
    heard: list[str] = []
    bot.on_message(lambda one: heard.append(one.content))
    return heard


def answer_polls(service: ServiceServer, answers: list[Any]) -> None:
    """Have the next polls answered with these, the last one first; then as always."""
    service.answer = lambda request: (
        answers.pop() if request.path.endswith("/getUpdates") and answers else None
    )


def deliver(service: ServiceServer, *batches: list[Any]) -> None:
    """Have the next polls answered with these updates, in their order."""
    answer_polls(service, [(200, {"ok": True, "result": batch}) for batch in reversed(batches)])


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
    received = heard_by(bot)
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


@pytest.mark.parametrize("status", [401, 403, 404])
def test_receiving_goes_on_after_a_refusal_that_passes(
    bot: TelegramChannel, service: ServiceServer, status: int
) -> None:
    refusals = [(status, {"ok": False})] * 2
    answer_polls(service, refusals)
    received = heard_by(bot)
    bot.connect()
    service.updates.put(message(3, 4242, "hello"))

    assert eventually(lambda: received == ["hello"])
    assert bot.status() is ChannelStatus.CONNECTED


def test_a_thread_that_has_died_is_an_error_that_the_status_tells(
    bot: TelegramChannel, service: ServiceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling.Polling, "_run", lambda self: None)
    bot.connect()

    assert eventually(lambda: "broke off" in bot.look()[1])
    assert bot.status() is ChannelStatus.ERROR


@pytest.mark.parametrize(
    "answers",
    [
        [[message(1, 4242, "a"), message(1, 4242, "a"), message(2, 4242, "b")]],
        [[message(1, 4242, "a")], [message(1, 4242, "a"), message(2, 4242, "b")]],
        [[message(2, 4242, "b"), message(1, 4242, "a")]],
        [[message(1, 4242, "a")], [message(2, 4242, "b")], [message(1, 4242, "a")]],
    ],
)
def test_an_update_is_taken_once_and_in_its_order(
    bot: TelegramChannel, service: ServiceServer, answers: list[list[dict[str, Any]]]
) -> None:
    deliver(service, *answers, [message(3, 4242, "c")])
    received = heard_by(bot)
    bot.connect()

    assert eventually(lambda: "c" in received)
    assert received == ["a", "b", "c"]


def test_updates_that_are_numbered_anew_are_taken(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    deliver(service, [message(900, 4242, "last week")], [message(7, 4242, "now")])
    received = heard_by(bot)
    bot.connect()

    assert eventually(lambda: received == ["last week", "now"])
    assert eventually(lambda: _offset(service) == 8)


def test_a_storm_of_messages_is_handled_by_one_thread_a_chat_and_in_order(
    service: ServiceServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(polling, "FIRST_PAUSE", 0.02)
    let_go = Event()
    received: dict[str, list[str]] = {"1": [], "2": []}
    threads: dict[str, set[str]] = {"1": set(), "2": set()}

    def slowly(one: ChannelMessage) -> None:
        threads[one.conversation_id].add(current_thread().name + str(get_ident()))
        let_go.wait(20)
        received[one.conversation_id].append(one.content)

    storm = [message(number, 1 + number % 2, str(number)) for number in range(2_000)]
    polls = [storm[2:], storm[:2]]

    def answer(request: Received) -> tuple[int, Any] | None:
        if not request.path.endswith("/getUpdates") or not polls:
            return None
        assert len(polls) == 2 or eventually(lambda: all(threads.values()))
        return 200, {"ok": True, "result": polls.pop()}

    service.answer = answer
    bot = TelegramChannel("tg", ChannelConfig(url=f"tgram://{TOKEN}/1/2", attempts=1))
    bot.on_message(slowly)
    bot.connect()

    assert eventually(lambda: _offset(service) == 2_000)
    let_go.set()
    assert eventually(lambda: all(len(one) == inbox.MAX_WAITING + 1 for one in received.values()))
    bot.disconnect()
    service.updates.put({})
    assert [len(one) for one in threads.values()] == [1, 1]
    assert received["1"] == [str(number) for number in range(0, 2 * inbox.MAX_WAITING + 2, 2)]
    assert "a message is dropped" in caplog.text


def test_messages_that_come_while_one_is_answered_are_answered_after_it(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    let_go = Event()
    bot.on_message(lambda one: f"answer to {one.content}" if let_go.wait(20) else None)
    bot.connect()
    for number in range(5):
        service.updates.put(message(number, 4242, str(number)))

    assert eventually(lambda: _offset(service) == 5)
    let_go.set()
    assert eventually(lambda: "answer to 4" in service.texts())
    answers = [one for one in service.texts() if one.startswith("answer")]
    assert answers == [f"answer to {number}" for number in range(5)]


def test_a_handler_that_ends_its_thread_does_not_make_the_chat_deaf(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    received: list[str] = []

    def leaves(one: ChannelMessage) -> None:
        received.append(one.content)
        raise SystemExit

    bot.on_message(leaves)
    bot.connect()
    service.updates.put(message(1, 4242, "one"))
    service.updates.put(message(2, 4242, "two"))

    assert eventually(lambda: received == ["one", "two"])


def test_an_answer_without_end_is_given_up(
    bot: TelegramChannel, service: ServiceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "MAX_ANSWER", 1_000)
    long = [(200, {"ok": True, "result": [message(1, 4242, "x" * 2_000)]})]
    answer_polls(service, long)
    received = heard_by(bot)
    bot.connect()
    service.updates.put(message(3, 4242, "hello"))

    assert eventually(lambda: received == ["hello"])


@pytest.mark.parametrize(
    ("conversation", "chat", "topic"),
    [
        ("111", 111, None),
        ("-100123", -100123, 7),
        ("-100123:9", -100123, 9),
        ("@club", "@club", None),
    ],
)
def test_a_conversation_is_one_chat_of_the_address_with_its_settings(
    service: ServiceServer, conversation: str, chat: int | str, topic: int | None
) -> None:
    settings = ChannelConfig(url=f"tgram://{TOKEN}/111/-100123:7/@club/?silent=yes", attempts=1)

    TelegramChannel("tg", settings).send("tg", "hi", conversation_id=conversation)

    bodies = [one.body for one in service.received]
    assert [(one["chat_id"], one.get("message_thread_id")) for one in bodies] == [(chat, topic)]
    assert bodies[0]["disable_notification"] is True


@pytest.mark.parametrize(
    "conversation",
    [
        "999",
        "111,222",
        "111 222",
        "111/222",
        "@other",
        "999?x=1",
        "111\n",
        " 111",
        "๑๑๑",
        "111:",
        "%31",
    ],
)
def test_nobody_else_can_be_written_to(service: ServiceServer, conversation: str) -> None:
    settings = ChannelConfig(url=f"tgram://{TOKEN}/111/222", attempts=1)

    with pytest.raises(ChannelError, match="no conversation"):
        TelegramChannel("tg", settings).send("tg", "hi", conversation_id=conversation)

    assert service.received == []


def test_updates_that_are_no_messages_are_passed_over(
    bot: TelegramChannel, service: ServiceServer
) -> None:
    received = heard_by(bot)
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
    received = heard_by(bot)
    deliver(service, [update])
    bot.connect()
    service.updates.put(message(3, 4242, "hello"))

    assert eventually(lambda: "hello" in received)


@pytest.mark.parametrize(
    "answer",
    [
        (200, []),
        (200, "<html>"),
        (200, "[" * 200_000),
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
    answer_polls(service, answers)
    received = heard_by(bot)
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
    received = heard_by(bot)
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
    received = heard_by(bot)
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
    received = heard_by(bot)
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
    received = heard_by(bot)

    for number in range(3):
        bot.connect()
        service.updates.put(message(number, 4242, f"message {number}"))
        assert eventually(lambda number=number: f"message {number}" in received)
        bot.disconnect()
        service.updates.put({})

    assert received == ["message 0", "message 1", "message 2"]


def test_nothing_is_taken_after_disconnecting(bot: TelegramChannel, service: ServiceServer) -> None:
    received = heard_by(bot)
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
