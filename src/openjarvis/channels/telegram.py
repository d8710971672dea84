"""Telegram: sending through apprise, receiving by long polling of the Bot API."""

import logging
import math
from collections.abc import Callable
from threading import Event, Thread
from typing import Any
from urllib.parse import quote

import httpx2

from openjarvis.channels.apprise_channel import AppriseChannel
from openjarvis.channels.base import ChannelMessage, ChannelStatus
from openjarvis.config import ChannelConfig
from openjarvis.core import workers
from openjarvis.safety.concealment import masked

_log = logging.getLogger("openjarvis.channels")
_POLL_SECONDS = 25
FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_REFUSED = (401, 403, 404)
_CONFLICT = 409


class TelegramChannel(AppriseChannel):
    """A bot, with an address as apprise has it: `tgram://BOT_TOKEN/CHAT_ID/…`.

    Only the chats in the address are listened to: a bot can be found by anybody. Answers go to the
    chat that a message came from.
    """

    def __init__(self, name: str, settings: ChannelConfig) -> None:
        super().__init__(name, settings)
        self._polling: _Polling | None = None

    def connect(self) -> None:
        """Start to receive.

        Raises:
            ChannelError: when the address cannot be used.
        """
        if self._polling is not None and self._polling.goes_on():
            return
        plugin = self.plugin()
        chats = {str(target[0]) for target in plugin.targets}
        self._polling = _Polling(
            self.channel_id,
            f"{plugin.notify_url}{plugin.bot_token}/getUpdates",
            timeout=self._settings.timeout_seconds,
            offset=self._polling.offset if self._polling is not None else 0,
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
        address = self.address
        if conversation_id:
            token = address.partition("://")[2].split("/")[0]
            address = f"tgram://{token}/{quote(conversation_id, safe='')}"
        return self.made(address)

    def _take(self, update: dict[str, Any], chats: set[str]) -> None:
        received = _message(self.channel_id, update.get("message"))
        if received is None:
            return
        if received.conversation_id not in chats:
            chat = received.conversation_id
            _log.warning("%s: a message from the unknown chat %s", self.channel_id, chat)
            return
        workers.start(lambda: self._answer(received))

    def _answer(self, message: ChannelMessage) -> None:
        for answer in self.answers(message):
            try:
                self.send(self.channel_id, answer, conversation_id=message.conversation_id)
            except Exception:  # noqa: BLE001 - nobody waits for this thread; the log is told
                _log.exception("An answer was not sent to %s", self.channel_id)


class _Polling:
    """Asks for updates until it is stopped; Telegram keeps those that were not asked past yet."""

    def __init__(
        self,
        name: str,
        url: str,
        *,
        timeout: float,
        offset: int,
        take: Callable[[dict[str, Any]], None],
    ) -> None:
        self.trouble = ""
        self.offset = offset
        self._name = name
        self._url = url
        self._timeout = _POLL_SECONDS + timeout
        self._take = take
        self._stop = Event()
        self._thread = Thread(target=self._run, name=f"openjarvis-{name}", daemon=True)
        self._pause = FIRST_PAUSE

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Take nothing any more; the poll that waits ends by itself."""
        self._stop.set()

    def goes_on(self) -> bool:
        """Tell whether it was not stopped and did not give up."""
        return self._thread.is_alive() and not self._stop.is_set()

    def _run(self) -> None:
        with httpx2.Client(timeout=self._timeout) as client:
            while not self._stop.is_set():
                try:
                    status, answer = self._asked(client)
                except (httpx2.HTTPError, ValueError) as error:
                    self._wait(f"polling failed: {error}", self._longer_pause())
                    continue
                if self._stop.is_set():
                    return  # what came is not confirmed, and comes again
                updates = answer.get("result")
                if status == httpx2.codes.OK and answer.get("ok") and isinstance(updates, list):
                    self._pass_on(updates)
                elif not self._can_go_on(status, answer):
                    return

    def _asked(self, client: httpx2.Client) -> tuple[int, dict[str, Any]]:
        wanted = {
            "timeout": _POLL_SECONDS,
            "offset": self.offset,
            "allowed_updates": ["message"],
        }
        response = client.post(self._url, json=wanted)
        answer = response.json()
        return response.status_code, answer if isinstance(answer, dict) else {}

    def _pass_on(self, updates: list[Any]) -> None:
        numbered = [
            one
            for one in updates
            if isinstance(one, dict) and isinstance(one.get("update_id"), int)
        ]
        self.trouble = ""
        for update in numbered:
            if self._stop.is_set():
                return
            self.offset = update["update_id"] + 1
            self._take(update)
        if updates and not numbered:  # they cannot be confirmed, and come again at once
            self._wait("updates without a number", self._longer_pause())
        else:
            self._pause = FIRST_PAUSE

    def _can_go_on(self, status: int, answer: dict[str, Any]) -> bool:
        reason = masked(str(answer.get("description") or f"HTTP {status}"))
        if status in _REFUSED:
            self.trouble = f"Telegram refuses the token: {reason}"
            _log.error("%s: %s", self._name, self.trouble)
            return False
        if status == _CONFLICT:
            self.trouble = f"another program receives for this bot: {reason}"
        self._wait(f"Telegram answers: {reason}", _retry_after(answer) or self._longer_pause())
        return True

    def _wait(self, why: str, seconds: float) -> None:
        if not self._stop.is_set():
            _log.warning("%s: %s", self._name, masked(why))
            self._stop.wait(seconds)

    def _longer_pause(self) -> float:
        pause, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
        return pause


def _retry_after(answer: dict[str, Any]) -> float:
    """Return how many seconds Telegram wants us to wait, 0 where it does not say."""
    told = answer.get("parameters")
    seconds = told.get("retry_after") if isinstance(told, dict) else None
    if not isinstance(seconds, int | float) or not math.isfinite(seconds) or seconds <= 0:
        return 0.0
    return min(float(seconds), _LONGEST_PAUSE)


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
