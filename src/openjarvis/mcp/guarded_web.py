"""The HTTP client of servers that are called: it reaches the configured place and public ones.

What a server names (where a login is made, where its tokens are) is data from outside. It may lead
to the public internet, and to what the user opened; never into this machine or its network.
"""

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import contextmanager
from typing import Any

import anyio
import httpcore2
import httpx2

from openjarvis.core.workers import run_in_worker
from openjarvis.mcp.content import MAX_MESSAGE
from openjarvis.safety.network import Resolve, check_addresses, resolve
from openjarvis.safety.transport import core_request
from openjarvis.safety.urls import BlockedURL, check_url

_TIMEOUT = httpx2.Timeout(30.0, read=300.0)  # a server may hold a stream open
_DEFAULT_PORTS = {"http": 80, "https": 443}
_MOST_ADDRESSES_TRIED = 3

Hooks = Mapping[str, list[Callable[[Any], Awaitable[None]]]]


def guarded_client(
    url: str,
    *,
    hosts: Collection[str] = (),
    headers: Mapping[str, str] | None = None,
    timeout: httpx2.Timeout = _TIMEOUT,
    auth: httpx2.Auth | None = None,
    hooks: Hooks | None = None,
    resolve: Resolve = resolve,
) -> httpx2.AsyncClient:
    """Return a client for the server at `url`, a place that may be private as the user named it.

    So may those of `hosts` (`host` or `host:port`); any other place must be public. Requests raise
    `BlockedURL` where they lead elsewhere. `hooks` are those of `httpx2`.
    """
    return httpx2.AsyncClient(
        headers={**(headers or {}), "Accept-Encoding": "identity"},
        timeout=timeout,
        auth=auth,
        event_hooks=hooks,
        transport=_GuardedTransport(allowed_places(url, hosts), resolve),
    )


def allowed_places(url: str, hosts: Collection[str] = ()) -> frozenset[str]:
    """Return the places that may be private, as `check_url` takes them."""
    configured = httpx2.URL(url)
    host = f"[{configured.host}]" if ":" in configured.host else configured.host
    places = {f"{host}:{configured.port or _DEFAULT_PORTS.get(configured.scheme)}"}
    if configured.scheme == "http" and configured.port is None:
        places.add(f"{host}:443")  # where a server may lead that is called without TLS
    return frozenset({*places, *hosts})


class _GuardedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, allowed: Collection[str], resolve: Resolve) -> None:
        self._allowed = allowed
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(),
            network_backend=_GuardedBackend(allowed, resolve),
            max_connections=100,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        check_url(str(request.url.copy_with(userinfo=b"")), allowed=self._allowed)
        with _named_as_httpx():
            answer = await self._pool.handle_async_request(core_request(request))
        return httpx2.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(answer),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, bounded unless it is a stream of events."""

    def __init__(self, answer: httpcore2.Response) -> None:
        self._answer = answer
        headers = httpx2.Headers(answer.headers)
        self._bounded = not headers.get("content-type", "").startswith("text/event-stream")
        self._encoding = headers.get("content-encoding", "identity")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._encoding.strip().lower() != "identity":
            raise httpx2.ReadError("the answer is compressed, which was not asked for")
        size = 0
        with _named_as_httpx():
            async for chunk in self._answer.aiter_stream():
                size += len(chunk)
                if self._bounded and size > MAX_MESSAGE:
                    raise httpx2.ReadError(f"the answer has more than {MAX_MESSAGE:,} bytes")
                yield chunk

    async def aclose(self) -> None:
        await self._answer.aclose()


class _GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections to addresses that were checked; a name is resolved once for each."""

    def __init__(self, allowed: Collection[str], resolve: Resolve) -> None:
        self._allowed = allowed
        self._resolve = resolve
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception = httpcore2.ConnectError("no address")
        addresses = await self._checked_addresses(host, port, timeout)
        for address in addresses[:_MOST_ADDRESSES_TRIED]:
            try:
                return await self._network.connect_tcp(address, port, timeout=timeout)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore2.AsyncNetworkStream:
        raise BlockedURL("a unix socket is not on the public internet.")

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    async def _checked_addresses(self, host: str, port: int, timeout: float | None) -> list[str]:
        try:
            with anyio.fail_after(timeout):
                found: list[str] = await run_in_worker(lambda: self._resolve(host, port))
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout("the name was not resolved in time") from error
        except OSError as error:
            raise httpcore2.ConnectError(f"the host {host!r} could not be resolved") from error
        check_addresses(found, host, port, allowed=self._allowed)
        return found


@contextmanager
def _named_as_httpx() -> Iterator[None]:
    """Raise the errors of `httpcore2` as those of `httpx2`, which have the same names."""
    try:
        yield
    except (
        httpcore2.NetworkError,
        httpcore2.TimeoutException,
        httpcore2.ProtocolError,
        httpcore2.UnsupportedProtocol,
    ) as error:
        named = getattr(httpx2, type(error).__name__, httpx2.TransportError)
        raise named(str(error)) from error
