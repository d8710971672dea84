"""MCP servers for tests: how they are configured, and how a pool of them is used."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openjarvis.config import McpServerConfig
from openjarvis.core.types import ToolCall, ToolResult
from openjarvis.execution.approval import Approver
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.policy import policy
from openjarvis.execution.trip import Run
from openjarvis.mcp.pool import ServerPool
from openjarvis.mcp.servers import Server

OpenPool = Callable[..., ServerPool]
"""Opens a pool of servers that is closed when the test ends."""

_MISBEHAVING = Path(__file__).with_name("misbehaving_server.py")
ALLOW = policy(otherwise="allow")


def misbehaving(name: str = "bad", *arguments: str, **settings: Any) -> Server:
    """Return a server that does what servers should not."""
    return Server(
        name,
        "the test",
        McpServerConfig(command=sys.executable, args=[str(_MISBEHAVING), *arguments], **settings),
    )


def run(
    pool: ServerPool,
    name: str,
    arguments: dict[str, Any] | None = None,
    *,
    approve: Approver | None = ALLOW,
    hear: Callable[[str, str], None] | None = None,
) -> ToolResult:
    """Return what becomes of one call of a tool of the pool."""
    executor = ToolExecutor(pool.tools([name]))
    call = ToolCall("c1", name, json.dumps(arguments or {}))
    return executor.perform(call, Run(approve=approve, on_progress=hear)).result
