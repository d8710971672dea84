"""An `httpx2` transport whose every connection is checked; any fetcher can be given one."""

import ssl
from collections.abc import Iterator
from typing import Any

import httpcore2
import httpx2

from openjarvis.safety.network import GuardedBackend


class GuardedTransport(httpx2.BaseTransport):
    """Sends requests through `backend`; no proxy and no certificate comes from the environment."""

    def __init__(self, backend: GuardedBackend) -> None:
        self._pool = httpcore2.ConnectionPool(
            ssl_context=ssl.create_default_context(),
            network_backend=backend,
            max_connections=4,
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer, its body still to be read.

        Raises:
            httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException: as they
                happen.
            BlockedURL: when the name leads to an address that is not public.
        """
        answer = self._pool.handle_request(core_request(request))
        return httpx2.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer),
            extensions=answer.extensions,
            request=request,
        )

    def close(self) -> None:
        self._pool.close()


def core_request(request: httpx2.Request) -> httpcore2.Request:
    """Return the request as the connections of `httpcore2` take it."""
    stream: Any = request.stream
    return httpcore2.Request(
        method=request.method,
        url=httpcore2.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        ),
        headers=request.headers.raw,
        content=stream,
        extensions=request.extensions,
    )


class _Body(httpx2.SyncByteStream):
    def __init__(self, answer: httpcore2.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()
