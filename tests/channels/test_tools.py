import json

import pytest

from channel_server import ServiceServer
from openjarvis.channels.base import BaseChannel, ChannelStatus
from openjarvis.channels.directory import Channels
from openjarvis.config import ChannelConfig
from openjarvis.core.errors import ConfigError
from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.tools.channel_tools import ChannelListTool, ChannelSendTool, ChannelStatusTool

TELEGRAM = ChannelConfig(
    url="tgram://123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/4242", attempts=1
)


class Broken(BaseChannel):
    """A channel of somebody's that raises."""

    def send(self, *_: object, **__: object) -> bool:
        raise RuntimeError("password=hunter22222 is wrong")

    def status(self) -> ChannelStatus:
        raise RuntimeError("no status")

    def list_channels(self) -> list[str]:
        raise RuntimeError("no list")


class Refusing(Broken):
    def send(self, *_: object, **__: object) -> bool:
        return False


def test_without_a_channel_each_says_what_to_configure() -> None:
    for made in (ChannelSendTool(), ChannelListTool(), ChannelStatusTool()):
        result = made.execute(**({"channel": "a", "content": "b"} if "send" in made.name else {}))

        assert not result.success
        assert "No channel backend" in result.content


def test_a_message_is_sent_by_name(service: ServiceServer) -> None:
    result = ChannelSendTool(Channels({"ops": TELEGRAM})).execute(channel="ops", content="hi")

    assert (result.success, result.content) == (True, "Sent to ops.")
    assert service.texts() == ["hi"]


def test_sending_needs_a_confirmation(service: ServiceServer) -> None:
    executor = ToolExecutor([ChannelSendTool(Channels({"ops": TELEGRAM}))])
    call = ToolCall("1", "channel_send", json.dumps({"channel": "ops", "content": "hi"}))

    assert "denied" in executor.execute(call).content
    assert service.received == []


@pytest.mark.parametrize("missing", [{"content": "hi"}, {"channel": "ops"}])
def test_what_is_missing_is_named(missing: dict[str, str]) -> None:
    result = ChannelSendTool(Refusing()).execute(**missing)

    assert not result.success
    assert "required" in result.content


def test_a_channel_that_raises_is_a_failure_without_its_secrets() -> None:
    sent = ChannelSendTool(Broken()).execute(channel="a", content="b")
    listed = ChannelListTool(Broken()).execute()
    status = ChannelStatusTool(Broken()).execute()

    assert "Send error" in sent.content
    assert "hunter22222" not in sent.content
    assert "List error" in listed.content
    assert "Status error" in status.content


def test_a_channel_that_does_not_take_the_message_failed() -> None:
    assert "Failed" in ChannelSendTool(Refusing()).execute(channel="a", content="b").content


def test_an_unknown_channel_names_the_nearest(service: ServiceServer) -> None:
    result = ChannelSendTool(Channels({"ops": TELEGRAM})).execute(channel="opps", content="hi")

    assert "Did you mean 'ops'" in result.content


def test_channels_are_listed_and_each_status_told(service: ServiceServer) -> None:
    channels = Channels({"ops": TELEGRAM, "away": ChannelConfig(url="json://127.0.0.1:9/x")})

    assert ChannelListTool(channels).execute().content == "ops\naway"
    told = ChannelStatusTool(channels).execute().content
    assert "ops: connected (the service knows the token)" in told
    assert "away: disconnected" in told
    assert channels.status() is ChannelStatus.DISCONNECTED


def test_a_channel_that_only_receives_is_no_channel_to_send_to() -> None:
    channels = Channels({"hook": ChannelConfig(listen="127.0.0.1:0", secret="x" * 16)})

    assert ChannelListTool(channels).execute().content == "There are no channels."
    sent = ChannelSendTool(channels).execute(channel="hook", content="hi")
    assert "'hook' only receives" in sent.content
    assert channels.status() is ChannelStatus.DISCONNECTED


def test_a_channel_without_an_address_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError, match=r"\[channels.ops\] needs a `url`"):
        Channels({"ops": ChannelConfig()}).list_channels()
