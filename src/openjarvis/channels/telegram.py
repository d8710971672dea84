"""Telegram: sending through apprise, receiving by long polling of the Bot API."""

import logging
from threading import Event, Thread
from typing import Any
from urllib.parse import quote

import httpx2

from openjarvis.channels.apprise_channel import AppriseChannel
from openjarvis.channels.base import ChannelMessage, ChannelStatus
from openjarvis.channels.masking import masked
from openjarvis.config import ChannelConfig
from openjarvis.core import workers

_log = logging.getLogger("openjarvis.channels")
_POLL_SECONDS = 25
_LONGEST_PAUSE = 60.0


class TelegramChannel(AppriseChannel):
    """A bot, with an address as apprise has it: `tgram://BOT_TOKEN/CHAT_ID/…`.

    Only the chats in the address are listened to: a bot can be found by anybody. Answers go to the
    chat that a message came from.
    """

    def __init__(self, name: str, settings: ChannelConfig) -> None:
        super().__init__(name, settings)
        self._stop = Event()
        self._thread: Thread | None = None
        self._client: httpx2.Client | None = None
        self._trouble = ""

    def connect(self) -> None:
        """Start to receive.

        Raises:
            ChannelError: when the address cannot be used.
        """
        if self._thread is not None and self._thread.is_alive():
            return
        plugin = self.plugin()
        chats = {str(target[0]) for target in plugin.targets}
        url = f"{plugin.notify_url}{plugin.bot_token}/getUpdates"
        self._stop.clear()
        self._trouble = ""
        self._client = httpx2.Client(timeout=_POLL_SECONDS + self._settings.timeout_seconds)
        self._thread = Thread(
            target=self._poll,
            args=(self._client, url, chats),
            name=f"openjarvis-{self.channel_id}",
            daemon=True,
        )
        self._thread.start()

    def disconnect(self) -> None:
        self._stop.set()
        if self._client is not None:
            self._client.close()  # ends the poll that waits

    def look(self) -> tuple[ChannelStatus, str]:
        if self._trouble:
            return ChannelStatus.ERROR, self._trouble
        return super().look()

    def plugin(self, conversation_id: str = "") -> Any:
        address = self.address
        if conversation_id:
            token = address.partition("://")[2].split("/")[0]
            address = f"tgram://{token}/{quote(conversation_id, safe='')}"
        return self.made(address)

    def _poll(self, client: httpx2.Client, url: str, chats: set[str]) -> None:
        offset, pause = 0, 1.0
        while not self._stop.is_set():
            wanted = {"timeout": _POLL_SECONDS, "offset": offset, "allowed_updates": ["message"]}
            try:
                response = client.post(url, json=wanted)
                answer = response.json()
            except (httpx2.HTTPError, RuntimeError, ValueError) as error:
                # RuntimeError: `disconnect` has closed the client.
                if not self._stop.is_set():
                    _log.warning("%s: polling failed: %s", self.channel_id, masked(str(error)))
                self._stop.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            if response.is_success and isinstance(answer, dict) and answer.get("ok"):
                pause = 1.0
                for update in answer.get("result") or ():
                    offset = max(offset, update["update_id"] + 1)
                    self._take(update.get("message"), chats)
            elif not self._can_go_on(response.status_code, answer):
                return

    def _can_go_on(self, status: int, answer: Any) -> bool:
        told = answer if isinstance(answer, dict) else {}
        reason = masked(str(told.get("description", f"HTTP {status}")))
        if status in (401, 403, 404):
            self._trouble = f"Telegram refuses the token: {reason}"
            _log.error("%s: %s", self.channel_id, self._trouble)
            return False
        _log.warning("%s: Telegram answers: %s", self.channel_id, reason)
        after = (told.get("parameters") or {}).get("retry_after", 5)
        self._stop.wait(min(float(after), _LONGEST_PAUSE))
        return True

    def _take(self, message: Any, chats: set[str]) -> None:
        if not isinstance(message, dict) or not message.get("text"):
            return
        chat = str(message["chat"]["id"])
        if chat not in chats:
            _log.warning("%s: a message from the unknown chat %s", self.channel_id, chat)
            return
        sender = message.get("from") or {}
        received = ChannelMessage(
            self.channel_id,
            str(sender.get("username") or sender.get("id") or chat),
            message["text"],
            str(message.get("message_id", "")),
            chat,
        )
        workers.start(lambda: self._answer(received))

    def _answer(self, message: ChannelMessage) -> None:
        for answer in self.answers(message):
            try:
                self.send(self.channel_id, answer, conversation_id=message.conversation_id)
            except Exception:  # noqa: BLE001 - nobody waits for this thread; the log is told
                _log.exception("An answer was not sent to %s", self.channel_id)
