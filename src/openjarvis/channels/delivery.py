"""One message through apprise, sent again only where the service surely did not take it."""

import logging
import re
import sys
from threading import Event
from typing import Any

from openjarvis.config import ChannelConfig

_FIRST_PAUSE = 0.5
_STATUS = re.compile(r"\berror=(\d{3})\b")
_NOT_TAKEN = frozenset({"429", "503"})
"""Answers with which a service says that it did not take a message, but may take it later."""

_NO_CONNECTION = frozenset(
    [
        "ConnectionRefusedError", "ConnectTimeoutError", "NewConnectionError", "SMTPConnectError",
        "gaierror",
    ]
)  # fmt: skip
"""Errors of the standard library and of urllib3, after which nothing can have arrived."""

_LOGIN_REFUSED = "SMTPAuthenticationError"

_PERHAPS = "the message may or may not have arrived"


def bind(plugin: Any, seconds: float) -> Any:
    """Return apprise's `plugin`, held to our time-out and to the place that its address names."""
    plugin.socket_connect_timeout = plugin.socket_read_timeout = seconds
    plugin.redirects = False  # the credentials and the message would go to whoever is named
    plugin.retry = 0  # apprise would send again also what got no answer
    return plugin


class Delivery:
    """Sends through one of apprise's plugins, and counts its requests."""

    def __init__(self, plugin: Any, settings: ChannelConfig) -> None:
        # Optional, and loaded already by whoever made the plugin.
        from apprise import Apprise

        self._settings = settings
        self._requests = 0
        self._heard: list[str] = []
        self._error: frozenset[str] = frozenset()
        self._throttle = plugin.throttle
        plugin.throttle = self._counted
        self._apprise = Apprise()
        self._apprise.add(plugin)

    def send(self, text: str, *, title: str) -> str:
        """Send a message; return why the service did not take it, "" when it did.

        It is sent again only when the one request that was made found no connection or was refused
        for now. After a time-out, a broken connection or a refusal by one of several recipients it
        may have arrived.
        """
        told = ""
        for attempt in range(self._settings.attempts):
            if attempt:
                Event().wait(_FIRST_PAUSE * 2 ** (attempt - 1))
            self._requests, self._heard, self._error = 0, [], frozenset()
            result = self._notified(text, title)
            if result:
                return ""
            told = "; ".join(dict.fromkeys(self._heard))
            status = _STATUS.search(told)
            if result.status.name == "TIMEOUT":
                told, status = f"no answer within {self._settings.timeout_seconds:g} s", None
            elif not self._requests:
                return told or "the service did not take it"
            elif _LOGIN_REFUSED in self._error:
                return told
            elif self._requests == 1 and self._error & _NO_CONNECTION:
                continue
            if self._requests != 1 or status is None:
                return f"{told}; {_PERHAPS}"
            if status[1].startswith("3"):
                return f"{told}; redirects are not followed"
            if status[1] not in _NOT_TAKEN:
                # The service broke, which it may have done after it passed the message on.
                return f"{told}; {_PERHAPS}" if status[1].startswith("5") else told
        return told

    def _notified(self, text: str, title: str) -> Any:
        return self._apprise.notify(
            text,
            title=title,
            # By its value: apprise may be loaded only where it is used.
            body_format="text",
            timeout=self._settings.timeout_seconds,
            log_callback=self._hear,
            log_level=logging.WARNING,
        )

    def _hear(self, entry: Any, _: Any) -> None:
        """Keep what a plugin logs, with the error that it is just handling."""
        said, error = entry.message.rstrip("."), sys.exc_info()[1]
        self._heard.append(f"{said} ({type(error).__name__})" if error is not None else said)
        self._error = _kinds_of(error)

    def _counted(self, *args: Any, **options: Any) -> Any:
        """Stand in the place of `throttle`, which apprise calls before every request."""
        self._requests += 1
        return self._throttle(*args, **options)


def _kinds_of(error: BaseException | None) -> frozenset[str]:
    """Return the names of an error's types, and those of the cause that is in one of requests."""
    cause = getattr(error.args[0], "reason", None) if error is not None and error.args else None
    return frozenset(kind.__name__ for one in (error, cause) for kind in type(one).__mro__)
