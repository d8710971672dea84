"""`jarvis mcp`: our tools for MCP hosts, and how the configured servers of others stand."""

import asyncio
import os
import signal
import webbrowser
from dataclasses import replace
from typing import Any

import click

from openjarvis.cli.options import (
    allow_dir_option,
    json_option,
    split_names,
    tools_dir_option,
    tools_option,
)
from openjarvis.cli.render import keep_stdout_for_results, notice, show, show_json, show_table
from openjarvis.config import JarvisConfig, load_config
from openjarvis.core.errors import ConfigError
from openjarvis.core.extras import how_to_install
from openjarvis.engine.offline.engine import OfflineEngine
from openjarvis.system import System, get_engine, make_pool
from openjarvis.toolkit.base import Tool
from openjarvis.tools import catalog

TOKEN_VARIABLE = "OPENJARVIS_MCP_TOKEN"  # noqa: S105 - a name

LOGIN_SECONDS = 330.0
"""A person logs in meanwhile."""


@click.group()
def mcp() -> None:
    """Offer tools to MCP hosts; list the servers of others."""


@mcp.command()
@tools_option("The tools to offer; by default the read-only ones.")
@click.option("--http", metavar="HOST:PORT", help="Serve over HTTP instead of stdio.")
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="A name under which this machine may be called over HTTP.",
)
@click.option(
    "--approve",
    type=click.Choice(["deny", "elicit"]),
    default="deny",
    show_default=True,
    help="Tools that need a confirmation: deny, or let the host ask its user.",
)
@allow_dir_option
@tools_dir_option
def serve(
    tools: tuple[str, ...],
    http: str | None,
    hosts: tuple[str, ...],
    approve: Any,
    allowed_dirs: tuple[str, ...],
    tool_dirs: tuple[str, ...],
) -> None:
    """Offer tools to an MCP host, over stdio or HTTP.

    Over HTTP the token in $OPENJARVIS_MCP_TOKEN is asked for; without one, only this machine can be
    listened on.
    """
    server, serving = _server_modules()
    config = load_config()
    named = split_names(*tools)
    stdout = keep_stdout_for_results()  # a tool's file may print as soon as it is loaded
    system = _system(config, named, allowed_dirs=allowed_dirs, tool_dirs=tool_dirs)
    try:
        chosen = named or read_only_names(system)
        made = server.make_server(system.executor(chosen), approve)
        if http is None:
            _leave_on_signals(system)
            asyncio.run(serving.serve_stdio(made, stdout))
        else:
            token = os.environ.get(TOKEN_VARIABLE, "")
            bound = serving.listening_socket(http, token)
            notice(f"Serving {len(chosen)} tools at {serving.url_of(bound)}")
            if not hosts and serving.unanswered(bound):
                notice(serving.unanswered(bound))
            asyncio.run(serving.serve_http(made, bound, token=token, hosts=hosts))
    finally:
        system.close()


@mcp.command("list")
@click.option("--accept", metavar="SERVER[__TOOL]", help="Accept changed and added definitions.")
@json_option
def list_servers(accept: str | None, as_json: bool) -> None:
    """List the configured servers and their tools: new, pinned, changed or added since then.

    Exit code 1 when a server cannot be reached or a definition has changed or was added.
    """
    system = System(load_config(), OfflineEngine())
    if not system.mcp_servers:
        notice("No MCP servers are configured; see [mcp.servers.NAME] in docs/mcp.md.")
    pool = system.mcp if system.mcp_servers else None
    try:
        if accept and pool is not None:
            notice(f"Accepted {pool.accept(accept)} definitions of {accept}.")
        statuses = pool.statuses() if pool is not None else []
    finally:
        system.close()
    if as_json:
        show_json([_as_json(status) for status in statuses])
    else:
        _show(statuses)
    if any(status.reason for status in statuses) or any(
        standing in ("changed", "added") for status in statuses for _, standing in status.tools
    ):
        raise SystemExit(1)


@mcp.command()
@click.argument("name")
def login(name: str) -> None:
    """Log in to a server that is configured with `oauth = true`; the tokens are kept."""
    system = System(load_config(), OfflineEngine())
    server = system.mcp_servers.get(name)
    if server is None or not server.settings.oauth:
        known = [one.name for one in system.mcp_servers.values() if one.settings.oauth]
        raise ConfigError(
            f"{name!r} is no MCP server with `oauth = true`; those are "
            f"{', '.join(known) or 'none'}."
        )
    patient = replace(server.settings, connect_timeout_seconds=LOGIN_SECONDS)
    pool = make_pool({name: replace(server, settings=patient)}, authorize=_authorize)
    try:
        status = pool.statuses()[0]
    finally:
        pool.close()
    if status.reason:
        raise RuntimeError(f"The login failed: {status.reason}")
    show(f"Logged in to {name}: {len(status.tools)} tools.")


def _leave_on_signals(system: System) -> None:
    """End on Ctrl-C and the like: a read of stdin that waits could not be interrupted otherwise."""

    def leave(number: int, _: Any) -> None:
        system.close()
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)


def read_only_names(system: System) -> list[str]:
    """Return the tools that only read and need no model: what is offered unless tools are named."""
    dropped_in = {tool.spec.name: tool for tool in system.dropped_in.tools}
    found: list[str] = []
    for name in catalog.names(dropped_in):
        try:
            tool = dropped_in.get(name) or system.tools([name]).build()[0]
        except Exception as error:  # noqa: BLE001 - a registered class is foreign code
            notice(f"{name} is left out: {error}")
            continue
        if isinstance(tool, Tool) and _only_reads(tool):
            found.append(name)
    return found


def _only_reads(tool: Tool) -> bool:
    spec = tool.spec
    return (
        spec.read_only is True
        and not spec.requires_confirmation
        and not spec.metadata.get("needs_model")
    )


def _system(config: JarvisConfig, chosen: list[str], **options: Any) -> System:
    """Return a system; an engine is looked for only where a tool may ask one."""
    found = get_engine(config) if "llm" in chosen else None
    key, engine = found or ("offline", OfflineEngine())
    return System(config, engine, engine_key=key, **options)


def _server_modules() -> tuple[Any, Any]:
    try:
        # The SDK is an extra.
        from openjarvis.mcp import server, serving
    except ImportError as error:
        raise ConfigError(f"Serving needs the extra `mcp`: {how_to_install('mcp')}.") from error
    return server, serving


def _authorize(address: str) -> None:
    notice(f"Log in at {address}")
    webbrowser.open(address)


def _show(statuses: list[Any]) -> None:
    rows = [
        (one.spec.name, standing, one.spec.description.partition("\n")[0])
        for status in statuses
        for one, standing in status.tools
    ]
    show_table(("TOOL", "DEFINITION", "DESCRIPTION"), rows)
    for status in statuses:
        if status.reason:
            notice(f"{status.name} ({status.kind}, {status.origin}): {status.reason}")
        for problem in status.problems:
            notice(f"Left out: {problem}")


def _as_json(status: Any) -> dict[str, Any]:
    return {
        "name": status.name,
        "transport": status.kind,
        "origin": status.origin,
        "available": not status.reason,
        "reason": status.reason,
        "protocol": status.protocol,
        "problems": status.problems,
        "tools": [
            {
                "name": one.spec.name,
                "definition": standing.value,
                "description": one.spec.description,
                "parameters": one.spec.parameters,
                "requires_confirmation": one.spec.requires_confirmation,
                "read_only": one.spec.read_only,
            }
            for one, standing in status.tools
        ],
    }
