import logging

import pytest

from channel_server import ServiceServer
from openjarvis.channels.apprise_channel import AppriseChannel
from openjarvis.channels.base import ChannelError, ChannelMessage
from openjarvis.channels.masking import conceal_parts_of
from openjarvis.config import ChannelConfig
from openjarvis.safety.concealment import conceal, masked

BOT_KEY = "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"


@pytest.mark.parametrize(
    ("address", "secrets"),
    [
        (f"tgram://123456789:{BOT_KEY}/111", [f"123456789:{BOT_KEY}", BOT_KEY, "123456789"]),
        (f"tgram://123456789:{BOT_KEY}/@channelname", [BOT_KEY, "123456789", "channelname"]),
        ("discord://4174216298/JHMHI8qBe7bk2Zw/?avatar_url=http://x/@y", ["JHMHI8qBe7bk2Zw"]),
        ("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdn/@user", ["T1JJ3T3L2", "A1BRTD4JD", "TIiajkdn"]),
        ("json://bob:hunter2secret@host.org/hooks/PATHSECRET/@me", ["hunter2secret", "PATHSECRET"]),
        ("json://bob:pw12@host.org/hooks/", ["pw12"]),
        ("json://bob:with/a/slash@host.org/", ["with/a/slash"]),
        ("json://bob:with@sign@host.org/", ["with@sign"]),
        ("json://bob:p%40ss%2Fw0rd%21@host.org/", ["p@ss/w0rd!", "p%40ss/w0rd%21"]),
        ("json://host.org/PATH%20SECRETzz", ["PATH SECRETzz", "PATH%20SECRETzz", "PATH+SECRETzz"]),
        ("json://host.org/ab12c/?k=s3cr", ["ab12c", "s3cr"]),
        ("json://host.org/x?+Authorization=HDRSECRET%20x1", ["HDRSECRET"]),
        ("json://host.org/x?a=1;token=SEMISECRET", ["SEMISECRET"]),
        ("json://host.org/x?ONLYSECRET", ["ONLYSECRET"]),
        ("json://host.org/x#FRAGSECRET", ["FRAGSECRET"]),
        ("json://abc.HOSTSECRET.xyz:18999/path", ["abc.HOSTSECRET.xyz", "abc.hostsecret.xyz"]),
        ("json://192.168.7.30/path", ["192.168.7.30"]),
        ("mailto://ann:mailpass99@h.org/?to=boss@firm.example", ["mailpass99", "firm.example"]),
        (f"123456789:{BOT_KEY}/1", [BOT_KEY, "123456789"]),
    ],
)  # fmt: skip
def test_no_part_of_an_address_is_shown(address: str, secrets: list[str]) -> None:
    conceal_parts_of(address)

    for secret in [address, *secrets]:
        for text in (secret, f"/bot{secret}/getMe" if len(secret) > 5 else f"/{secret}/getMe"):
            assert secret not in masked(f"it says {text}: no"), secret


def test_words_that_are_no_secrets_stay_readable() -> None:
    conceal_parts_of("mailto://bob:a@example.org:18025/?format=text&mode=insecure")
    conceal_parts_of("json://localhost:18999/hook")
    conceal_parts_of("json://127.0.0.1/hook")

    told = "a message that has an a; the text of bob's hook for localhost and 127.0.0.1"
    assert masked(told) == told


def test_a_short_piece_is_masked_as_a_word_only() -> None:
    conceal(["ab12c"])

    assert masked("ab12c AB12C xab12cx") == "[secret] [secret] xab12cx"


@pytest.mark.parametrize(
    "name",
    ["apprise", "urllib3.connectionpool", "httpx2", "httpcore2.http11", "openjarvis.channels"],
)
def test_logs_show_no_part_of_an_address_nor_do_their_tracebacks(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    logger = logging.getLogger(name)
    conceal_parts_of("json://host.org/PATHSECRET")

    with caplog.at_level(logging.DEBUG):
        try:
            raise ValueError("from PATHSECRET")
        except ValueError:
            logger.exception("to %s", "PATHSECRET")

    assert "to [secret]" in caplog.text
    assert "ValueError: from [secret]" in caplog.text
    assert "PATHSECRET" not in caplog.text


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_a_handler_that_raises_is_logged_without_what_it_says(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def broken(message: ChannelMessage) -> str:
        raise error("with HANDLERSECRET")

    channel = AppriseChannel("ops", ChannelConfig(url="json://localhost/"))
    channel.on_message(broken)
    channel.on_message(lambda message: "still here")

    assert channel.answers(ChannelMessage("ops", "ann", "hello")) == ["still here"]
    assert error.__name__ in caplog.text
    assert "HANDLERSECRET" not in caplog.text


def test_the_host_is_shown_neither_in_errors_nor_in_the_status(
    service: ServiceServer, caplog: pytest.LogCaptureFixture
) -> None:
    away = AppriseChannel(
        "away", ChannelConfig(url="json://my-host.invalid:18999/token", attempts=1)
    )
    there = AppriseChannel("there", ChannelConfig(url=f"json://localhost:{service.port}/token"))

    with caplog.at_level(logging.DEBUG), pytest.raises(ChannelError) as raised:
        away.send("away", "hi")

    assert "my-host" not in f"{raised.value} {away.look()} {caplog.text}"
    assert there.look()[1] == "the server can be reached; the token was not tried"


@pytest.mark.parametrize(
    "url", [f"123456789:{BOT_KEY}/1", f"{BOT_KEY}://x/y", f"tgam://123456789:{BOT_KEY}/1"]
)
def test_an_address_that_is_written_wrongly_is_not_shown(url: str) -> None:
    with pytest.raises(ChannelError, match="none that can be sent to") as raised:
        AppriseChannel("ops", ChannelConfig(url=url)).send("ops", "hi")

    assert not any(part in str(raised.value) for part in ("123456789", BOT_KEY[:6]))
