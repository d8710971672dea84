import asyncio
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

from mcp import Client
from mcp_host import command, environment, over_http, over_stdio, telling_over_http
from openjarvis.tools import catalog
from waiting import eventually

BOTH_ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
TOKEN = "a token of enough characters"


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


async def accept(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={})


@BOTH_ERAS
def test_only_what_reads_is_offered_unless_tools_are_named(tmp_path: Path, mode: str) -> None:
    async def talk() -> tuple[list[str], Any]:
        async with over_stdio(tmp_path, mode=mode) as client:
            listed = (await client.list_tools()).tools
            return [tool.name for tool in listed], await client.call_tool(
                "calculator", {"expression": "6*7"}
            )

    names, result = asyncio.run(talk())

    assert {"calculator", "think", "file_read"} <= set(names)
    assert not {"refund", "llm", "channel_send", "chatty"} & set(names)
    assert (text_of(result), result.is_error) == ("42", False)


@BOTH_ERAS
def test_stdout_carries_the_protocol_only_whatever_a_tool_prints(tmp_path: Path, mode: str) -> None:
    async def talk() -> Any:
        async with over_stdio(tmp_path, "--tools", "chatty", mode=mode) as client:
            return await client.call_tool("chatty", {"text": "hi"})

    assert text_of(asyncio.run(talk())) == "hi"
    stderr = (tmp_path / "stderr").read_text().splitlines()
    for who in ("printed", "written", "said by a child"):
        assert f"{who} while it is loaded" in stderr
    assert {"printed by a tool", "written by a tool", "said by a child of a tool"} <= set(stderr)


def test_nothing_but_the_protocol_is_ever_on_stdout(tmp_path: Path) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    done = subprocess.run(
        command(tmp_path, "--tools", "chatty"),
        env=environment(tmp_path),
        input=json.dumps(ping).encode() + b"\n",
        capture_output=True,
        timeout=60,
    )

    assert [json.loads(line)["jsonrpc"] for line in done.stdout.splitlines()] == ["2.0"]


def test_what_is_no_message_is_answered_too(tmp_path: Path) -> None:
    call = {"name": "chatty", "arguments": {"text": "\ud800"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 13, "method": "tools/call", "params": call}),
        '{"jsonrpc": "2.0", "id": "a-b", "method": "ping", "params": ' + "[" * 1_000,
        '{"jsonrpc": "2.0", "params": {"id": 7}, "id": 8, "method": "ping"',
        "no JSON",
        json.dumps({"jsonrpc": "2.0", "id": 14, "method": "ping"}),
    ]

    with subprocess.Popen(
        command(tmp_path, "--tools", "chatty"),
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        host.stdin.write("\n".join(lines).encode() + b"\n")
        host.stdin.flush()
        answers = [json.loads(host.stdout.readline()) for _ in lines]
        host.stdin.close()

    assert [one["id"] for one in answers] == [13, "a-b", None, None, 14]
    assert all("no message of the protocol" in str(one["error"]) for one in answers[:4])


@BOTH_ERAS
def test_a_cancelled_call_stops_its_tool_and_is_recorded(tmp_path: Path, mode: str) -> None:
    async def talk() -> None:
        async with over_stdio(tmp_path, "--tools", "endless,calculator", mode=mode) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.call_tool("endless", {}), 1)
            await client.call_tool("calculator", {"expression": "1"})

    asyncio.run(talk())

    assert (tmp_path / "cancelled").read_text() == "yes"
    assert [(one["name"], one["detail"]) for one in audited(tmp_path)] == [
        ("calculator", None),
        ("endless", "interrupted"),
    ]


def audited(folder: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [*command(folder)[:3], "audit", "list", "--json"],
        env=environment(folder),
        capture_output=True,
        check=True,
    )
    return list(json.loads(done.stdout))


@BOTH_ERAS
def test_over_http_tools_are_called_as_over_stdio(tmp_path: Path, mode: str) -> None:
    async def talk(url: str) -> Any:
        async with Client(url, mode=mode) as client:
            return await client.call_tool("calculator", {"expression": "6*7"})

    with over_http(tmp_path, "--http", "127.0.0.1:0") as url:
        assert text_of(asyncio.run(talk(url))) == "42"


@BOTH_ERAS
def test_over_http_the_hosts_user_approves_too(tmp_path: Path, mode: str) -> None:
    async def talk(url: str) -> Any:
        async with Client(url, mode=mode, elicitation_callback=accept) as client:
            return await client.call_tool("refund", {"amount": 5})

    with over_http(
        tmp_path, "--http", "127.0.0.1:0", "--tools", "refund", "--approve", "elicit"
    ) as url:
        assert text_of(asyncio.run(talk(url))) == "refunded 5"


@BOTH_ERAS
def test_over_http_progress_is_heard_and_a_cancelled_call_stops_its_tool(
    tmp_path: Path, mode: str
) -> None:
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def talk(url: str) -> None:
        async with Client(url, mode=mode) as client:
            await client.call_tool("slow", {"steps": 2}, progress_callback=hear)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.call_tool("endless", {}), 1)

    with over_http(tmp_path, "--http", "127.0.0.1:0", "--tools", "slow,endless") as url:
        asyncio.run(talk(url))
        assert eventually((tmp_path / "cancelled").exists)

    assert heard == ["step 0", "step 1"]


def test_all_built_in_tools_can_be_offered_and_the_schedulers_work(tmp_path: Path) -> None:
    names = catalog.names({})

    async def talk() -> tuple[list[str], list[Any]]:
        async with over_stdio(tmp_path, "--tools", ",".join(names)) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            task = {"prompt": "hi", "schedule_type": "interval", "schedule_value": "3600"}
            made = json.loads(text_of(await client.call_tool("schedule_task", task)))
            one = {"task_id": made["task_id"]}
            return listed, [
                json.loads(text_of(await client.call_tool(f"{verb}_scheduled_task", one)))["status"]
                for verb in ("pause", "resume", "cancel")
            ]

    listed, statuses = asyncio.run(talk())

    assert set(listed) == set(names)
    assert statuses == ["paused", "active", "cancelled"]


def test_over_http_other_hosts_and_origins_are_refused(tmp_path: Path) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with over_http(tmp_path, "--http", "127.0.0.1:0") as url:
        rebound = httpx2.post(url, json=body, headers={"Host": "evil.example:80"})
        foreign = httpx2.post(url, json=body, headers={"Origin": "https://evil.example"})

    assert (rebound.status_code, foreign.status_code) == (421, 403)


def test_an_address_of_this_machine_says_under_which_names_calls_are_answered(
    tmp_path: Path,
) -> None:
    options = ["--http", "0.0.0.0:0", "--tools", "calculator"]
    asked = {"headers": {"Authorization": f"Bearer {TOKEN}", "Host": "shop.example"}, "json": {}}

    with telling_over_http(tmp_path, *options, OPENJARVIS_MCP_TOKEN=TOKEN) as (url, stderr):
        told = stderr.readline()
        refused = httpx2.post(url.replace("0.0.0.0", "127.0.0.1"), **asked)
        logged = stderr.readline()

    assert "0.0.0.0" not in told
    assert told.startswith("Only calls to 127.0.0.1, localhost, [::1], ")
    assert told.endswith("are answered; --allow-host NAME adds a name or an address.\n")
    assert refused.status_code == 421
    assert "Invalid Host header: shop.example" in logged
    assert "--allow-host NAME" in logged


@pytest.mark.parametrize(
    "options", [["127.0.0.1:0"], ["0.0.0.0:0", "--allow-host", "shop.example"]]
)
def test_who_is_answered_is_not_told_on_loopback_or_where_it_was_said(
    tmp_path: Path, options: list[str]
) -> None:
    options = ["--http", *options, "--tools", "calculator"]
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": "[::1]"}
    headers |= {"Origin": "https://evil.example"}

    with telling_over_http(tmp_path, *options, OPENJARVIS_MCP_TOKEN=TOKEN) as (url, stderr):
        httpx2.post(url.replace("0.0.0.0", "127.0.0.1"), json={}, headers=headers)
        said = stderr.readline()

    assert "Invalid Origin header: https://evil.example" in said
    assert "--allow-host NAME" in said


def test_over_http_the_token_is_asked_for(tmp_path: Path) -> None:
    async def talk(url: str) -> str:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http_client,
            Client(streamable_http_client(url, http_client=http_client)) as client,
        ):
            return text_of(await client.call_tool("calculator", {"expression": "1+1"}))

    with over_http(tmp_path, "--http", "127.0.0.1:0", OPENJARVIS_MCP_TOKEN=TOKEN) as url:
        without = httpx2.post(url, json={})
        wrong = httpx2.post(url, json={}, headers={"Authorization": "Bearer wrong"})
        assert asyncio.run(talk(url)) == "2"

    assert (without.status_code, wrong.status_code) == (401, 401)


@pytest.mark.parametrize(
    ("options", "variables", "reason"),
    [
        (["--http", "0.0.0.0:0"], {}, "set a token in $OPENJARVIS_MCP_TOKEN"),
        (["--http", "127.0.0.1:0"], {"OPENJARVIS_MCP_TOKEN": "short"}, "at least 16 characters"),
        (["--http", "nonsense"], {}, "no HOST:PORT"),
        (["--http", "127.0.0.1:²"], {}, "no HOST:PORT"),
        (["--tools", "calculater"], {}, "Did you mean 'calculator'"),
    ],
)
def test_what_would_be_unsafe_or_wrong_is_refused_at_the_start(
    tmp_path: Path, options: list[str], variables: dict[str, str], reason: str
) -> None:
    done = subprocess.run(
        command(tmp_path, *options),
        env=environment(tmp_path, **variables),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )

    assert done.returncode == 2
    assert reason in done.stderr


def test_lines_that_are_no_protocol_do_not_end_the_server(tmp_path: Path) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    deep = "[" * 100_000
    done = subprocess.run(
        command(tmp_path),
        env=environment(tmp_path),
        input=f"garbage\n\x00\n{deep}\n{json.dumps(call)}\n".encode(),
        capture_output=True,
        timeout=60,
    )

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["result"]["serverInfo"]["name"] for line in lines if line.get("id") == 1] == [
        "openjarvis"
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_while_it_waits_for_its_host(tmp_path: Path, number: int) -> None:
    process = subprocess.Popen(
        command(tmp_path),
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    process.stdin.write(json.dumps(ping).encode() + b"\n")
    process.stdin.flush()
    process.stdout.readline()

    process.send_signal(number)

    assert process.wait(15) == 128 + number
    process.stdin.close()
    process.stdout.close()
