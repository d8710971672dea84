"""The configured servers together: their tools by name, how each stands, what is pinned."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from openjarvis.core.errors import ToolDefinitionError, ToolError, unknown_name
from openjarvis.core.types import ToolResult
from openjarvis.execution.record import Detail, Outcome
from openjarvis.execution.trip import Stopped
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
PATIENCE_SECONDS = 10.0
"""How much longer than it may take to connect a server is waited for, to end what it began."""

_WHY = {
    Pinned.NEW: "was not pinned",
    Pinned.ADDED: "was added after the others were pinned",
    Pinned.CHANGED: "is not the pinned one",
}


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
        """Return the tools of these names, `SERVER__tool` or `SERVER__*`.

        The first time, all definitions of the server are pinned. A tool that is not as it was
        pinned, or came later, needs a confirmation whatever it says of itself.

        A server that cannot be reached stops only its own tools: each answers "unavailable: …"
        until the server is back.

        Raises:
            ToolDefinitionError: when a server has no such tool; the text names the nearest.
        """
        wanted = [(name, *_split(name)) for name in names]
        asked = {server: self._ask(server) for _, server, _ in wanted}
        found: dict[str, MCPToolAdapter] = {}
        for name, server, tool in wanted:
            try:
                listing = asked[server].listing()
            except ServerUnavailable as error:
                self._warn(f"The tools of the MCP server {server} are not there: {error}", server)
                if tool != ALL:
                    found[name] = _StandIn(self, self._connections[server], tool)
                continue
            self._told.discard(server)
            for problem in listing.problems:
                self._warn(f"A tool is left out: {problem}")
            self._pins.pin_first(listing.tools.values())
            chosen = listing.tools if tool == ALL else {name: _one(listing, name)}
            found |= {one: self._offered(definition) for one, definition in chosen.items()}
        return list(found.values())

    def statuses(self) -> list[ServerStatus]:
        """Return how each server stands, all asked at the same time; nothing is pinned."""
        asked = {name: self._ask(name) for name in self._connections}
        return [self._status(name, one) for name, one in asked.items()]

    def accept(self, name: str) -> int:
        """Pin the present definitions of a server's tools, or of one; return how many.

        Raises:
            ToolDefinitionError: when there is no such server or tool.
            ServerUnavailable: when the server cannot be reached.
        """
        server, tool = _split(name) if SEPARATOR in name else (name, ALL)
        listing = self._ask(server).listing()
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
            f"{_split(name)[1]}: {one.spec.description.partition(chr(10))[0]}"
            for name, one in listing.tools.items()
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
            definition = _one(listing, local_name(server, tool))
        except ToolDefinitionError as error:
            raise ToolError(str(error)) from None
        self._pins.pin_first(listing.tools.values())
        standing = self._pins.standing(definition)
        if standing is not Pinned.SAME:
            raise ToolError(
                f"the definition of {tool!r} {_WHY[standing]}; a person must accept it: "
                f"jarvis mcp list --accept {definition.spec.name}"
            )
        return await self._offered(definition).checked(arguments, context)

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

    def _ask(self, server: str) -> "_Asked":
        try:
            return _Asked(self._reached(server))
        except ToolError as error:
            raise ToolDefinitionError(str(error)) from None

    def _warn(self, text: str, about: str = "") -> None:
        """Log a warning, once for what it is about, else once for its text."""
        if (about or text) not in self._told:
            self._told.add(about or text)
            _log.warning("%s", text)

    def _offered(self, one: Definition) -> MCPToolAdapter:
        connection = self._connections[one.server]
        standing = self._pins.standing(one)
        if standing is not Pinned.SAME:
            self._warn(
                f"The definition of {one.remote_name} of the MCP server {one.server} "
                f"{_WHY[standing]}: each call asks until "
                f"'jarvis mcp list --accept {one.spec.name}'"
            )
            one = _unaccepted(one)
        return _PooledTool(connection, one)

    def _status(self, name: str, asked: "_Asked") -> ServerStatus:
        connection, tools, problems, reason = self._connections[name], [], [], ""
        try:
            listing = asked.listing()
            tools = [(one, self._pins.standing(one)) for one in listing.tools.values()]
            problems = listing.problems
        except ServerUnavailable as error:
            reason = error.reason
        server = connection.server
        return ServerStatus(
            name, server.kind, server.origin, reason, connection.protocol, tools, problems
        )


class _Asked:
    """The tools of a server, asked for and waited for no longer than it may take to connect.

    The wait is bounded here too: in a server's own thread nothing is, once that is taken.
    """

    def __init__(self, connection: Connection) -> None:
        self._name = connection.server.name
        patience = connection.server.settings.connect_timeout_seconds + PATIENCE_SECONDS
        self._deadline = time.monotonic() + patience
        self._listed: Future[Listing] | ServerUnavailable
        try:
            self._listed = connection.listed()
        except ServerUnavailable as error:
            self._listed = error

    def listing(self) -> Listing:
        """Return the tools.

        Raises:
            ServerUnavailable: when it cannot be reached, or does not answer.
        """
        if isinstance(self._listed, ServerUnavailable):
            raise self._listed
        try:
            return self._listed.result(max(0.0, self._deadline - time.monotonic()))
        except (TimeoutError, CancelledError):
            self._listed.cancel()
            raise ServerUnavailable(f"the MCP server {self._name!r} does not answer") from None


class _Away(Stopped, ToolError):
    """A call that ends before anybody is asked about it, since its server is away."""


class _OfServer(MCPToolAdapter):
    """A tool of a server of the pool: while that is away, a call says so and asks nobody."""

    def __init__(self, connection: Connection, spec: ToolSpec, remote_name: str) -> None:
        super().__init__(connection, spec, remote_name)
        self._connection = connection

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        # The last stop before the approval.
        absence = self._connection.absence()
        if absence is not None:
            raise _Away(Outcome.FAILED, Detail.RAISED, str(absence))
        return super().bind(arguments)


class _PooledTool(_OfServer):
    """A tool that was listed: its calls carry the approver and hear of progress."""

    def __init__(self, connection: Connection, definition: Definition) -> None:
        super().__init__(connection, definition.spec, definition.remote_name)
        self._definition = definition

    def _asked(self, arguments: dict[str, Any], context: ToolContext) -> Any:
        return self._connection.call(self._definition, arguments, context)


class _StandIn(_OfServer):
    """Stands for a tool whose server is away; once that is back, it is called as it is then."""

    def __init__(self, pool: ServerPool, connection: Connection, tool: str) -> None:
        server = connection.server.name
        spec = ToolSpec(
            local_name(server, tool),
            f"Not available now: the MCP server {server!r} is away.",
            {"type": "object"},
            category="integration",
            requires_confirmation=True,
            metadata={"mcp_server": server, "mcp_tool": tool},
        )
        super().__init__(connection, spec, tool)
        self._pool = pool

    async def _run(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        server = self._connection.server.name
        return await self._pool.call(server, self._remote_name, arguments, context)


def _split(name: str) -> tuple[str, str]:
    server, _, tool = name.partition(SEPARATOR)
    return server, tool


def _one(listing: Listing, name: str) -> Definition:
    found = listing.tools.get(name)
    if found is None:
        for problem in listing.problems:
            if problem.startswith(f"{name}: "):
                raise ToolDefinitionError(problem)
        known = list(listing.tools) or ["none"]
        raise ToolDefinitionError(unknown_name("tool", name, known))
    return found


def _unaccepted(definition: Definition) -> Definition:
    """Return a definition whose hints count for nothing, since nobody has looked at it."""
    spec = replace(definition.spec, requires_confirmation=True, read_only=None)
    return replace(definition, spec=spec)
