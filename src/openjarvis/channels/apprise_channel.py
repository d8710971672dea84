"""Sending through `apprise`, which speaks to more than a hundred services."""

import logging
from functools import cached_property
from typing import Any

from openjarvis.channels.base import BaseChannel, ChannelError, ChannelStatus
from openjarvis.channels.delivery import Delivery, bind
from openjarvis.channels.masking import conceal_parts_of
from openjarvis.channels.probing import probe
from openjarvis.channels.splitting import MAX_PARTS, split
from openjarvis.config import ChannelConfig
from openjarvis.core.environment import filled
from openjarvis.core.extras import how_to_install
from openjarvis.safety.concealment import masked
from openjarvis.safety.terminal import plain

_log = logging.getLogger("openjarvis.channels")
_SLACK_BLOCK = 3_000
_LONGEST_SUBJECT = 78
_MAIL = frozenset(
    [
        "NotifyBrevo", "NotifyEmail", "NotifyGroundmail", "NotifyMailerSend", "NotifyMailgun",
        "NotifyOffice365", "NotifyPostmark", "NotifyResend", "NotifySES", "NotifySMTP2Go",
        "NotifySendGrid", "NotifySendPulse", "NotifySparkPost",
    ]
)  # fmt: skip
"""The services of apprise that send mail."""


class AppriseChannel(BaseChannel):
    """One address of apprise's under a name of ours."""

    def __init__(self, name: str, settings: ChannelConfig) -> None:
        super().__init__()
        self.channel_id = name
        self._settings = settings

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.channel_id!r})"

    @cached_property
    def address(self) -> str:
        """The address with `${VARIABLE}` filled in; it holds secrets.

        Raises:
            ConfigError: when a variable is not set.
        """
        return filled(self._settings.url, f"the channel {self.channel_id!r}")

    def send(
        self,
        channel: str,
        content: str,
        *,
        conversation_id: str = "",
        metadata: dict[str, Any] | None = None,
    ) -> bool:
        """Send `content`, under the `subject` of `metadata`; a mail without one has its first line.

        Raises:
            ChannelError: when there is no such channel, or why the service did not take it.
        """
        if channel != self.channel_id:
            raise ChannelError(f"There is no channel {channel!r} here, only {self.channel_id!r}.")
        plugin = self.plugin(conversation_id)
        if not content.strip():
            raise ChannelError("The message is empty.")
        subject = str((metadata or {}).get("subject", ""))
        title, content = _titled(plugin, subject, content)
        longest = _longest(plugin)
        parts = split(content, longest)
        if len(parts) > MAX_PARTS:
            raise ChannelError(
                f"The message is too long: {self.channel_id!r} takes {longest:,} "
                f"characters a message, and at most {MAX_PARTS} are sent of one text."
            )
        delivery = Delivery(plugin, self._settings)
        for number, part in enumerate(parts, 1):
            reason = delivery.send(part, title=title if number == 1 else "")
            if reason:
                place = f" (part {number} of {len(parts)})" if parts[1:] else ""
                raise self._failure(place, masked(reason))
        return True

    def _failure(self, place: str, told: str) -> ChannelError:
        _log.warning("Failed to send to %s%s: %s", self.channel_id, place, told)
        return ChannelError(f"Failed to send to {self.channel_id!r}{place}: {told}")

    def status(self) -> ChannelStatus:
        return self.look()[0]

    def look(self) -> tuple[ChannelStatus, str]:
        """Return how the channel stands, with a sentence on what was seen."""
        try:
            plugin = self.plugin()
        except ValueError as error:
            return ChannelStatus.ERROR, str(error)
        except ChannelError as error:
            return ChannelStatus.ERROR, str(error)
        status, seen = probe(plugin, self._settings.timeout_seconds)
        return status, masked(seen)

    def list_channels(self) -> list[str]:
        return [self.channel_id]

    def plugin(self, conversation_id: str = "") -> Any:
        """Return apprise's object for the address, or for one conversation of it.

        Raises:
            ChannelError: when there is no such service, or apprise is not installed.
            ConfigError: when a variable of the address is not set.
        """
        if conversation_id:
            raise ChannelError(
                f"The channel {self.channel_id!r} has no conversations to answer in; send without "
                "`conversation_id`."
            )
        return self.made(self.address)

    def made(self, address: str) -> Any:
        """Return apprise's object for an address."""
        try:
            # An extra, and it takes half a second to load: only where a message is sent.
            from apprise import Apprise
        except ImportError as error:
            raise ChannelError(
                f"Channels need the extra `channels`: {how_to_install('channels')}."
            ) from error
        conceal_parts_of(address)
        plugin = Apprise.instantiate(address, suppress_exceptions=True)
        conceal_parts_of(address)  # in the logs also of what was imported for the service
        if plugin is None:
            raise ChannelError(
                f"The address of the channel {self.channel_id!r} is none that can be sent to; see "
                "the services of apprise for how it is written."
            )
        return bind(plugin, self._settings.timeout_seconds)


def _longest(plugin: Any) -> int:
    """Return how long one message of a service may be."""
    limit: int = plugin.body_maxlen
    # Slack refuses longer blocks; what apprise says is the limit of its attachments.
    return min(limit, _SLACK_BLOCK) if getattr(plugin, "use_blocks", False) else limit


def _titled(plugin: Any, subject: str, content: str) -> tuple[str, str]:
    """Return title and text; where the service has no titles the subject is the first line."""
    if not subject and type(plugin).__name__ in _MAIL:
        subject = content.strip().splitlines()[0]
    subject = " ".join(plain(subject).split())
    if len(subject) > _LONGEST_SUBJECT:
        subject = subject[:_LONGEST_SUBJECT] + "…"
    if not subject or (plugin.title_maxlen > 0 and not plugin.overflow_amalgamate_title):
        return subject, content
    return "", f"{subject}\n{content}"
