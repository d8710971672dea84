"""Read streams that look at what comes through them; all else is passed on to the one inside."""

import re
from typing import Any, Self

from anyio import EndOfStream
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

_ID = re.compile(
    r'\s*\{(?:\s*"(?!id")\w+"\s*:\s*(?:"\w[\w./-]*"|[\d.]+)\s*,)*\s*"id"\s*:\s*(\d{1,15}|"[^"\\]*")'
)
"""The id of a request that stands before all that may be nested."""


class ReadStream:
    """Gives what the stream inside gives."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def receive(self) -> Any:
        """Return the next message, or what stands for one that cannot be read."""
        return await self._inner.receive()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._inner.__aexit__(*error)


class AnsweringStream(ReadStream):
    """Answers what is no message with an error: whoever sent it would wait for ever."""

    def __init__(self, inner: Any, writing: Any) -> None:
        super().__init__(inner)
        self._writing = writing

    async def receive(self) -> Any:
        received = await super().receive()
        while isinstance(received, Exception):
            error = ErrorData(code=PARSE_ERROR, message="This is no message of the protocol.")
            answer = JSONRPCError(jsonrpc="2.0", id=_id_in(received), error=error)
            await self._writing.send(SessionMessage(answer))
            received = await super().receive()
        return received


def _id_in(error: Exception) -> int | str | None:
    text = error.errors()[0]["input"] if isinstance(error, ValidationError) else None
    found = _ID.match(text) if isinstance(text, str) else None
    if found is None:
        return None
    return found[1][1:-1] if found[1].startswith('"') else int(found[1])
