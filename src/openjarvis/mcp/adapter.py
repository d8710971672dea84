"""A tool of an external MCP server, as a tool of ours."""

import asyncio
import inspect
from concurrent.futures import Future
from functools import cached_property
from typing import Annotated, Any

from openjarvis.core.errors import ToolError
from openjarvis.core.types import ToolResult
from openjarvis.mcp.content import tool_result
from openjarvis.toolkit.base import BaseTool, ToolSpec
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.schema import Signature
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import SignatureTool, TypedTool


class MCPToolAdapter(SignatureTool):
    """Calls `client.call_tool(name, arguments)` and gives the answer as a `ToolResult`.

    `client` is anything with that method: it may return the answer, an awaitable or a
    `concurrent.futures.Future` of it; the answer is the SDK's `CallToolResult` or the JSON of one.
    `remote_name` is the tool's name there, by default the spec's.
    """

    def __init__(self, client: Any, spec: ToolSpec, remote_name: str = "") -> None:
        self._client = client
        self._spec = spec
        self._remote_name = remote_name or spec.name
        self.tool_id = spec.name
        self.signature = Signature(spec.parameters, {}, {}, "context", spec.description)

    @classmethod
    def build(cls, services: Services) -> BaseTool:
        """Return the tool `mcp_adapter`, which calls any tool of the configured servers."""
        return AnyServerTool(services.mcp)

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    @property
    def origin(self) -> str:
        """Where the tool comes from, for messages about it."""
        server = self._spec.metadata.get("mcp_server", "")
        return f"tool {self._remote_name!r} of the MCP server {server!r}"

    @property
    def target(self) -> Any:
        return self._run

    @cached_property
    def is_async(self) -> bool:
        return True

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        # The server's argument names never become Python keywords: one may be called `context`.
        return {"arguments": arguments}

    def invoke(self, keywords: dict[str, Any], context: ToolContext) -> Any:
        return self._run(keywords["arguments"], context)

    async def checked(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Call the tool from inside another one's call: its arguments checked, all else done there.

        Raises:
            ArgumentsError: when the arguments do not fit the schema.
            ToolError: when the call fails.
        """
        return await self._run(self._checker.check(arguments), context)

    def _asked(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        return self._client.call_tool(self._remote_name, arguments)

    async def _run(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        answer = self._asked(arguments, context)
        if isinstance(answer, Future):
            answer = asyncio.wrap_future(answer)
        if inspect.isawaitable(answer):
            answer = await answer
        return tool_result(self.tool_id, self._spec.metadata.get("mcp_server", ""), answer)


class AnyServerTool(TypedTool):
    """Call a tool of an external MCP server that is not offered by a name of its own.

    Give `server` alone to see the names and descriptions of its tools.
    """

    name = "mcp_adapter"
    category = "integration"
    requires_confirmation = True
    open_world = True
    timeout_seconds = 120.0

    def __init__(self, pool: Any = None) -> None:
        """Reach the servers of a `ServerPool`."""
        self._pool = pool

    async def run(
        self,
        context: ToolContext,
        server: Annotated[str, "The name of the server, as configured"],
        tool: Annotated[str, "The name of its tool; empty to list them"] = "",
        arguments: Annotated[dict[str, Any] | None, "The tool's arguments"] = None,
    ) -> ToolResult:
        if self._pool is None:
            raise ToolError(
                "No MCP servers are configured; add one under [mcp.servers.NAME] in the "
                "configuration."
            )
        if not tool:
            return ToolResult(self.name, await self._pool.described(server))
        result: ToolResult = await self._pool.call(server, tool, arguments or {}, context)
        return result
