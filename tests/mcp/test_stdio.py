import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.message import SessionMessage

from mcp_servers import OpenPool, misbehaving, run
from openjarvis.mcp.content import MAX_MESSAGE
from openjarvis.mcp.stdio import LineTooLong, MessageReader
from waiting import eventually


class Source:
    """The stdout of a server, in the pieces in which it comes."""

    def __init__(self, *pieces: bytes, forever: bytes = b"") -> None:
        self._pieces = list(pieces)
        self._forever = forever
        self.given = 0

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        piece = self._pieces.pop(0) if self._pieces else self._forever
        if not piece:
            raise OSError("the pipe is closed")
        self.given += len(piece)
        return piece


def messages(source: Source) -> list[Any]:
    async def read() -> list[Any]:
        return [item async for item in MessageReader(source)]  # type: ignore[arg-type]

    return asyncio.run(read())


PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'


@pytest.mark.parametrize("size", [1, 7, len(PING), 1_000])
def test_messages_are_read_however_they_are_cut(size: int) -> None:
    whole = PING * 5
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]

    read = messages(Source(*pieces))

    assert [one.message.method for one in read] == ["ping"] * 5


def test_what_is_no_message_is_given_as_an_exception_and_the_rest_is_read() -> None:
    read = messages(Source(b"\n\xff\xfe garbage\n" + b"[" * 100_000 + b"\n" + PING + b'{"half'))

    assert [isinstance(one, SessionMessage) for one in read] == [False, False, False, True]
    assert all(isinstance(one, ValueError) for one in read[:3])


def test_text_that_is_no_utf_8_is_read_with_marks() -> None:
    read = messages(Source(PING.replace(b"ping", b"p\xffng")))

    assert read[0].message.method == "p\ufffdng"


def test_an_endless_line_is_read_to_the_limit_and_no_further() -> None:
    source = Source(forever=b"x" * 65_536)

    async def read() -> None:
        with pytest.raises(LineTooLong, match="more than 33,554,432 bytes"):
            await MessageReader(source).receive()  # type: ignore[arg-type]

    asyncio.run(read())

    assert source.given <= MAX_MESSAGE + 2 * 65_536


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_a_server_that_writes_one_endless_line_is_given_up_and_others_go_on(
    open_pool: OpenPool,
) -> None:
    pool = open_pool(misbehaving(), misbehaving("other"))
    assert run(pool, "bad__echo", {"text": "hi"}).success
    before = resident() if Path("/proc/self/statm").exists() else 0

    lost = run(pool, "bad__endless")

    assert lost.content == (
        "unavailable: the MCP server 'bad' was lost during the call, which may or may not have "
        "run: it sent a message of more than 33,554,432 bytes"
    )
    if before:
        assert resident() - before < 4 * MAX_MESSAGE
    assert run(pool, "other__echo", {"text": "untouched"}).success
    assert eventually(lambda: run(pool, "bad__echo", {"text": "back"}).success)


def test_a_server_that_starts_with_an_endless_line_is_unavailable_and_says_why(
    open_pool: OpenPool,
) -> None:
    reason = open_pool(misbehaving("bad", "endless")).statuses()[0].reason

    assert reason == "the MCP server 'bad': it sent a message of more than 33,554,432 bytes"


def test_a_server_that_never_stops_talking_holds_up_neither_others_nor_the_end(
    open_pool: OpenPool,
) -> None:
    pool = open_pool(misbehaving("bad", timeout_seconds=0.5), misbehaving("other"))

    assert "timed out" in run(pool, "bad__flood").content
    assert run(pool, "other__echo", {"text": "untouched"}).success
    pool.close()


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="asks Linux for processes")
def test_a_server_that_does_not_want_to_end_is_killed_with_its_own_processes(
    open_pool: OpenPool,
) -> None:
    pool = open_pool(misbehaving("bad", "stubborn"))
    pids = [int(one) for one in run(pool, "bad__stubborn").content.split()]
    assert eventually(lambda: all(map(runs, pids)))

    pool.close()

    assert eventually(lambda: not any(map(runs, pids)))
