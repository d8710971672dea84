"""A host for tests: `jarvis mcp serve` as a process, and the SDK's own client to it."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TextIO

from mcp.client.stdio import StdioServerParameters, stdio_client

from mcp import Client

TOOL_FILE = '''
import os
import subprocess
import sys
import time

from openjarvis import tool
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.base import BaseTool, ToolSpec
from openjarvis.core.types import ToolResult

print("printed while it is loaded", flush=True)
os.write(1, b"written while it is loaded\\n")
subprocess.run(["echo", "said by a child while it is loaded"])


@tool
def chatty(text: str) -> str:
    """Print, and return the text."""
    print("printed by a tool")
    sys.stdout.flush()
    os.write(1, b"written by a tool\\n")
    subprocess.run(["echo", "said by a child of a tool"])
    return text + subprocess.run(["cat"], stdout=subprocess.PIPE, text=True).stdout


@tool
def slow(context: ToolContext, steps: int = 3) -> str:
    """Work in steps."""
    for step in range(steps):
        context.progress(f"step {step}")
        time.sleep(0.05)
    return "done"


@tool
async def endless() -> str:
    """Wait until it is cancelled."""
    import asyncio

    try:
        await asyncio.sleep(60)
    finally:
        with open("cancelled", "w") as file:
            file.write("yes")
    return ""


class Refund(BaseTool):
    tool_id = "refund"

    @property
    def spec(self):
        return ToolSpec(
            "refund",
            "Give money back. Call it when a customer wants it.",
            {
                "type": "object",
                "properties": {"amount": {"type": "integer"}},
                "required": ["amount"],
            },
            requires_confirmation=True,
            examples=["Refund 20"],
            destructive=True,
            idempotent=False,
        )

    def execute(self, **params):
        with open("refunds", "a") as file:
            file.write(f"{params['amount']}\\n")
        return ToolResult("refund", f"refunded {params['amount']}")
'''


def tool_folder(folder: Path) -> Path:
    """Write the file with the tools that `jarvis mcp serve` is tested with."""
    tools = folder / "tools"
    tools.mkdir(mode=0o755, exist_ok=True)
    (tools / "shop.py").write_text(TOOL_FILE)
    return tools


def command(folder: Path, *options: str) -> list[str]:
    """Return the command line of a server with those tools."""
    tools = ["--tools-dir", str(tool_folder(folder))]
    return [sys.executable, "-m", "openjarvis", "mcp", "serve", *tools, *options]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a server that keeps its files in `folder`."""
    return {**os.environ, "OPENJARVIS_HOME": str(folder / "home"), **more}


@asynccontextmanager
async def over_stdio(folder: Path, *options: str, **client: Any) -> AsyncIterator[Client]:
    """Give the SDK's client, connected to a server over stdio."""
    whole = command(folder, *options)
    parameters = StdioServerParameters(
        command=whole[0], args=whole[1:], env=environment(folder), cwd=folder
    )
    with (folder / "stderr").open("w") as errlog:
        async with Client(stdio_client(parameters, errlog=errlog), **client) as connected:
            yield connected


@contextmanager
def over_http(folder: Path, *options: str, **variables: str) -> Iterator[str]:
    """Give the address of a server over HTTP."""
    with telling_over_http(folder, *options, **variables) as (url, _):
        yield url


@contextmanager
def telling_over_http(
    folder: Path, *options: str, **variables: str
) -> Iterator[tuple[str, TextIO]]:
    """Give the address of a server over HTTP, and what it says after it told that."""
    process = subprocess.Popen(
        command(folder, *options),
        cwd=folder,
        env=environment(folder, **variables),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert process.stderr is not None
    try:
        seen = ""
        while "Serving" not in seen:
            seen = process.stderr.readline()
            assert seen, "the server ended before it served"
        yield seen.split()[-1], process.stderr
    finally:
        process.terminate()
        process.wait(15)
        process.stderr.close()
