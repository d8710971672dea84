import logging
import socket
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes
from email.policy import default as default_policy
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Event, Thread
from typing import Self

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Sink
from apprise.plugins.telegram import NotifyTelegram

from channel_server import HANG_UP, Received, ServiceServer
from openjarvis.channels.apprise_channel import AppriseChannel
from openjarvis.channels.base import ChannelError, ChannelStatus
from openjarvis.config import ChannelConfig
from openjarvis.core import workers
from openjarvis.core.errors import ConfigError
from waiting import eventually

TOKEN = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
TELEGRAM = f"tgram://{TOKEN}/4242"
DISCORD = "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js"
SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7"
SLACK_BOT = "slack://xoxb-1234567890-1234567890-4ddbc191d40ee098cbaae6f3/#ops"
EVERY = pytest.mark.parametrize("url", [TELEGRAM, DISCORD, SLACK, SLACK_BOT])


def channel(url: str, **settings: object) -> AppriseChannel:
    options = {"attempts": 1, **settings}
    return AppriseChannel("ops", ChannelConfig(url=url, **options))  # type: ignore[arg-type]


@EVERY
def test_a_message_reaches_the_service(service: ServiceServer, url: str) -> None:
    assert channel(url).send("ops", "the build is green")

    assert service.texts() == ["the build is green"]


def test_a_json_webhook_gets_the_message(service: ServiceServer) -> None:
    assert channel(f"json://127.0.0.1:{service.port}/hook").send("ops", "hi")

    assert service.received[0].body["message"] == "hi"


def test_long_messages_are_split_to_what_the_service_takes(service: ServiceServer) -> None:
    text = "\n\n".join(f"paragraph {number} " + "x" * 900 for number in range(5))

    channel(DISCORD + "?format=text").send("ops", text)

    sent = service.texts()
    assert len(sent) == 3
    assert all(len(part) <= 2_000 for part in sent)
    assert "".join(sent).replace("\n", "") == text.replace("\n", "")


def test_a_long_message_to_slack_is_split_and_its_parts_come_in_order(
    service: ServiceServer,
) -> None:
    text = "\n\n".join(f"paragraph {number} " + "x" * 9_000 for number in range(10))

    channel(SLACK).send("ops", text)

    sent = service.texts()
    assert len(sent) == 4
    assert all(len(part) <= 35_000 for part in sent)
    assert "".join(sent).replace("\n", "") == text.replace("\n", "")


def test_a_message_in_blocks_keeps_to_the_limit_of_a_block(service: ServiceServer) -> None:
    channel(SLACK + "?blocks=yes").send("ops", "x" * 7_000)

    texts = [one.body["attachments"][0]["blocks"][0]["text"]["text"] for one in service.received]
    assert [len(text) for text in texts] == [3_000, 3_000, 1_000]


def test_when_a_part_is_refused_the_error_says_which(service: ServiceServer) -> None:
    service.answer = lambda request: (429, "ratelimited") if len(service.received) > 1 else None

    with pytest.raises(ChannelError, match=r"\(part 2 of 4\)"):
        channel(SLACK).send("ops", "x" * 120_000)

    assert len(service.received) == 2


@pytest.mark.parametrize(
    ("url", "refusal"),
    [
        (SLACK, (429, "ratelimited")),
        (SLACK, (503, "rollup_error")),
        (SLACK_BOT, (429, {"ok": False, "error": "ratelimited"})),
    ],
)
def test_what_slack_refuses_is_sent_again(
    service: ServiceServer, url: str, refusal: tuple[int, object]
) -> None:
    refusals = [refusal]
    service.answer = lambda request: refusals.pop() if refusals else None

    assert channel(url, attempts=2).send("ops", "hi")
    assert service.texts() == ["hi", "hi"]


def test_an_answer_of_slack_that_is_not_ok_is_a_failure(service: ServiceServer) -> None:
    service.answer = lambda request: (200, {"ok": False, "error": "channel_not_found"})

    with pytest.raises(ChannelError, match="Failed to send to 'ops'"):
        channel(SLACK_BOT).send("ops", "hi")


def test_a_message_of_too_many_parts_is_refused_whole(service: ServiceServer) -> None:
    with pytest.raises(ChannelError, match="too long"):
        channel(DISCORD).send("ops", "x" * 50_000)

    assert service.received == []


def test_a_refused_message_is_sent_again(service: ServiceServer) -> None:
    refusals = [503]

    def answer(request: Received) -> tuple[int, object] | None:
        return (refusals.pop(), {}) if refusals else None

    service.answer = answer

    assert channel(TELEGRAM, attempts=2).send("ops", "hi")
    assert service.texts() == ["hi", "hi"]


@pytest.mark.parametrize(
    "refusal",
    [
        HANG_UP,
        (202, {}),  # taken, in other words than the service's own
        (302, {}, {"Location": "/elsewhere"}),
        (403, {}),
        (500, {}),
        (502, {}),
        (504, {}),
    ],
)
def test_what_may_have_arrived_or_never_will_is_not_sent_again(
    service: ServiceServer, refusal: tuple[int, object]
) -> None:
    service.answer = lambda request: refusal

    with pytest.raises(ChannelError, match="Failed to send to 'ops'"):
        channel(TELEGRAM, attempts=3).send("ops", "hi")

    assert len(service.received) == 1


def test_a_message_that_was_taken_without_an_answer_is_said_to_be_uncertain(
    service: ServiceServer,
) -> None:
    service.answer = lambda request: HANG_UP

    with pytest.raises(ChannelError, match="may or may not have arrived"):
        channel(f"json://127.0.0.1:{service.port}/hook", attempts=3).send("ops", "hi")


@pytest.mark.parametrize("url", [TELEGRAM, SLACK])
def test_an_error_of_the_service_is_not_sent_again_since_it_may_have_arrived(
    service: ServiceServer, url: str
) -> None:
    service.answer = lambda request: (500, "broken after the fact")

    with pytest.raises(ChannelError, match="error=500; the message may or may not have arrived"):
        channel(url, attempts=3).send("ops", "hi")

    assert len(service.received) == 1


@pytest.mark.parametrize("scheme", ["json", "mailto"])
def test_what_could_not_be_connected_to_surely_got_nothing(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"{scheme}://127.0.0.1:{port}/?from=a@example.org&to=b@example.org&mode=insecure"

    with pytest.raises(ChannelError, match=r"onnection error .*Error\)$"):
        channel(url).send("ops", "hi")


def test_a_service_that_is_away_for_a_moment_is_tried_again(
    service: ServiceServer, caplog: pytest.LogCaptureFixture
) -> None:
    made = channel(f"json://127.0.0.1:{service.port}/hook", attempts=10)
    service.__exit__()
    sent = workers.start(lambda: made.send("ops", "hi"))
    assert eventually(lambda: "onnection error" in caplog.text)

    with ServiceServer(at=service.port) as back:
        assert sent.wait(30)

    assert (sent.result(), back.texts()) == (True, ["None"])


@pytest.mark.parametrize("options", ["", "&retry=3&wait=0"])
def test_a_recipient_gets_a_message_once_though_another_refuses_it(
    service: ServiceServer, options: str
) -> None:
    service.answer = lambda request: (
        (429, {"description": "blocked"}) if request.body["chat_id"] == 222 else None
    )

    with pytest.raises(ChannelError, match="may or may not have arrived"):
        channel(f"tgram://{TOKEN}/111/222/?image=no{options}", attempts=3).send("ops", "hi")

    assert [one.body["chat_id"] for one in service.received] == [111, 222]


@pytest.mark.parametrize("options", ["", "?rto=0.01&cto=0.01"])
def test_the_time_out_is_the_configured_one(service: ServiceServer, options: str) -> None:
    made = channel(f"json://127.0.0.1:{service.port}/hook{options}", timeout_seconds=9).plugin()

    assert made.request_timeout == (9, 9)


def test_a_slow_service_gets_a_message_once(service: ServiceServer) -> None:
    slow = Event()
    service.answer = lambda request: (200, {}) if not slow.wait(0.3) else None

    assert channel(f"json://127.0.0.1:{service.port}/hook?rto=0.05", attempts=3).send("ops", "hi")

    assert len(service.received) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("options", ["", "&redirect=yes"])
def test_a_redirect_is_a_failure_and_leads_nowhere(
    service: ServiceServer, status: int, options: str
) -> None:
    with ServiceServer() as other:
        service.answer = lambda request: (status, {}, {"Location": f"{other.url}/elsewhere"})
        url = f"json://ann:password1@127.0.0.1:{service.port}/hook?+X-Key=HEADERKEY1{options}"

        with pytest.raises(ChannelError, match=f"{status}; redirects are not followed"):
            channel(url).send("ops", "hi")

        assert other.received == []


def test_a_mail_is_sent_once_though_its_server_dies_after_the_text() -> None:
    with MailServer() as server, pytest.raises(ChannelError, match="may or may not"):
        channel(
            f"mailto://127.0.0.1:{server.port}?from=a@example.org&to=b@example.org&mode=insecure",
            attempts=3,
        ).send("ops", "hi")

    assert server.texts == 1


@EVERY
def test_no_token_is_in_errors_logs_or_reprs(
    service: ServiceServer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    service.answer = lambda request: (401, {"ok": False, "description": f"bad token {url}"})
    made = channel(url)

    with caplog.at_level(logging.DEBUG), pytest.raises(ChannelError) as raised:
        made.send("ops", "hi")
    status, seen = made.look()

    secrets = (
        TOKEN,
        "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
        "JHMHI8qBe7bk2ZwO5U711o3dV_js",
        "A1BRTD4JD",
        "TIiajkdnlazkcOXrIdevi7",
        "4ddbc191d40ee098cbaae6f3",
    )
    shown = f"{raised.value} {seen} {made!r} {made._settings!r} {caplog.text}"
    assert not any(secret in shown for secret in secrets)
    assert "Failed to send to 'ops'" in str(raised.value)
    assert status is ChannelStatus.ERROR


def test_a_service_that_does_not_answer_is_left_after_the_time_out(service: ServiceServer) -> None:
    let_go = Event()
    service.answer = lambda request: (200, {}) if let_go.wait(20) else None

    with pytest.raises(ChannelError, match="may or may not have arrived"):
        channel(TELEGRAM, timeout_seconds=0.3, attempts=3).send("ops", "hi")
    let_go.set()

    assert len(service.received) == 1


def test_status_asks_the_service_about_the_token(service: ServiceServer) -> None:
    assert channel(TELEGRAM).status() is ChannelStatus.CONNECTED
    assert channel(DISCORD).status() is ChannelStatus.CONNECTED
    assert service.received[0].path == f"/bot{TOKEN}/getMe"


@pytest.mark.parametrize(
    ("url", "answer", "status"),
    [
        (SLACK, None, ChannelStatus.CONNECTED),
        (SLACK, (403, "invalid_token"), ChannelStatus.ERROR),
        (SLACK, (404, "no_service"), ChannelStatus.ERROR),
        (SLACK, (503, "busy"), ChannelStatus.DISCONNECTED),
        (SLACK_BOT, None, ChannelStatus.CONNECTED),
        (SLACK_BOT, (200, {"ok": False, "error": "invalid_auth"}), ChannelStatus.ERROR),
        (SLACK_BOT, (429, {"ok": False, "error": "ratelimited"}), ChannelStatus.DISCONNECTED),
        (SLACK_BOT, (200, "<html>"), ChannelStatus.DISCONNECTED),
    ],
)
def test_status_asks_slack_about_the_token_and_posts_nothing(
    service: ServiceServer,
    url: str,
    answer: tuple[int, object] | None,
    status: ChannelStatus,
) -> None:
    service.answer = lambda request: answer

    assert channel(url).status() is status
    assert service.received[0].path in (
        "/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7",
        "/api/auth.test",
    )
    assert service.texts() == []


def test_status_of_a_service_that_is_away(service: ServiceServer) -> None:
    made = channel(TELEGRAM)
    made.plugin()
    service.__exit__()

    assert made.status() is ChannelStatus.DISCONNECTED


class MailServer:
    """Takes the text of a mail and closes the connection."""

    texts = 0
    logins = 0

    def __init__(self, *, refuses_logins: bool = False) -> None:
        self.greeting = b"250-ok\r\n250 AUTH PLAIN\r\n" if refuses_logins else b"250 ok\r\n"

    def __enter__(self) -> Self:
        outer = self

        class Handler(StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 here\r\n")
                for line in self.rfile:
                    if line == b".\r\n":
                        outer.texts += 1
                        return
                    if line.upper().startswith(b"EHLO"):
                        self.wfile.write(outer.greeting)
                    elif line.upper().startswith(b"AUTH"):
                        outer.logins += 1
                        self.wfile.write(b"535 no\r\n")
                    elif line.upper().startswith(b"QUIT"):
                        return
                    elif line.upper().startswith((b"MAIL", b"RCPT")):
                        self.wfile.write(b"250 ok\r\n")
                    elif line.upper().startswith(b"DATA"):
                        self.wfile.write(b"354 go\r\n")

        self._server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class DrippingServer:
    """Answers with a header line now and then, without an end."""

    def __enter__(self) -> Self:
        outer = self
        self._ended = Event()

        class Handler(StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                with suppress(OSError):
                    while not outer._ended.wait(0.05):
                        self.wfile.write(b"X-A: b\r\n")

        self._server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()


def test_the_status_of_a_service_that_answers_drop_by_drop_has_a_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with DrippingServer() as server:
        monkeypatch.setattr(NotifyTelegram, "notify_url", f"{server.url}/bot")

        looked = channel(TELEGRAM, timeout_seconds=0.3).look()

    assert looked == (ChannelStatus.DISCONNECTED, "no answer within 0.3 s")


def test_an_answer_without_end_to_a_status_is_not_read(service: ServiceServer) -> None:
    service.answer = lambda request: (200, "x" * 2_000_000)

    status, seen = channel(SLACK_BOT).look()

    assert status is ChannelStatus.DISCONNECTED
    assert "answers 200" in seen


@pytest.fixture
def mail() -> Iterator[Controller]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(_Kept(), hostname="127.0.0.1", port=port)
    controller.start()
    yield controller
    controller.stop()


class _Kept(Sink):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[bytes] = []

    async def handle_DATA(self, server: object, session: object, envelope: object) -> str:  # noqa: N802
        self.messages.append(envelope.content)  # type: ignore[attr-defined]
        return "250 OK"


def test_mail_is_sent_and_its_server_asked(mail: Controller) -> None:
    made = channel(
        f"mailto://127.0.0.1:{mail.port}?from=a@example.org&to=b@example.org&mode=insecure"
    )

    assert made.send("ops", "the build is green")
    assert made.status() is ChannelStatus.CONNECTED

    assert b"the build is green" in mail.handler.messages[0]


@pytest.mark.parametrize(
    ("content", "subject", "expected"),
    [
        ("\nThe build is green.\nAll of it.", "", "The build is green."),
        ("x" * 100, "", "x" * 78 + "…"),
        ("The build is green.", "Build\r\nBcc: eve@example.org", "Build Bcc: eve@example.org"),
    ],
)
def test_a_mail_has_a_subject(mail: Controller, content: str, subject: str, expected: str) -> None:
    channel(
        f"mailto://127.0.0.1:{mail.port}?from=a@example.org&to=b@example.org&mode=insecure"
    ).send("ops", content, metadata={"subject": subject})

    sent = message_from_bytes(mail.handler.messages[0], policy=default_policy)
    assert sent["Subject"] == expected
    assert sent.get_body(("plain",)).get_content().split() == content.split()


def test_a_subject_is_the_first_line_where_there_are_no_titles(service: ServiceServer) -> None:
    channel(TELEGRAM).send("ops", "It is green.", metadata={"subject": "Build"})
    channel(DISCORD).send("ops", "x" * 2_000, metadata={"subject": "Build"})

    first, *rest = service.texts()
    assert first.splitlines() == ["Build", "It is green."]
    assert [len(text) <= 2_000 for text in rest] == [True, True]


def test_a_refused_login_of_mail_is_told_as_such() -> None:
    with (
        MailServer(refuses_logins=True) as server,
        pytest.raises(ChannelError, match=r"\(SMTPAuthenticationError\)$"),
    ):
        channel(
            f"mailto://ann:password1@127.0.0.1:{server.port}?from=a@example.org&to=b@example.org"
            "&mode=insecure",
            attempts=3,
        ).send("ops", "hi")

    assert server.logins == 1


def test_variables_of_the_address_are_filled_in_or_named(
    service: ServiceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BOT", raising=False)
    with pytest.raises(ConfigError, match=r"'ops' needs \$\{BOT\}"):
        channel("tgram://${BOT}/4242").send("ops", "hi")
    monkeypatch.setenv("BOT", TOKEN)

    assert channel("tgram://${BOT}/4242").send("ops", "hi")


@pytest.mark.parametrize("url", ["nonsense", "no-such://x/y", "tgram://"])
def test_an_address_that_cannot_be_sent_to_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(ChannelError, match="none that can be sent to"):
        channel(url).send("ops", "hi")


def test_an_empty_message_is_refused(service: ServiceServer) -> None:
    with pytest.raises(ChannelError, match="empty"):
        channel(TELEGRAM).send("ops", " \n ")
