"""The tools with which a model sends messages: `channel_send`, `channel_list`, `channel_status`."""

from typing import Annotated, Any, Self

from openjarvis.channels.base import ChannelError
from openjarvis.channels.directory import Channels
from openjarvis.core.errors import ConfigError, ToolError
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool, failure_text

_NO_CHANNEL = (
    "No channel backend is configured; add one under [channels.NAME] in the configuration."
)


class _ChannelTool(TypedTool):
    """What the three share: the channel they work on."""

    def __init__(self, channel: Any = None) -> None:
        """Use `channel`, a `BaseChannel`."""
        self._channel = channel

    @classmethod
    def build(cls, services: Services) -> Self:
        return cls(services.channel)

    @property
    def channel(self) -> Any:
        """The channel.

        Raises:
            ToolError: when there is none.
        """
        if self._channel is None:
            raise ToolError(_NO_CHANNEL)
        return self._channel


def _told(error: Exception, what: str) -> ToolError:
    """Return the failure of a channel, which may be anybody's, in words for the model."""
    if isinstance(error, ChannelError | ConfigError):
        return ToolError(str(error) if str(error).startswith("Failed") else f"{what}: {error}")
    return ToolError(f"{what}: {failure_text(error)}")


@ToolRegistry.register("channel_send")
class ChannelSendTool(_ChannelTool):
    """Send a message to people over a configured channel.

    Call it when the user asks to send, post, notify or tell somebody something.
    """

    name = "channel_send"
    category = "channel"
    requires_confirmation = True
    destructive = False
    open_world = True
    timeout_seconds = 120.0
    required = ("channel", "content")
    examples = (
        (
            "Send 'the build is green' to the ops channel",
            {"channel": "ops", "content": "the build is green"},
        ),
    )

    def run(
        self,
        channel: Annotated[str, "The name of the channel, from channel_list"] = "",
        content: Annotated[str, "The text of the message"] = "",
        conversation_id: Annotated[str, "The conversation to answer in, if any"] = "",
    ) -> ToolResult:
        backend = self.channel
        if not channel.strip():
            raise ToolError("`channel` is required: the name of a channel.")
        if not content.strip():
            raise ToolError("`content` is required: the text of the message.")
        try:
            sent = backend.send(channel, content, conversation_id=conversation_id)
        except Exception as error:  # a channel may be anybody's and may raise anything
            raise _told(error, "Send error") from error
        if not sent:
            raise ToolError(f"Failed to send to {channel!r}: the channel did not take the message.")
        return ToolResult(self.name, f"Sent to {channel}.", metadata={"channel": channel})


@ToolRegistry.register("channel_list")
class ChannelListTool(_ChannelTool):
    """List the channels over which messages can be sent."""

    name = "channel_list"
    category = "channel"
    read_only = True
    idempotent = True
    open_world = False
    examples = ("Which channels are there?",)

    def run(self) -> ToolResult:
        backend = self.channel
        try:
            names = [str(name) for name in backend.list_channels()]
        except Exception as error:  # a channel may be anybody's and may raise anything
            raise _told(error, "List error") from error
        return ToolResult(
            self.name, "\n".join(names) or "There are no channels.", metadata={"channels": names}
        )


@ToolRegistry.register("channel_status")
class ChannelStatusTool(_ChannelTool):
    """Check whether the channels work: is the service there, does it know the token."""

    name = "channel_status"
    category = "channel"
    read_only = True
    open_world = True
    examples = ("Do the message channels work?",)

    def run(self) -> ToolResult:
        backend = self.channel
        try:
            if isinstance(backend, Channels):
                lines = [
                    f"{name}: {status.value} ({seen})"
                    for name, (status, seen) in backend.statuses().items()
                ]
                return ToolResult(self.name, "\n".join(lines))
            status = backend.status()
        except Exception as error:  # a channel may be anybody's and may raise anything
            raise _told(error, "Status error") from error
        value = str(getattr(status, "value", status))
        return ToolResult(self.name, value, metadata={"status": value})
