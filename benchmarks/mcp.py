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
TIMES = 100
ROUNDS = 7
ARGUMENTS = {"text": "hello"}
CALL = ToolCall("1", "bench__echo", '{"text": "hello"}')


async def sdk_round(client: Client) -> float:
    began = time.perf_counter()
    for _ in range(TIMES):
        await client.call_tool("echo", ARGUMENTS)
    return (time.perf_counter() - began) / TIMES * 1e6


async def async_round(executor: ToolExecutor) -> float:
    began = time.perf_counter()
    for _ in range(TIMES):
        await executor.aperform(CALL, Run())
    return (time.perf_counter() - began) / TIMES * 1e6


def sync_round(executor: ToolExecutor) -> float:
    began = time.perf_counter()
    for _ in range(TIMES):
        executor.perform(CALL, Run())
    return (time.perf_counter() - began) / TIMES * 1e6


async def measured(executor: ToolExecutor, script: Path) -> None:
    sdk, ours, sync = [], [], []
    parameters = StdioServerParameters(command=sys.executable, args=[str(script)])
    async with Client(parameters) as client:
        await client.list_tools()
        for _ in range(ROUNDS):  # turn by turn, so that a busy machine is the same for each
            sdk.append(await sdk_round(client))
            ours.append(await async_round(executor))
            sync.append(await asyncio.to_thread(sync_round, executor))
    bare = median(sdk)
    row("a call, the SDK's own client", bare, "µs")
    row("a call, executor and pool, from async code", median(ours), "µs")
    row("a call, executor and pool, from a thread", median(sync), "µs")
    row("async against the SDK", median(ours) / bare, "x", 1.5)
    row("thread against the SDK", median(sync) / bare, "x", 1.5)


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
