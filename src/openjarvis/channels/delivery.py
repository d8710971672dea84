"""One message through apprise, sent again only where the service surely did not take it."""

import re
from threading import Event
from typing import Any

from openjarvis.config import ChannelConfig

_FIRST_PAUSE = 0.5
_STATUS = re.compile(r"\berror=(\d{3})\b")
_NOT_TAKEN = frozenset({"429", "500", "503"})
"""Answers with which a service says that it did not take a message, but may take it later."""

_PERHAPS = "the message may or may not have arrived"


def bind(plugin: Any, seconds: float) -> Any:
    """Return apprise's `plugin`, held to our time-out and to the place that its address names."""
    plugin.socket_connect_timeout = plugin.socket_read_timeout = seconds
    plugin.redirects = False  # the credentials and the message would go to whoever is named
    plugin.retry = 0  # apprise would send again also what got no answer
    return plugin


def deliver(plugin: Any, text: str, *, settings: ChannelConfig) -> str:
    """Send a message; return why the service did not take it, "" when it did.

    It is sent again only when the one request that was made was refused for now. After a time-out,
    a broken connection or a refusal by one of several recipients it may have arrived.
    """
    # Optional, and loaded already by whoever made the plugin.
    from apprise import Apprise, AppriseResultStatus, NotifyFormat

    requests = _requests_of(plugin)
    apprise = Apprise()
    apprise.add(plugin)
    told = ""
    for attempt in range(settings.attempts):
        if attempt:
            Event().wait(_FIRST_PAUSE * 2 ** (attempt - 1))
        requests.clear()
        result = apprise.notify(
            text, body_format=NotifyFormat.TEXT, timeout=settings.timeout_seconds
        )
        if result:
            return ""
        if result.status is AppriseResultStatus.TIMEOUT:
            return f"no answer within {settings.timeout_seconds:g} s; {_PERHAPS}"
        told = "; ".join(dict.fromkeys(entry.message.rstrip(".") for entry in result.logs()))
        status = _STATUS.search(told)
        if len(requests) != 1 or status is None:
            return f"{told}; {_PERHAPS}" if requests else told
        if status[1] not in _NOT_TAKEN:
            return told
    return told


def _requests_of(plugin: Any) -> list[None]:
    """Return a list that grows with each request: apprise calls `throttle` before every one."""
    requests: list[None] = []
    throttle = plugin.throttle

    def counted(*args: Any, **options: Any) -> Any:
        requests.append(None)
        return throttle(*args, **options)

    plugin.throttle = counted
    return requests
