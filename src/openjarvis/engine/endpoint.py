"""Where a model is asked, checked before anything is sent there."""

import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from openjarvis.core.errors import LLMError, LLMErrorCode, invalid_request
from openjarvis.engine.errors import Server

NO_KEY = "none"
"""What is sent where no key is wanted; the client library insists on one."""

_KEY_NAMES = {
    "api.openai.com": "OPENAI_API_KEY",
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
}
"""Servers that are known to want a key, and the variable that holds it."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The base URL of a server and the key for it.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when the URL or the key cannot be one.
    """

    base_url: str
    api_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", self.base_url.strip())
        object.__setattr__(self, "api_key", self.api_key.strip())
        if not self._is_web_address():
            raise invalid_request(
                f"The base URL {_beginning(self.base_url)!r} is no URL; expected http:// or "
                "https:// and a host, e.g. 'http://127.0.0.1:11434/v1'."
            )
        if "?" in self.base_url or "#" in self.base_url:
            # Not shown: keys stand in queries.
            raise invalid_request(
                f"The base URL of {self.host} has a query ('?…') or a fragment ('#…'), which paths "
                "cannot be added to; leave it out, and set a key as the API key."
            )
        if not (self.api_key.isascii() and self.api_key.isprintable()):
            raise invalid_request(
                "The API key holds characters that cannot be sent (it may have been pasted with "
                "something around it); copy it again."
            )

    @property
    def host(self) -> str:
        """The host of the URL."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def path(self) -> str:
        """The path of the URL, without a slash at its end."""
        return urlsplit(self.base_url).path.rstrip("/")

    @property
    def server(self) -> Server:
        """How messages speak of it: host and port, without credentials."""
        return Server(urlsplit(self.base_url).netloc.rpartition("@")[2], self.api_key)

    @property
    def is_local(self) -> bool:
        """Tell whether it is on this machine."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def usable_key(self) -> str:
        """Return the key to send.

        Raises:
            LLMError: `LLM_UNAUTHORIZED` when there is none and the server is known to want one.
        """
        if not self.api_key and self.host in _KEY_NAMES:
            raise LLMError(
                LLMErrorCode.UNAUTHORIZED,
                f"There is no API key for {self.host}. Set {_KEY_NAMES[self.host]}, or configure a "
                "key or another base URL.",
                401,
            )
        return self.api_key or NO_KEY

    def _is_web_address(self) -> bool:
        try:
            parts = urlsplit(self.base_url)
            has_host = bool(parts.hostname) and parts.port != 0
        except ValueError:
            return False
        printable = self.base_url.isprintable() and " " not in self.base_url
        return parts.scheme in ("http", "https") and has_host and printable


def _beginning(url: str) -> str:
    """Return as much of a URL as holds no key: neither its user nor what follows the host."""
    scheme, mark, rest = url.partition("://") if "://" in url else ("", "", url)
    place, *more = re.split(r"[/?#]", rest, maxsplit=1)
    return f"{scheme}{mark}{place.rpartition('@')[2]}"[:200] + ("/…" if more else "")
