"""A server that is a process of ours: one message a line over its stdin and stdout.

The session reads and writes the pipes itself: no other task stands between, and no line grows past
`MAX_MESSAGE`. Ending follows the protocol: stdin is closed, and what does not end then is killed.
"""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Self, TextIO

import anyio
from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
from anyio.abc import AsyncResource, ByteReceiveStream, ByteSendStream, Process
from anyio.lowlevel import checkpoint
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.os.win32.utilities import (
    ServerProcess,
    close_process_job,
    create_windows_process,
    get_windows_executable_command,
    terminate_windows_process_tree,
)
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from openjarvis.config import McpServerConfig
from openjarvis.mcp.content import MAX_MESSAGE

_EXIT_SECONDS = 2.0
"""How long a server may take to end by itself; then it is asked to, and then it is killed."""

_POLL_SECONDS = 0.01
_GONE = (BrokenResourceError, ClosedResourceError, OSError)


class LineTooLong(EndOfStream):
    """A server wrote what is longer than a message may be; nothing more is read of it."""

    def __init__(self) -> None:
        super().__init__(f"it sent a message of more than {MAX_MESSAGE:,} bytes")


class _Stream:
    """What both ends have in common for the session: they are closed with the process."""

    async def aclose(self) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass


class MessageReader(_Stream):
    """Reads messages from a server's stdout; a line that is none is given as an exception."""

    def __init__(self, source: ByteReceiveStream) -> None:
        self._source = source
        self._buffer = bytearray()

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message.

        Raises:
            LineTooLong: when a line is longer than a message may be.
            EndOfStream: when the server has closed its stdout.
        """
        await checkpoint()  # a server that never stops does not keep the loop to itself
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > MAX_MESSAGE:
                self._buffer.clear()
                raise LineTooLong
            try:
                self._buffer += await self._source.receive()
            except _GONE as error:
                raise EndOfStream from error
        line = self._buffer[:end].decode(errors="replace")
        del self._buffer[: end + 1]
        return _message(line)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None


class MessageWriter(_Stream):
    """Writes messages to a server's stdin."""

    def __init__(self, sink: ByteSendStream) -> None:
        self._sink = sink

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message.

        Raises:
            BrokenResourceError: when the server does not read any more.
        """
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
        try:
            await self._sink.send(line.encode(errors="replace"))
        except _GONE as error:
            raise BrokenResourceError from error


@asynccontextmanager
async def server_process(
    settings: McpServerConfig, stderr: TextIO
) -> AsyncIterator[tuple[MessageReader, MessageWriter]]:
    """Start a server and yield the streams to it; leaving ends it, its own processes included."""
    process = await _started(settings, stderr)
    assert process.stdin is not None  # noqa: S101 - it was started with pipes
    assert process.stdout is not None  # noqa: S101
    try:
        yield MessageReader(process.stdout), MessageWriter(process.stdin)
    finally:
        # Also when the caller is cancelled, or the process would be left behind.
        with anyio.CancelScope(shield=True):
            await _end(process, process.stdin, process.stdout)


async def _started(settings: McpServerConfig, stderr: TextIO) -> ServerProcess:
    environment = get_default_environment() | settings.env
    directory = os.path.expanduser(settings.cwd) or None  # noqa: PTH111 - "" means none
    if sys.platform == "win32":
        command = get_windows_executable_command(settings.command)
        return await create_windows_process(command, settings.args, environment, stderr, directory)
    return await anyio.open_process(
        [settings.command, *settings.args],
        env=environment,
        stderr=stderr,
        cwd=directory,
        start_new_session=True,  # so that its own processes can be ended with it
    )


async def _end(process: ServerProcess, stdin: ByteSendStream, stdout: ByteReceiveStream) -> None:
    async with anyio.create_task_group() as group:
        # A server that is still writing ends only once somebody reads.
        group.start_soon(_drain, stdout)
        await _close(stdin)
        if not await _has_ended(process):
            await _kill(process)
            await _has_ended(process)
        close_process_job(process)
        # A process of the server's that is left may hold the pipe open.
        await _close(stdout)
        group.cancel_scope.cancel()
    _close_transport(process)


async def _drain(stdout: ByteReceiveStream) -> None:
    with suppress(EndOfStream, *_GONE):
        while True:
            await stdout.receive()


async def _close(stream: AsyncResource) -> None:
    with suppress(*_GONE):
        await stream.aclose()


async def _has_ended(process: ServerProcess) -> bool:
    """Wait a while for the end; not by `wait`, which waits for whoever holds its pipes too."""
    with anyio.move_on_after(_EXIT_SECONDS):
        while process.returncode is None:
            await anyio.sleep(_POLL_SECONDS)
    return process.returncode is not None


async def _kill(process: ServerProcess) -> None:
    if sys.platform == "win32":
        await terminate_windows_process_tree(process)
    elif isinstance(process, Process):
        await terminate_posix_process_tree(process, _EXIT_SECONDS)


def _close_transport(process: ServerProcess) -> None:
    """Close what asyncio keeps for the process, or it would warn of it when it is collected."""
    transport: Any = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


def _message(line: str) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error
