"""The configured channels, as one: `send` finds the right one by its name."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import openjarvis.channels  # noqa: F401 - announces the kinds to the registry
from openjarvis.channels.base import BaseChannel, ChannelError, ChannelStatus, Handler
from openjarvis.config import ChannelConfig
from openjarvis.core.errors import ConfigError, unknown_name
from openjarvis.core.registry import ChannelRegistry


class Channels(BaseChannel):
    """Every channel of a configuration under its name. Nothing is opened until it is used."""

    channel_id = "channels"

    def __init__(self, settings: Mapping[str, ChannelConfig]) -> None:
        super().__init__()
        self._settings = settings

    @cached_property
    def each(self) -> dict[str, Any]:
        """The channels by name.

        Raises:
            ConfigError: when one has neither an address nor a place to listen.
        """
        return {name: _made(name, settings) for name, settings in self._settings.items()}

    def connect(self) -> None:
        for channel in self.each.values():
            channel.connect()

    def disconnect(self) -> None:
        for channel in self.each.values():
            channel.disconnect()

    def close(self) -> None:
        """Stop whatever receives."""
        if "each" in self.__dict__:
            self.disconnect()

    def send(
        self,
        channel: str,
        content: str,
        *,
        conversation_id: str = "",
        metadata: dict[str, Any] | None = None,
    ) -> bool:
        sent: bool = self._one(channel).send(
            channel, content, conversation_id=conversation_id, metadata=metadata
        )
        return sent

    def status(self) -> ChannelStatus:
        """Return the worst of the channels' statuses."""
        found = {status for status, _ in self.statuses().values()}
        worst = (ChannelStatus.ERROR, ChannelStatus.DISCONNECTED, ChannelStatus.CONNECTED)
        return next((one for one in worst if one in found), ChannelStatus.DISCONNECTED)

    def statuses(self) -> dict[str, tuple[ChannelStatus, str]]:
        """Look at all channels at the same time; each status comes with what was seen."""
        if not self.each:
            return {}
        with ThreadPoolExecutor(max_workers=min(len(self.each), 16)) as pool:
            looked = pool.map(lambda channel: channel.look(), self.each.values())
            return dict(zip(self.each, looked, strict=True))

    def list_channels(self) -> list[str]:
        return [name for channel in self.each.values() for name in channel.list_channels()]

    def on_message(self, handler: Handler) -> None:
        for channel in self.each.values():
            channel.on_message(handler)

    def _one(self, name: str) -> Any:
        found = self.each.get(name)
        if found is None:
            raise ChannelError(unknown_name("channel", name, list(self.each) or ["none"]))
        return found


def _made(name: str, settings: ChannelConfig) -> Any:
    if not settings.url and not settings.listen:
        raise ConfigError(
            f"[channels.{name}] needs a `url` to send to, or `listen` and `secret` to receive."
        )
    scheme = "webhook" if settings.listen else settings.url.partition("://")[0].lower()
    key = scheme if ChannelRegistry.contains(scheme) else "apprise"
    return ChannelRegistry.get(key)(name, settings)
