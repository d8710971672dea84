"""One server, kept connected by a task that owns everything opened for it.

The owner connects, lists the tools, and waits until the connection ends; then it tries again, later
and later. Whoever calls meanwhile is answered "unavailable: …" at once.
"""

import asyncio
import atexit
import logging
import math
import os
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakSet

import anyio
import httpx2
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp.types import CONNECTION_CLOSED, Implementation, ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp import Client
from openjarvis._version import __version__
from openjarvis.config import McpServerConfig
from openjarvis.core.errors import ToolError
from openjarvis.mcp.answers import Answers
from openjarvis.mcp.definitions import MAX_TOOLS, Definition, Listing, listing
from openjarvis.mcp.errors import ServerUnavailable, told
from openjarvis.mcp.loop_thread import CLOSED, LoopThread
from openjarvis.mcp.refusals import Refusals
from openjarvis.mcp.servers import Server
from openjarvis.mcp.transport import StderrTail, open_transport, watched
from openjarvis.safety.concealment import masked
from openjarvis.toolkit.context import ToolContext

_log = logging.getLogger("openjarvis.mcp")
for _name in ("mcp", "client"):  # the SDK's; its tracebacks are for who asks
    logging.getLogger(_name).addHandler(logging.NullHandler())

MAX_PAGES = 100
CLOSE_SECONDS = 10.0
"""How long closing waits for a server to end."""

_SESSION_TERMINATED = "Session terminated"
_CHANGES_SETTLE = 0.1

_of_this_process: "WeakSet[Connection]" = WeakSet()
_left_behind: list[LoopThread] = []
"""Of the process that this one was forked from: their loops are not ours to close."""

Login = Callable[[str, McpServerConfig], httpx2.Auth]
"""Gives the authorization of requests to a server, by its name and settings."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before a server is tried again, in seconds.

    `first`, then twice as long each time up to `most`; anew after a connection of `steady`.
    """

    first: float = 0.5
    most: float = 60.0
    steady: float = 30.0


class Connection:
    """A server that is connected to when it is first needed. Any thread may call any method."""

    def __init__(
        self,
        server: Server,
        answers: Answers,
        *,
        login: Login,
        backoff: Backoff | None = None,
    ) -> None:
        self.server = server
        self.reason = ""
        self.protocol = ""
        self._answers = answers
        self._login = login
        self._backoff = backoff or Backoff()
        self._closed = False
        self._begin()
        _of_this_process.add(self)

    def _begin(self) -> None:
        self._lock = Lock()
        self._thread: LoopThread | None = None
        self._owner: Future[None] | None = None
        # Only the server's own loop touches what follows.
        self._client: Client | None = None
        self._connecting: anyio.CancelScope | None = None
        self._listing = Listing({}, [])
        self._left_out: list[str] = []
        self._sent_nonsense = False
        self._settled = asyncio.Event()
        self._closing = asyncio.Event()
        self._ended = asyncio.Event()
        self._fault = ""
        self._changed = asyncio.Event()
        self._stderr = StderrTail()
        self._refusals = Refusals()

    def begin_anew(self) -> None:
        """Forget, in a forked copy of this process, the connection that stays in the other one."""
        if self._thread is not None:
            _left_behind.append(self._thread)
        self._answers.forget()
        self._begin()

    def listed(self) -> "Future[Listing]":
        """Return the tools of the server, once it is connected.

        Raises (when the future is asked):
            ServerUnavailable: when it cannot be reached.
        """
        return self._submit(self._list_when_ready())

    def call(
        self, definition: Definition, arguments: dict[str, Any], context: ToolContext
    ) -> "Future[Any]":
        """Return the SDK's answer of a call; cancelling the future cancels the call.

        Raises (when the future is asked):
            ServerUnavailable: when the server cannot be reached, or was lost during the call.
            ToolError: when it refused the call, changed the tool, or broke the protocol.
        """
        return self._submit(self._call(definition, arguments, context))

    def absence(self) -> ServerUnavailable | None:
        """Return why a call would be answered "unavailable: …" just now, without waiting for it."""
        if self._closed:
            return ServerUnavailable(CLOSED)
        return self._away() if self._settled.is_set() and self._client is None else None

    def start_closing(self) -> None:
        """Ask the connection to end, without waiting for it."""
        with self._lock:
            self._closed = True
        if self._thread is not None:
            with suppress(ServerUnavailable):
                self._thread.submit(self._shut())

    def close(self) -> None:
        """End the connection and the server's process; calls under way are answered."""
        self.start_closing()
        thread, owner = self._thread, self._owner
        if thread is None or owner is None:
            return
        deadline = time.monotonic() + CLOSE_SECONDS
        if not thread.is_current():
            with suppress(TimeoutError, CancelledError):
                owner.exception(CLOSE_SECONDS)
        thread.close(max(0.0, deadline - time.monotonic()))
        atexit.unregister(self.close)

    def _submit(self, coroutine: Coroutine[Any, Any, Any]) -> "Future[Any]":
        with self._lock:
            if self._closed:
                coroutine.close()
                raise ServerUnavailable(CLOSED)
            if self._thread is None:
                self._thread = LoopThread(f"openjarvis-mcp-{self.server.name}")
                self._owner = self._thread.submit(self._own())
                atexit.register(self.close)
            thread = self._thread
        return thread.submit(coroutine)

    # In the server's loop: the owner.

    async def _own(self) -> None:
        delay = self._backoff.first
        while not self._closing.is_set():
            began = time.monotonic()
            reason = await self._reason_of_end()
            if self._closing.is_set():
                break
            if time.monotonic() - began > self._backoff.steady:
                delay = self._backoff.first
            self._settle(None, reason)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), delay)
            delay = min(2 * delay, self._backoff.most)
        self._settle(None, CLOSED)

    async def _reason_of_end(self) -> str:
        """Serve until the connection ends, and return why it did."""
        try:
            await self._serve()
            reason = self._fault or "the connection ended"
        except Exception as error:  # noqa: BLE001 - a server and its transport may fail in any way
            _log.debug("The MCP server %s failed", self.server.name, exc_info=error)
            reason = self._fault or self._refusals.told(error)
        last = self._stderr.last_line()
        return f"{reason} ({last})" if last else reason

    async def _serve(self) -> None:
        settings = self.server.expanded()
        self._ended.clear()
        self._fault = ""
        self._sent_nonsense = False
        auth = self._login(self.server.name, settings) if settings.oauth else None
        transport = open_transport(
            self.server, settings, stderr=self._stderr, auth=auth, hooks=self._refusals.hooks
        )
        deadline = anyio.current_time() + settings.connect_timeout_seconds
        with anyio.CancelScope(deadline=deadline) as scope:
            self._connecting = scope
            streams = watched(transport, self._end, self._left_out.extend)
            async with self._made(streams, settings) as client:
                client.session.validate_tool_result = _left_to_us  # type: ignore[method-assign]
                await self._list(client, settings)
                scope.deadline = math.inf
                self._connecting = None
                self._settle(client, "")
                await self._until_ended(client, settings)
        if scope.cancelled_caught:
            but = ", only what is no message" if self._sent_nonsense else ""
            raise TimeoutError(f"no answer within {settings.connect_timeout_seconds:g} s{but}")

    def _made(self, transport: Any, settings: McpServerConfig) -> Client:
        return Client(
            transport,
            client_info=Implementation(name="openjarvis", version=__version__),
            message_handler=self._heard,
            elicitation_callback=self._answers.elicit if settings.elicitation else None,
            sampling_callback=self._answers.sample if settings.sampling else None,
            cache=None,
        )

    async def _until_ended(self, client: Client, settings: McpServerConfig) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._follow_changes, client, settings)
            group.start_soon(self._listen, client)
            await self._ended.wait()
            self._client = None
            group.cancel_scope.cancel()

    async def _follow_changes(self, client: Client, settings: McpServerConfig) -> None:
        while True:
            await self._changed.wait()
            await anyio.sleep(_CHANGES_SETTLE)
            self._changed.clear()
            await self._list(client, settings)

    async def _listen(self, client: Client) -> None:
        """Hear of changed tools from servers of the new era; those of the old one just say so."""
        tools = client.server_capabilities.tools
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (
            tools and tools.list_changed
        ):
            return
        with suppress(ListenNotSupportedError, MCPError, SubscriptionLost):
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._changed.set()

    async def _heard(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed.set()
        elif isinstance(message, Exception):
            self._sent_nonsense = True
            _log.debug("The MCP server %s sent what is no message", self.server.name)

    async def _list(self, client: Client, settings: McpServerConfig) -> None:
        """Read every page of the server's tools."""
        self._left_out.clear()
        tools: list[Any] = []
        cursor: str | None = None
        seen: set[str | None] = set()
        while client.server_capabilities.tools is not None and len(tools) <= MAX_TOOLS:
            seen.add(cursor)
            page = await client.list_tools(cursor=cursor)
            tools.extend(page.tools)
            cursor = page.next_cursor
            if cursor is None or cursor in seen or len(seen) == MAX_PAGES:
                break
        self._listing = listing(self.server, settings, tools, broken=self._left_out)

    def _end(self, fault: str) -> None:
        self._fault = fault
        self._ended.set()

    def _settle(self, client: Client | None, reason: str) -> None:
        self._client = client
        self.reason = reason
        if client is not None:
            self.protocol = client.protocol_version
        self._settled.set()

    async def _shut(self) -> None:
        self._closing.set()
        self._ended.set()
        if self._connecting is not None:
            self._connecting.cancel()

    # In the server's loop: callers.

    async def _connected(self) -> Client:
        await self._settled.wait()
        if self._client is None:
            raise self._away()
        return self._client

    def _away(self) -> ServerUnavailable:
        who, reason = f"the MCP server {self.server.name!r}", self.reason or "it is restarted"
        return ServerUnavailable(reason if reason.startswith(who) else f"{who}: {reason}")

    async def _list_when_ready(self) -> Listing:
        await self._connected()
        return self._listing

    async def _call(
        self, definition: Definition, arguments: dict[str, Any], context: ToolContext
    ) -> Any:
        client = await self._connected()
        self._refuse_changed(definition)

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            count = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
            context.progress(masked(message, 500) if message else count)

        with self._answers.during(context):
            try:
                answer = await client.call_tool(
                    definition.remote_name, arguments, progress_callback=hear
                )
            except MCPError as error:
                raise self._failure(error) from error
            except Exception as error:
                raise self._broken(told(error)) from error
        if definition.promise is not None and not answer.is_error:
            fault = definition.promise.fault(answer)
            if fault:
                raise self._broken(masked(fault))
        return answer

    def _refuse_changed(self, definition: Definition) -> None:
        present = self._listing.tools.get(definition.spec.name)
        if present is None:
            raise ToolError(
                f"the MCP server {self.server.name!r} no longer offers {definition.remote_name!r}"
            )
        if present.digest != definition.digest:
            raise ToolError(
                f"the MCP server {self.server.name!r} has changed the definition of "
                f"{definition.remote_name!r} since it was offered; it does not run until it is "
                "offered anew ('jarvis mcp list' shows the change)"
            )

    def _broken(self, why: str) -> ToolError:
        return ToolError(
            f"the MCP server {self.server.name!r} answered what breaks the protocol: {why}"
        )

    def _failure(self, error: MCPError) -> ToolError:
        name = self.server.name
        if error.code == CONNECTION_CLOSED or error.message == _SESSION_TERMINATED:
            self._ended.set()
            why = f": {self._fault}" if self._fault else ""
            return ServerUnavailable(
                f"the MCP server {name!r} was lost during the call, which may or may not have "
                f"run{why}"
            )
        return ToolError(f"the MCP server {name!r} refused the call: {self._refusals.told(error)}")


async def _left_to_us(name: str, result: Any) -> None:
    """Stand in for the SDK's check of structured content: `Promise` makes it, without its risk."""


def _begin_anew() -> None:
    for connection in list(_of_this_process):
        connection.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
