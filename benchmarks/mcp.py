"""A call of an external MCP tool over stdio, against the SDK's own client in the same run."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from mcp.client.stdio import StdioServerParameters

from benchmarks.measure import pin_to_one_cpu, row
from mcp import Client
from openjarvis.config import McpServerConfig
from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.trip import Run
from openjarvis.mcp.pool import ServerPool
from openjarvis.mcp.servers import Server

SERVER = """
from mcp.server import MCPServer

server = MCPServer("bench")

@server.tool()
def echo(text: str) -> str:
    return text

server.run()
"""
TURNS = 400
ARGUMENTS = {"text": "hello"}
CALL = ToolCall("1", "bench__echo", '{"text": "hello"}')


async def of_sdk(client: Client) -> float:
    began = time.perf_counter()
    await client.call_tool("echo", ARGUMENTS)
    return time.perf_counter() - began


async def of_async(executor: ToolExecutor) -> float:
    began = time.perf_counter()
    await executor.aperform(CALL, Run())
    return time.perf_counter() - began


def of_thread(executor: ToolExecutor) -> float:
    began = time.perf_counter()
    executor.perform(CALL, Run())
    return time.perf_counter() - began


async def measured(executor: ToolExecutor, script: Path) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=[str(script)])
    async with Client(parameters) as client:
        await client.list_tools()
        turns = [  # call by call, so that a busy machine is the same for each
            (
                await of_sdk(client),
                await of_async(executor),
                await asyncio.to_thread(of_thread, executor),
            )
            for _ in range(TURNS)
        ]
    bare, ours, sync = (median(times) * 1e6 for times in zip(*turns, strict=True))
    row("a call, the SDK's own client", bare, "µs")
    row("a call, executor and pool, from async code", ours, "µs")
    row("a call, executor and pool, from a thread", sync, "µs")
    row("async against the SDK", ours / bare, "x", 1.5)
    row("thread against the SDK", sync / bare, "x", 1.5)


def table(title: str) -> None:
    print(title)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "server.py"
        script.write_text(SERVER)
        settings = McpServerConfig(command=sys.executable, args=[str(script)], confirm=False)
        pool = ServerPool({"bench": Server("bench", "benchmark", settings)}, Path(folder))
        asyncio.run(measured(ToolExecutor(pool.tools(["bench__echo"])), script))
        pool.close()


if __name__ == "__main__":
    table("on all processors")
    if pin_to_one_cpu():  # the servers too: they inherit it
        table("on one processor")
