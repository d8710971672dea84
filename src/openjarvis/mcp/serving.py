"""Run a server over stdio or HTTP, safely: stdout is the protocol's, HTTP stays on this machine."""

import hmac
import ipaddress
import logging
import re
import socket
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from io import TextIOWrapper
from typing import Any, TextIO

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.server.transport_security import logger as _security_log

from openjarvis.core.errors import ConfigError
from openjarvis.mcp.streams import AnsweringStream

PATH = "/mcp"
SHORTEST_TOKEN = 16
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ANY_ADDRESS = ("0.0.0.0", "[::]")  # noqa: S104 - nothing is bound here

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


async def serve_stdio(server: Server[Any], stdout: TextIO | None = None) -> None:
    """Serve the host that started this process, until it hangs up.

    Meanwhile whatever else prints, prints to stderr, and whatever reads stdin gets its end. Where
    that was seen to before, `stdout` is the stream to the host, which nothing else writes to.
    """
    if isinstance(stdout, TextIOWrapper):
        stdout.reconfigure(encoding="utf-8", errors="strict", newline="\n")
    protocol = anyio.wrap_file(stdout) if stdout is not None else None
    async with stdio_server(stdout=protocol) as (reading, writing):
        answering: Any = AnsweringStream(reading, writing)
        await server.run(answering, writing, server.create_initialization_options())


def listening_socket(address: str, token: str) -> socket.socket:
    """Return a socket that listens on HOST:PORT; port 0 takes a free one.

    Raises:
        ConfigError: when the address cannot be had, or is not this machine's alone and there is no
            token of `SHORTEST_TOKEN` characters.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65_535:
        raise ConfigError(f"{address!r} is no HOST:PORT, e.g. 127.0.0.1:8765.")
    if token and len(token) < SHORTEST_TOKEN:
        raise ConfigError(f"The token must have at least {SHORTEST_TOKEN} characters.")
    if not _is_loopback(host) and not token:
        raise ConfigError(
            f"{host} can be reached from other machines: set a token in $OPENJARVIS_MCP_TOKEN, or "
            "listen on 127.0.0.1."
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, int(port)))
        bound.listen()  # whoever is told the address may call at once
    except OSError as error:
        bound.close()
        raise ConfigError(f"{address} cannot be listened on: {error}") from error
    return bound


def url_of(bound: socket.socket) -> str:
    """Return the address that a host is given."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


def names_of(host: str) -> list[str]:
    """Return the names that a call may be sent to where `host` is listened on."""
    if _is_loopback(host):
        return [*_LOOPBACK]
    return [*_LOOPBACK, socket.gethostname(), f"[{host}]" if ":" in host else host]


def unanswered(bound: socket.socket) -> str:
    """Return which calls are refused on a socket that others can reach, "" where none can."""
    host = bound.getsockname()[0]
    if _is_loopback(host):
        return ""
    told = ", ".join(name for name in names_of(host) if name not in _ANY_ADDRESS)
    return f"Only calls to {told} are answered; --allow-host NAME adds a name or an address."


async def serve_http(
    server: Server[Any], bound: socket.socket, *, token: str = "", hosts: Sequence[str] = ()
) -> None:
    """Serve over streamable HTTP on a bound socket until the process is asked to end.

    Host and Origin must name this machine or one of `hosts`; with a `token`, requests must carry it
    as `Authorization: Bearer …`.
    """
    app: App = http_app(server, bound.getsockname()[0], token=token, hosts=hosts)
    config = uvicorn.Config(
        app,
        log_config=None,  # uvicorn's own would print to stdout
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=3,
    )
    await uvicorn.Server(config).serve(sockets=[bound])


def http_app(server: Server[Any], host: str, *, token: str = "", hosts: Sequence[str] = ()) -> App:
    """Return the ASGI application that `serve_http` runs."""
    names = [*names_of(host), *hosts]
    _security_log.addFilter(_name_the_option)
    allowed = [entry for name in names for entry in (name, f"{name}:*")]
    schemes = ("http", "https")
    security = TransportSecuritySettings(
        allowed_hosts=allowed,
        allowed_origins=[f"{scheme}://{entry}" for entry in allowed for scheme in schemes],
    )
    app: App = server.streamable_http_app(streamable_http_path=PATH, transport_security=security)
    return _with_token(app, token) if token else app


def _with_token(app: App, token: str) -> App:
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, expected):
                await _refuse(send)
                return
        await app(scope, receive, send)

    return guarded


async def _refuse(send: Send) -> None:
    headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": b"A token is needed."})


def _name_the_option(record: logging.LogRecord) -> bool:
    """Add to what the SDK logs of a refused call how it would be allowed."""
    told = record.getMessage()
    if told.startswith(("Invalid Host", "Invalid Origin")):
        record.msg, record.args = f"{told} (--allow-host NAME allows calls to another name)", ()
    return True


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
