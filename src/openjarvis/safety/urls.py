"""What a URL must be before anything is sent to it. Pure: no name is resolved here."""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from openjarvis.core.errors import ToolError
from openjarvis.safety.addresses import Address, is_public

_LONGEST: Final = 8192
_PORTS: Final = {"http": 80, "https": 443}
_INVISIBLE: Final = ("Cc", "Cf", "Zs", "Zl", "Zp")
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOCAL_NAMES: Final = ("localhost", "local", "internal", "localdomain", "home.arpa")


class BlockedURL(ToolError):
    """A URL that is not fetched; the text starts with "SSRF protection" and says why."""

    def __init__(self, why: str) -> None:
        super().__init__(f"SSRF protection: {why}")
        self.why = why


@dataclass(frozen=True, slots=True)
class Origin:
    """The place that a URL names: what must match for credentials to travel on."""

    scheme: str
    host: str
    port: int

    @property
    def address(self) -> Address | None:
        """The host as an address, None where it is a name."""
        return _address(self.host)

    def is_listed(self, allowed: Collection[str]) -> bool:
        """Tell whether the user opened this place on purpose: by `host` or `host:port`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.host in allowed or host in allowed or f"{host}:{self.port}" in allowed


def check_url(url: str, *, allowed: Collection[str] = ()) -> Origin:
    """Return the place that `url` names, when it may be on the public internet.

    A name must still be resolved and its addresses checked. `allowed` holds the places that the
    user opened on purpose (`host` or `host:port`); they may be private.

    Raises:
        BlockedURL: when the URL is malformed, ambiguous, or names a private place.
    """
    parts = _split(url)
    if parts.username is not None or parts.password is not None:
        raise BlockedURL("a URL with a user name or password in it is not fetched; use a header.")
    origin = Origin(parts.scheme, _host(parts), _port(parts))
    if not origin.is_listed(allowed):
        _refuse_private(origin)
    return origin


def _split(url: str) -> SplitResult:
    if len(url) > _LONGEST:
        raise BlockedURL(f"the URL is longer than {_LONGEST} characters.")
    if any(char == "\\" or unicodedata.category(char) in _INVISIBLE for char in url):
        raise BlockedURL(
            "the URL has a backslash, a space or a control character in it; encode it as %XX."
        )
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise BlockedURL(f"the URL cannot be read ({error}).") from error
    if parts.scheme not in _PORTS:
        # "example.com:8080" is read as the scheme "example.com".
        if parts.scheme and "." not in parts.scheme:
            raise BlockedURL(f"only http and https URLs are fetched, not {parts.scheme[:20]!r}.")
        raise BlockedURL("only http and https URLs are fetched; write https://example.com/….")
    return parts


def _port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError as error:
        raise BlockedURL("the port is not a number from 1 to 65535.") from error
    if port == 0:
        raise BlockedURL("the port is not a number from 1 to 65535.")
    return port or _PORTS[parts.scheme]


def _host(parts: SplitResult) -> str:
    """Return the host in its one canonical form: lower case, ASCII, no trailing dot."""
    host = parts.hostname or ""
    if parts.netloc.rpartition("@")[2].startswith("["):
        return _ipv6(host)
    host = _ascii(host).removesuffix(".")
    labels = host.split(".")
    if not host or len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BlockedURL("the host name is missing or malformed.")
    if _NUMBER.fullmatch(labels[-1]):
        # What other programs would read as an address in octal, hexadecimal or one long number.
        try:
            return str(IPv4Address(host))
        except AddressValueError:
            raise BlockedURL(
                f"{host[:60]!r} is an unusual way to write an address; write four decimal numbers."
            ) from None
    return host


def _ipv6(host: str) -> str:
    if "%" in host:
        raise BlockedURL("an address with a zone is not on the public internet.")
    try:
        return str(IPv6Address(host))
    except AddressValueError:
        raise BlockedURL("the host in brackets is not an IPv6 address.") from None


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    if unicodedata.normalize("NFKC", host).isascii():
        raise BlockedURL("the host name has characters that only look like letters or digits.")
    try:
        return host.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise BlockedURL("the host name is malformed.") from error


def _refuse_private(origin: Origin) -> None:
    address = origin.address
    if address is not None:
        if not is_public(address):
            raise BlockedURL(f"{origin.host} is not an address of the public internet.")
        return
    if origin.host in _LOCAL_NAMES or origin.host.endswith(tuple("." + n for n in _LOCAL_NAMES)):
        raise BlockedURL(f"{origin.host!r} is a name inside this machine or its network.")
    if "." not in origin.host:
        raise BlockedURL(f"{origin.host!r} is not a name of the public internet; it has no dot.")


def _address(host: str) -> Address | None:
    for kind in (IPv4Address, IPv6Address):
        try:
            return kind(host)
        except AddressValueError:
            continue
    return None
