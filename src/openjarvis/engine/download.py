"""A large file fetched from a hub: continued where it broke off, each byte accounted for."""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2

from openjarvis.core.errors import LLMError, invalid_request
from openjarvis.engine.errors import Server, status_error, unavailable
from openjarvis.engine.part_file import PartFile
from openjarvis.safety.network import Deadline, GuardedBackend
from openjarvis.safety.transport import GuardedTransport
from openjarvis.safety.urls import check_url

MOST_REDIRECTS = 5
_SHA256 = re.compile(r'(?:W/)?"?([0-9a-fA-F]{64})"?')
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")
_SIZE = re.compile(r"\d{1,18}")
_SILENCE = 30.0
_LONGEST = 86_400.0

Progress = Callable[[int, int], None]
"""Hears how many bytes are here, and how many there will be."""


@dataclass(slots=True)
class Download:
    """One file at `url`, and what was told of it so far.

    `allowed` are the places besides public ones that may be connected to; `checksum` is the SHA-256
    that is expected, "" until it is told. `token` is for the host of `url` alone.
    """

    url: str
    name: str
    server: Server
    allowed: Collection[str]
    checksum: str
    token: str = field(default="", repr=False)
    size: int | None = field(default=None, init=False)
    _client: httpx2.Client = field(init=False)
    _redirects: int = field(default=0, init=False)
    _origin: tuple[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self._origin = _origin(self.url)

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Keep connections open for as long as the block lasts."""
        backend = GuardedBackend(Deadline(_LONGEST), allowed=self.allowed)
        with httpx2.Client(transport=GuardedTransport(backend), timeout=_SILENCE) as self._client:
            yield

    def look(self) -> None:
        """Learn the checksum; it may stand in any answer, and the first one usually redirects.

        Raises:
            LLMError: `LLM_INVALID_REQUEST` when none is told, so that nothing could be checked.
        """
        while not self.checksum:
            with self._answer(0) as response:
                if response is not None and not self.checksum:
                    raise invalid_request(
                        f"{self.server.name} tells no checksum of {self.name}, so that it cannot "
                        "be checked. Find its SHA-256 where you trust it: --sha256 takes it."
                    )

    def fetch(self, part: PartFile, progress: Progress) -> None:
        """Add to `part` what is missing.

        Raises:
            LLMError: `LLM_UNAVAILABLE` when it broke off, or something else came.
        """
        while True:
            with self._answer(part.size) as response:
                if response is not None:
                    self._take(response, part, progress)
                    return

    def _take(self, response: httpx2.Response, part: PartFile, progress: Progress) -> None:
        if response.status_code == 416:  # everything had come already
            return
        part.cut(self._start(response, part.size))
        total = self._total(response, part.size)
        # In the pieces in which they come: what waits for a fuller one is lost by a break.
        for piece in response.iter_raw():
            if part.size + len(piece) > total:
                raise self._wrong(f"sent more than the {total:,} bytes of {self.name}")
            part.add(piece)
            progress(part.size, total)
        if part.size != total:
            raise self._wrong(
                f"broke off after {part.size:,} of {total:,} bytes; the next attempt continues"
            )

    @contextmanager
    def _answer(self, start: int) -> Iterator[httpx2.Response | None]:
        """Give the answer to a request for the bytes from `start`; None when it redirects.

        Redirects are followed by hand: the checksum stands in the answer before the last, and none
        may lead from https to http.
        """
        # Compressed on the way, the bytes would be others than those that are counted.
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={start}-"} if start else {})}
        if self.token and _origin(self.url) == self._origin:
            headers["Authorization"] = f"Bearer {self.token}"
        check_url(self.url, allowed=self.allowed)
        with self._client.stream("GET", self.url, headers=headers) as response:
            self._learn(response.headers)
            if response.is_redirect:
                self.url = self._next_url(response)
                yield None
            elif response.status_code in ((200, 206, 416) if start else (200, 206)):
                yield response
            else:
                raise self._refusal(response)

    def _learn(self, headers: Any) -> None:
        told = _SHA256.fullmatch(headers.get("x-linked-etag", ""))
        if told and self.checksum and told[1].lower() != self.checksum:
            raise self._wrong(
                f"holds another {self.name} than the one that is wanted: its checksum is "
                f"{told[1].lower()}"
            )
        self.checksum = told[1].lower() if told else self.checksum
        size = _SIZE.fullmatch(headers.get("x-linked-size", ""))
        self.size = int(size[0]) if size else self.size

    def _start(self, response: httpx2.Response, asked: int) -> int:
        """Return where in the file the body begins."""
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            raise self._wrong("compressed the file on the way, which it was asked not to do")
        if response.status_code == 200:
            return 0
        told = _RANGE.fullmatch(response.headers.get("content-range", ""))
        if told is None or int(told[1]) != asked:
            raise self._wrong(f"sent another part of {self.name} than was asked for")
        return asked

    def _total(self, response: httpx2.Response, start: int) -> int:
        """Return how long the whole file is; whoever tells it must tell the same."""
        lengths = {self.size} if self.size is not None else set()
        length = _SIZE.fullmatch(response.headers.get("content-length", ""))
        if length:
            lengths.add(start + int(length[0]))
        told = _RANGE.fullmatch(response.headers.get("content-range", ""))
        if told and response.status_code == 206:
            lengths.add(int(told[2]) + 1)
            if told[3] != "*":
                lengths.add(int(told[3]))
        if len(lengths) != 1:
            why = "does not say" if not lengths else "contradicts itself about"
            raise self._wrong(f"{why} how long {self.name} is")
        return lengths.pop()

    def _next_url(self, response: httpx2.Response) -> str:
        self._redirects += 1
        if self._redirects > MOST_REDIRECTS:
            raise self._wrong("redirects without end")
        where = response.headers.get("location", "")
        try:
            target = urljoin(self.url, where)
        except ValueError:
            target = ""
        if not where or not target:
            raise self._wrong("redirects to no address")
        if self.url.startswith("https:") and not target.lower().startswith("https:"):
            raise self._wrong(f"redirects from https to {target[:100]!r}")
        return target

    def _refusal(self, response: httpx2.Response) -> LLMError:
        said = (
            f"there is no such file, or it needs an account ({response.reason_phrase}): HF_TOKEN "
            "holds its token"
        )
        return status_error(response.status_code, said, self.server)

    def _wrong(self, what: str) -> LLMError:
        return unavailable(f"{self.server.name} {what}.", status=502)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
