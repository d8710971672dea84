"""What every engine's HTTP client keeps to: where a request may go, and how much may come back.

A server on this machine may be anybody's, and one elsewhere may be mistaken for another. So no
redirect carries a request to another place, and an answer ends at its bounds instead of the
memory's. The client libraries bring their own HTTP clients; these are the options for them.
"""

import re
from collections.abc import AsyncIterator, Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final

from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.errors import Server, unavailable

MAX_ANSWER: Final = 32_000_000
"""Bytes of a whole answer; as JSON it takes many times that in memory."""
MAX_STREAM: Final = 128_000_000
"""Bytes of a streamed answer; each token of it comes in an event of some hundred bytes."""
MAX_EVENT: Final = 16_000_000
MAX_EVENT_LINES: Final = 1_000
"""The libraries join the lines of an event one by one, which takes the square of their number."""

_HEADERS: Final = {"Accept-Encoding": "identity"}
_EVENT_ENDS: Final = {
    "text/event-stream": re.compile(rb"\r\n\r\n|\n\n|\r\r"),
    "application/x-ndjson": re.compile(rb"\n"),
}
_ASKS_FOR_EVENTS: Final = re.compile(rb'"stream":\s*true')
_SAFE_STATUSES: Final = frozenset({307, 308})
"""The redirects that keep a POST what it is."""


def client_options(endpoint: Endpoint) -> dict[str, Any]:
    """Return the options for an `httpx2.Client` (or `httpx.Client`) that asks `endpoint`."""

    def check(response: Any) -> None:
        _bound(response, endpoint.server)

    return _options(endpoint, check)


def async_client_options(endpoint: Endpoint) -> dict[str, Any]:
    """Return the options for an `httpx2.AsyncClient` (or `httpx.AsyncClient`)."""

    async def check(response: Any) -> None:
        _bound(response, endpoint.server)

    return _options(endpoint, check)


def _options(endpoint: Endpoint, check: Any) -> dict[str, Any]:
    return {
        # A proxy of the environment could not reach this machine's own servers.
        "trust_env": not endpoint.is_local,
        "headers": _HEADERS,
        "event_hooks": {"response": [check]},
    }


def _bound(response: Any, server: Server) -> None:
    """Check the head of an answer, and bound its body.

    Raises:
        LLMError: `LLM_UNAVAILABLE` for a redirect that is not followed, or a compressed answer.
    """
    if response.has_redirect_location:
        _check_redirect(response, server)
    compression = response.headers.get("content-encoding", "").strip().lower()
    if compression not in ("", "identity"):
        # A few bytes may unpack to gigabytes; nobody asked for it.
        raise unavailable(
            f"{server.name} compressed its answer ({server.quote(compression)[:40]}), which it was "
            "asked not to do.",
            status=502,
        )
    # JSON is UTF-8 whatever the head says; some of Python's codecs are no encodings of text.
    response.encoding = "utf-8"
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    end = _EVENT_ENDS.get(kind)
    if end is None and _asks_for_events(response.request):
        end = _EVENT_ENDS["text/event-stream"]  # it is read as such, whatever it calls itself
    counted = _counted_stream(type(response).__module__.partition(".")[0])
    response.stream = counted(response.stream, _Meter(server, end))


def _asks_for_events(request: Any) -> bool:
    if "stream" in str(request.url.path).lower():  # Gemini's
        return True
    return _ASKS_FOR_EVENTS.search(request.read()) is not None


def _check_redirect(response: Any, server: Server) -> None:
    here, where = response.request.url, "nowhere"
    try:
        target = here.join(response.headers["location"])
        where = f"{target.scheme}://{target.netloc.decode('ascii', 'replace')}"
        is_same = target.host == here.host and (
            (target.scheme, target.port) == (here.scheme, here.port)
            or (here.scheme, here.port, target.scheme, target.port) == ("http", None, "https", None)
        )
    except Exception:  # noqa: BLE001 - an address that is none: either library has its own error
        is_same = False
    keeps_body = response.request.method == "GET" or response.status_code in _SAFE_STATUSES
    if not (is_same and keeps_body):
        raise unavailable(
            f"{server.name} redirects to {server.quote(where)[:200]}; neither the key nor the "
            "conversation was sent there. If that is the right address, set it as the base URL.",
            status=502,
        )


class _Meter:
    """Counts the bytes of an answer, and refuses those past its bounds."""

    def __init__(self, server: Server, event_end: re.Pattern[bytes] | None) -> None:
        self._server = server
        self._event_end = event_end
        self._most = MAX_ANSWER if event_end is None else MAX_STREAM
        self._total = 0
        self._event = 0
        self._lines = 0
        self._tail = b""

    def take(self, piece: bytes) -> bytes:
        """Return the next piece of the body, counted.

        Raises:
            LLMError: `LLM_UNAVAILABLE` when the answer, or an event in it, is too long.
        """
        self._total += len(piece)
        if self._total > self._most:
            raise self._too_long("an answer", f"{self._most:,} bytes")
        if self._event_end is not None:
            self._measure(self._event_end.split(self._tail + piece))
        return piece

    def _measure(self, parts: list[bytes]) -> None:
        """Add to the event under way what belongs to it; every part but the last ends one."""
        self._event -= len(self._tail)
        for position, part in enumerate(parts):
            if position:
                self._event = self._lines = 0
            self._event += len(part)
            self._lines += part.count(b"\n") + part.count(b"\r")
            if self._event > MAX_EVENT:
                raise self._too_long("a single event", f"{MAX_EVENT:,} bytes")
            if self._lines > MAX_EVENT_LINES:
                raise self._too_long("a single event", f"{MAX_EVENT_LINES:,} lines")
        # The end of an event may lie across two pieces.
        self._tail = parts[-1][len(parts[-1].rstrip(b"\r\n")) :][-3:]
        self._lines -= self._tail.count(b"\n") + self._tail.count(b"\r")

    def _too_long(self, what: str, most: str) -> Exception:
        return unavailable(
            f"{self._server.name} sent {what} of more than {most}; it was not read further.",
            status=502,
        )


class _Counted:
    """The body of an answer, piece by piece through a meter."""

    def __init__(self, stream: Any, meter: _Meter) -> None:
        self._stream = stream
        self._meter = meter

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            yield self._meter.take(piece)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            yield self._meter.take(piece)

    def close(self) -> None:
        self._stream.close()

    async def aclose(self) -> None:
        await self._stream.aclose()


@cache
def _counted_stream(module: str) -> type[Any]:
    """Return `_Counted` as a stream of `httpx2` or `httpx`; some client libraries use the older."""
    library = import_module(module)
    return type("_Counted", (_Counted, library.SyncByteStream, library.AsyncByteStream), {})
