"""Our tools as an MCP server: every call takes the executor's road, whichever host asks."""

import asyncio
from contextlib import suppress
from typing import Any, Literal
from uuid import uuid4

from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)

from openjarvis._version import __version__
from openjarvis.core.strict_json import dumps
from openjarvis.core.types import ToolCall
from openjarvis.execution.approval import Approver
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.policy import policy
from openjarvis.execution.trip import Run
from openjarvis.mcp.confirmation import Approve, Confirmations, Hear
from openjarvis.mcp.offering import call_result, offered

NAME = "openjarvis"
AGENT = "mcp"
"""The agent that calls of hosts are recorded under."""

Approval = Literal["deny", "elicit"]
_DENY = policy(otherwise="deny", only_confirmations=True)


def make_server(executor: ToolExecutor, approval: Approval = "deny") -> Server[Any]:
    """Return a server that offers the tools of `executor`.

    Tools that need a confirmation are denied, or with "elicit" put before the host's user. The
    server is the SDK's: run it over any of its transports, or use `serving`.
    """
    calls = _Calls(executor, approval)
    server: Server[Any] = Server(
        NAME, version=__version__, on_list_tools=calls.listed, on_call_tool=calls.called
    )
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME)
    )
    return server


class _Calls:
    def __init__(self, executor: ToolExecutor, approval: Approval) -> None:
        self._executor = executor
        self._tools = [offered(spec) for spec in executor.available_tools()]
        self._confirmations = Confirmations() if approval == "elicit" else None

    async def listed(
        self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=self._tools)

    async def called(
        self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        async with _Progress(context) as progress:
            if self._confirmations is None:
                return await self._performed(params, _DENY, progress.hear)

            async def perform(approve: Approve, hear: Hear) -> CallToolResult:
                return await self._performed(params, approve, hear)

            return await self._confirmations.run(context, params, perform, progress.hear)

    async def _performed(
        self, params: CallToolRequestParams, approve: Approver, hear: Hear
    ) -> CallToolResult:
        # A run for each call: which calls of a host belong together is not told, so that one which
        # it repeats, perhaps hours later, is no loop.
        call = ToolCall(f"mcp_{uuid4().hex[:12]}", params.name, _text(params.arguments))
        run = Run(agent=AGENT, approve=approve, on_progress=hear)
        return call_result((await self._executor.aperform(call, run)).result)


class _Progress:
    """Passes on what a tool says of its progress, in order; any thread may speak."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self._session = context.session
        self._loop = asyncio.get_running_loop()
        self._said: asyncio.Queue[str | None] = asyncio.Queue()
        self._speaker: asyncio.Task[None] | None = None

    def hear(self, _call_id: str, text: str) -> None:
        with suppress(RuntimeError):  # the server has ended meanwhile: nobody listens any more
            self._loop.call_soon_threadsafe(self._said.put_nowait, text)

    async def __aenter__(self) -> "_Progress":
        self._speaker = asyncio.create_task(self._speak())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self._speaker is not None  # noqa: S101 - `__aenter__` has set it
        if kind is not None:
            self._speaker.cancel()
        self._said.put_nowait(None)
        with suppress(asyncio.CancelledError):
            await self._speaker

    async def _speak(self) -> None:
        count = 0
        while (text := await self._said.get()) is not None:
            count += 1
            with suppress(MCPError):
                await self._session.report_progress(count, None, text)


def _text(arguments: dict[str, Any] | None) -> str:
    try:
        return dumps(arguments or {})
    except ValueError:  # NaN, which JSON has no place for: the executor says so
        return str(arguments)
