"""The configured servers together: their tools by name, how each stands, what is pinned."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from openjarvis.core.errors import ToolDefinitionError, ToolError, unknown_name
from openjarvis.core.types import ToolResult
from openjarvis.mcp.adapter import MCPToolAdapter
from openjarvis.mcp.answers import Answers
from openjarvis.mcp.connection import Backoff, Connection
from openjarvis.mcp.definitions import Definition, Listing, local_name
from openjarvis.mcp.errors import ServerUnavailable
from openjarvis.mcp.oauth import oauth
from openjarvis.mcp.pins import Pinned, PinStore
from openjarvis.mcp.servers import SEPARATOR, Server
from openjarvis.toolkit.base import ToolSpec
from openjarvis.toolkit.context import ToolContext

_log = logging.getLogger("openjarvis.mcp")
ALL = "*"


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a server stands: its tools with their pins where it is there, else the reason."""

    name: str
    kind: str
    origin: str
    reason: str
    protocol: str
    tools: list[tuple[Definition, Pinned]]
    problems: list[str]


class ServerPool:
    """Connects to servers when their tools are first asked for. Any thread may use it.

    `folder` is where pins and OAuth tokens are kept. `engine` and `model` answer servers that may
    sample. `authorize` is told the address at which a user logs in to a server (None: nobody is
    there to log in).
    """

    def __init__(
        self,
        servers: Mapping[str, Server],
        folder: Path,
        *,
        engine: Any = None,
        model: str = "",
        authorize: Callable[[str], None] | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._pins = PinStore(folder / "pins.json")
        self._told: set[str] = set()
        self._connections = {
            name: Connection(
                server,
                Answers(name, engine, model),
                login=partial(oauth, folder=folder / "oauth", authorize=authorize),
                backoff=backoff,
            )
            for name, server in servers.items()
        }

    def tools(self, names: Iterable[str]) -> list[MCPToolAdapter]:
        """Return the tools of these names, `SERVER__tool` or `SERVER__*`, and pin them.

        A server that cannot be reached stops only its own tools: each answers "unavailable: …"
        until the server is back.

        Raises:
            ToolDefinitionError: when a server has no such tool; the text names the nearest.
        """
        wanted = [(name, *_split(name)) for name in names]
        asked = {server: self._ask(server) for _, server, _ in wanted}
        found: dict[str, Definition] = {}
        for name, server, tool in wanted:
            try:
                listing: Listing = asked[server].result()
            except ServerUnavailable as error:
                _log.warning("The tools of the MCP server %s are not there: %s", server, error)
                if tool != ALL:
                    found[name] = _stand_in(server, tool, error)
                continue
            self._warn_of(listing.problems)
            found |= listing.tools if tool == ALL else {name: _one(listing, name)}
        return self._offered(list(found.values()))

    def statuses(self) -> list[ServerStatus]:
        """Return how each server stands, all asked at the same time; nothing is pinned."""
        asked = {name: self._ask(name) for name in self._connections}
        return [self._status(name, future) for name, future in asked.items()]

    def accept(self, name: str) -> int:
        """Pin the present definitions of a server's tools, or of one; return how many.

        Raises:
            ToolDefinitionError: when there is no such server or tool.
            ServerUnavailable: when the server cannot be reached.
        """
        server, tool = _split(name) if SEPARATOR in name else (name, ALL)
        listing: Listing = self._ask(server).result()
        chosen = list(listing.tools.values()) if tool == ALL else [_one(listing, name)]
        self._pins.pin(*chosen, replace=True)
        return len(chosen)

    async def described(self, server: str) -> str:
        """Return the names and descriptions of a server's tools.

        Raises:
            ToolError: when there is no such server, or it cannot be reached.
        """
        listing: Listing = await asyncio.wrap_future(self._reached(server).listed())
        lines = [
            f"{one.remote_name}: {one.spec.description.partition(chr(10))[0]}"
            for one in listing.tools.values()
        ]
        return "\n".join(lines) or f"The server {server!r} has no tools."

    async def call(
        self, server: str, tool: str, arguments: dict[str, Any], context: ToolContext
    ) -> ToolResult:
        """Call a tool by its name there; arguments are checked against its schema.

        Raises:
            ToolError: when it cannot be called, or its definition is not the pinned one.
        """
        listing: Listing = await asyncio.wrap_future(self._reached(server).listed())
        try:
            adapter = self._offered([_one(listing, local_name(server, tool))])[0]
        except ToolDefinitionError as error:
            raise ToolError(str(error)) from None
        if adapter.spec.metadata.get("definition_changed"):
            raise ToolError(
                f"the definition of {tool!r} is not the pinned one; a person must accept it: "
                f"jarvis mcp list --accept {adapter.spec.name}"
            )
        return await adapter.checked(arguments, context)

    def close(self) -> None:
        """End every connection and process."""
        for connection in self._connections.values():
            connection.start_closing()
        for connection in self._connections.values():
            connection.close()

    def _reached(self, server: str) -> Connection:
        connection = self._connections.get(server)
        if connection is None:
            known = list(self._connections) or ["none"]
            raise ToolError(unknown_name("MCP server", server, known))
        return connection

    def _ask(self, server: str) -> "Future[Any]":
        try:
            return self._reached(server).listed()
        except ServerUnavailable as error:
            closed: Future[Any] = Future()
            closed.set_exception(error)
            return closed
        except ToolError as error:
            raise ToolDefinitionError(str(error)) from None

    def _warn_of(self, problems: Iterable[str]) -> None:
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                _log.warning("A tool is left out: %s", problem)

    def _offered(self, definitions: list[Definition]) -> list[MCPToolAdapter]:
        offered: list[MCPToolAdapter] = []
        for one in definitions:
            if one.digest and self._pins.standing(one) is Pinned.CHANGED:
                _log.warning(
                    "The MCP server %s has changed the definition of %s: each call asks until "
                    "'jarvis mcp list --accept %s'",
                    one.server,
                    one.remote_name,
                    one.spec.name,
                )
                one = _changed(one)
            offered.append(_PooledTool(self._connections[one.server], one))
        self._pins.pin(*(one for one in definitions if one.digest))
        return offered

    def _status(self, name: str, asked: "Future[Any]") -> ServerStatus:
        connection, tools, problems, reason = self._connections[name], [], [], ""
        try:
            listing: Listing = asked.result()
            tools = [(one, self._pins.standing(one)) for one in listing.tools.values()]
            problems = listing.problems
        except ServerUnavailable as error:
            reason = error.reason
        server = connection.server
        return ServerStatus(
            name, server.kind, server.origin, reason, connection.protocol, tools, problems
        )


class _PooledTool(MCPToolAdapter):
    """A tool of a server of the pool: its calls carry the approver and hear of progress."""

    def __init__(self, connection: Connection, definition: Definition) -> None:
        super().__init__(connection, definition.spec, definition.remote_name)
        self._connection = connection
        self._definition = definition

    def _asked(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        return self._connection.call(self._definition, arguments, context)


def _split(name: str) -> tuple[str, str]:
    server, _, tool = name.partition(SEPARATOR)
    return server, tool


def _one(listing: Listing, name: str) -> Definition:
    found = listing.tools.get(name)
    if found is None:
        known = list(listing.tools) or ["none"]
        raise ToolDefinitionError(unknown_name("tool", name, known))
    return found


def _stand_in(server: str, tool: str, error: ServerUnavailable) -> Definition:
    """Return what stands for a tool whose server is away: it can be called once that is back."""
    name = local_name(server, tool)
    spec = ToolSpec(
        name,
        f"Not available now: {error.reason}",
        {"type": "object"},
        category="integration",
        requires_confirmation=True,
        metadata={"mcp_server": server, "mcp_tool": tool},
    )
    return Definition(server, tool, spec, "")


def _changed(definition: Definition) -> Definition:
    spec = definition.spec
    metadata = {**spec.metadata, "definition_changed": True}
    return replace(definition, spec=replace(spec, requires_confirmation=True, metadata=metadata))
