"""The three ways to a server: a process over stdio, streamable HTTP, SSE; and seeing it end."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, TextIO

import httpx2
from anyio import EndOfStream
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from openjarvis.config import McpServerConfig
from openjarvis.core import workers
from openjarvis.mcp.content import MAX_MESSAGE
from openjarvis.mcp.guarded_web import Hooks, guarded_client
from openjarvis.mcp.page import take_out_broken
from openjarvis.mcp.servers import Server
from openjarvis.mcp.stdio import server_process
from openjarvis.mcp.streams import ReadStream
from openjarvis.safety.concealment import masked

Streams = tuple[Any, Any]
_TAIL = 2_000


class StderrTail:
    """What a server's process wrote last to its stderr, for the reason why it ended."""

    def __init__(self) -> None:
        self._tail = b""
        self._drained: workers.Job | None = None

    @contextmanager
    def file(self) -> Iterator[TextIO]:
        """Yield a file to write to; what is written is read away, so that it never fills up."""
        reading, writing = os.pipe()
        self._tail = b""
        self._drained = workers.start(lambda: self._drain(reading))
        with os.fdopen(writing, "w", encoding="utf-8") as sink:
            yield sink

    def last_line(self) -> str:
        """Return the last line, safe to show; only after `file` has ended."""
        if self._drained is not None:
            self._drained.wait(0.2)
        lines = self._tail.decode(errors="replace").strip().splitlines()
        return masked(lines[-1], 200) if lines else ""

    def _drain(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb", buffering=0) as source:
            while chunk := source.read(65_536):
                self._tail = (self._tail + chunk)[-_TAIL:]


@asynccontextmanager
async def open_transport(
    server: Server,
    settings: McpServerConfig,
    *,
    stderr: StderrTail,
    auth: httpx2.Auth | None,
    hooks: Hooks,
) -> AsyncIterator[Streams]:
    """Yield the streams to a server; leaving ends its process or connection.

    `hooks` are called at each request and answer over HTTP.
    """
    if server.kind == "stdio":
        with stderr.file() as errlog:
            async with server_process(settings, errlog) as streams:
                yield streams
        return
    client = partial(guarded_client, settings.url, hosts=settings.oauth_hosts, hooks=hooks)
    if server.kind == "sse":
        async with sse_client(
            settings.url,
            headers=settings.headers,
            timeout=settings.connect_timeout_seconds,
            httpx_client_factory=client,
            auth=auth,
        ) as streams:
            yield streams
    else:
        async with (
            client(headers=settings.headers, auth=auth) as http_client,
            streamable_http_client(
                settings.url, http_client=http_client, max_sse_event_size=MAX_MESSAGE
            ) as streams,
        ):
            yield streams


@asynccontextmanager
async def watched(
    transport: AbstractAsyncContextManager[Streams],
    on_end: Callable[[str], None],
    on_broken: Callable[[list[str]], None],
) -> AsyncIterator[Streams]:
    """Yield the streams of `transport`; `on_end` is told why when the server's side has ended.

    `on_broken` is told of tools that are none, which are taken out of what is read.
    """
    async with transport as (reading, writing):
        yield _WatchedStream(reading, on_end, on_broken), writing


class _WatchedStream(ReadStream):
    """Tells when it ends, and takes out tools that are none."""

    def __init__(
        self,
        inner: Any,
        on_end: Callable[[str], None],
        on_broken: Callable[[list[str]], None],
    ) -> None:
        super().__init__(inner)
        self._on_end = on_end
        self._on_broken = on_broken

    async def receive(self) -> Any:
        try:
            received = await super().receive()
        except EndOfStream as end:
            self._on_end(str(end))
            raise
        if isinstance(received, SessionMessage):
            self._on_broken(take_out_broken(received.message))
        return received
