"""What every channel is: a way to send to people, and for some to hear from them."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from openjarvis.core.errors import ToolError
from openjarvis.core.origin import origin_of

_log = logging.getLogger("openjarvis.channels")


class ChannelStatus(StrEnum):
    """How a channel stands."""

    CONNECTED = "connected"
    CONNECTING = "connecting"
    DISCONNECTED = "disconnected"
    ERROR = "error"


class ChannelError(ToolError):
    """A message that could not be sent, or a channel that cannot be used; no secret is in it."""


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """A message that came in; answers go to its `conversation_id`."""

    channel: str
    sender: str
    content: str
    message_id: str = ""
    conversation_id: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


Handler = Callable[[ChannelMessage], str | None]
"""Called with each message, in a thread of its own; what it returns is sent as the answer."""


class BaseChannel(ABC):
    """A way to reach people. Any thread may call any method."""

    channel_id: str = ""

    def __init__(self) -> None:
        self._handlers: list[Handler] = []

    def connect(self) -> None:
        """Start to receive, where the channel can; sending needs no connection."""

    def disconnect(self) -> None:
        """Stop receiving."""

    @abstractmethod
    def send(
        self,
        channel: str,
        content: str,
        *,
        conversation_id: str = "",
        metadata: dict[str, Any] | None = None,
    ) -> bool:
        """Send `content`; tell whether the service took it.

        Raises:
            ChannelError: when there is no such channel, or why the service did not take it.
        """

    @abstractmethod
    def status(self) -> ChannelStatus:
        """Look how the channel stands, now."""

    @abstractmethod
    def list_channels(self) -> list[str]:
        """Return the names that `send` takes."""

    def on_message(self, handler: Handler) -> None:
        """Call `handler` with every later message."""
        self._handlers.append(handler)

    def answers(self, message: ChannelMessage, *, strict: bool = False) -> list[str]:
        """Return what the handlers answer to `message`; one that raises is logged.

        Raises:
            ChannelError: when one raised, with `strict`; the others were called.
        """
        given: list[str] = []
        has_failed = False
        for handler in tuple(self._handlers):
            try:
                answer = handler(message)
            except BaseException as error:  # noqa: BLE001 - foreign code; SystemExit too is its own
                _log.error("A handler of %s raised %s", self.channel_id, origin_of(error))
                has_failed = True
                continue
            if answer:
                given.append(answer)
        if strict and has_failed:
            raise ChannelError("the message could not be handled")
        return given
