"""Telegram: sending through apprise, receiving by long polling of the Bot API."""

import logging
import re
from typing import Any

from openjarvis.channels.apprise_channel import AppriseChannel
from openjarvis.channels.base import ChannelError, ChannelMessage, ChannelStatus
from openjarvis.channels.inbox import MAX_WAITING, Inbox
from openjarvis.channels.polling import Polling, Progress, Update
from openjarvis.config import ChannelConfig
from openjarvis.core.origin import origin_of

_log = logging.getLogger("openjarvis.channels")
_CONVERSATION = re.compile(r"(-?[0-9]{1,20}|@\w{1,40})(?::([0-9]{1,10}))?")


class TelegramChannel(AppriseChannel):
    """A bot, with an address as apprise has it: `tgram://BOT_TOKEN/CHAT_ID/…`.

    Only the chats in the address are listened to, and written to: a bot can be found by anybody.
    Answers go to the chat that a message came from. The messages of a chat are handled one after
    the other.
    """

    def __init__(self, name: str, settings: ChannelConfig) -> None:
        super().__init__(name, settings)
        self._polling: Polling | None = None
        self._progress = Progress()
        self._inbox = Inbox(self._answer)

    def connect(self) -> None:
        """Start to receive.

        Raises:
            ChannelError: when the address cannot be used.
        """
        if self._polling is not None and self._polling.goes_on():
            return
        plugin = self.plugin()
        chats = {str(chat) for chat, _ in plugin.targets}
        self._polling = Polling(
            self.channel_id,
            f"{plugin.notify_url}{plugin.bot_token}/getUpdates",
            timeout=self._settings.timeout_seconds,
            progress=self._progress,
            take=lambda update: self._take(update, chats),
        )
        self._polling.start()

    def disconnect(self) -> None:
        if self._polling is not None:
            self._polling.stop()

    def look(self) -> tuple[ChannelStatus, str]:
        if self._polling is not None and self._polling.trouble:
            return ChannelStatus.ERROR, self._polling.trouble
        return super().look()

    def plugin(self, conversation_id: str = "") -> Any:
        plugin = self.made(self.address)
        if conversation_id:
            plugin.targets = [self._target(conversation_id, plugin.targets)]
        return plugin

    def _target(self, conversation_id: str, targets: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        found = _CONVERSATION.fullmatch(conversation_id)
        for chat, topic in targets:
            if found is not None and found[1] == str(chat):
                return chat, int(found[2]) if found[2] else topic
        raise ChannelError(
            f"The channel {self.channel_id!r} has no conversation {conversation_id[:40]!r}, only "
            "the chats in its address."
        )

    def _take(self, update: Update, chats: set[str]) -> None:
        received = _message(self.channel_id, update.get("message"))
        if received is None:
            return
        chat = received.conversation_id
        if chat not in chats:
            _log.warning("%s: a message from the unknown chat %r", self.channel_id, chat)
        elif not self._inbox.put(received):
            _log.warning(
                "%s: a message is dropped, since %d wait already", self.channel_id, MAX_WAITING
            )

    def _answer(self, message: ChannelMessage) -> None:
        for answer in self.answers(message):
            try:
                self.send(self.channel_id, answer, conversation_id=message.conversation_id)
            except Exception as error:  # noqa: BLE001 - nobody waits for this thread; the log is told
                _log.error("An answer was not sent to %s: %s", self.channel_id, origin_of(error))


def _message(channel: str, told: Any) -> ChannelMessage | None:
    """Return what a chat said, None where it is no text."""
    if not isinstance(told, dict) or not isinstance(told.get("chat"), dict):
        return None
    text, chat = told.get("text"), str(told["chat"].get("id", ""))
    if not isinstance(text, str) or not text:
        return None
    sender = told.get("from")
    who = sender if isinstance(sender, dict) else {}
    name = str(who.get("username") or who.get("id") or chat)
    return ChannelMessage(channel, name, text, str(told.get("message_id", "")), chat)
