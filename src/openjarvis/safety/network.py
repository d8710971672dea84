"""Connections that reach only what was checked: a network backend for `httpcore2`.

A name is resolved once; every address is checked; the connection goes to a checked address. TLS and
the Host header keep the name, for they are made above this.
"""

import socket
import ssl
import time
from collections.abc import Callable, Collection, Iterable
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import httpcore2

from openjarvis.core.errors import ToolError
from openjarvis.safety.addresses import is_public
from openjarvis.safety.urls import BlockedURL, Origin

Resolve = Callable[[str, int], list[str]]
"""Gives the addresses of a name."""

Dial = Callable[[str, int, float], httpcore2.NetworkStream]
"""Connects to an address and port within a time."""

_MOST_ADDRESSES_TRIED = 3


class Deadline:
    """The moment by which a whole call must be over."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def left(self, most: float | None = None) -> float:
        """Return the seconds that remain, `most` at most.

        Raises:
            httpcore2.ReadTimeout: when none do.
        """
        seconds = self._at - time.monotonic()
        if seconds <= 0:
            raise httpcore2.ReadTimeout("the time for the whole call is over")
        return seconds if most is None else min(seconds, most)


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses that this system knows for `host`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def check_addresses(
    addresses: Iterable[str], host: str, port: int, *, allowed: Collection[str]
) -> None:
    """Return when all of the `addresses` of `host` may be connected to.

    Raises:
        BlockedURL: when one is not public, and `allowed` does not list the host.
    """
    if not Origin("", host, port).is_listed(allowed):
        for address in addresses:
            if not is_public(ip_address(address)):
                raise BlockedURL(f"{host!r} leads to an address that is not public.")


def dial(address: str, port: int, seconds: float) -> httpcore2.NetworkStream:
    """Return a connection to `address`, which is no name, so that nothing is resolved again."""
    return httpcore2.SyncBackend().connect_tcp(address, port, timeout=seconds)


class GuardedBackend(httpcore2.NetworkBackend):
    """Opens connections to public addresses, and to the places that the user listed."""

    def __init__(
        self,
        deadline: Deadline,
        *,
        allowed: Collection[str] = (),
        resolve: Resolve = resolve,
        dial: Dial = dial,
    ) -> None:
        self._deadline = deadline
        self._allowed = allowed
        self._resolve = resolve
        self._dial = dial

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first of the checked addresses that answers."""
        failure: Exception = httpcore2.ConnectError("no address")
        for address in self._checked_addresses(host, port)[:_MOST_ADDRESSES_TRIED]:
            try:
                stream = self._dial(address, port, self._deadline.left(timeout))
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
                continue
            return _HurriedStream(stream, self._deadline)
        raise failure

    def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore2.NetworkStream:
        """Refuse: nothing of the public internet is behind a file."""
        raise BlockedURL("a unix socket is not on the public internet.")

    def _checked_addresses(self, host: str, port: int) -> list[str]:
        addresses = _within(self._deadline, host, lambda: self._resolve(host, port))
        check_addresses(addresses, host, port, allowed=self._allowed)
        return addresses


class _HurriedStream(httpcore2.NetworkStream):
    """A stream whose every wait ends with the deadline of the call, however slowly bytes drip."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        within = self._deadline.left(timeout)
        secured = self._stream.start_tls(ssl_context, server_hostname, within)
        return _HurriedStream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _within(deadline: Deadline, host: str, find: Callable[[], list[str]]) -> list[str]:
    """Return what `find` gives for `host`; a resolver that hangs is left behind at the deadline."""
    answer: SimpleQueue[list[str] | Exception] = SimpleQueue()

    def work() -> None:
        try:
            answer.put(find())
        except Exception as error:  # noqa: BLE001 - carried to the caller's thread, whatever it is
            answer.put(error)

    Thread(target=work, name="resolver", daemon=True).start()
    try:
        found = answer.get(timeout=deadline.left())
    except Empty:
        raise httpcore2.ConnectTimeout("the name was not resolved in time") from None
    if isinstance(found, Exception):
        raise ToolError(
            f"The host {host[:100]!r} could not be resolved: a wrong name, or no network."
        ) from found
    return found
