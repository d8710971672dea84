"""Model files on this machine: where they are kept, and how one is fetched.

A download goes into a `.part` file that a later attempt continues, and takes its name only when its
length and its checksum are right.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

import httpcore2
import httpx2

from openjarvis.core.errors import LLMError, invalid_request
from openjarvis.engine.errors import Server, status_error, transport_error, unavailable
from openjarvis.engine.library import transport_failures
from openjarvis.safety.network import Deadline, GuardedBackend
from openjarvis.safety.transport import GuardedTransport
from openjarvis.safety.urls import BlockedURL, check_url

HUB = "https://huggingface.co"
MOST_REDIRECTS = 5
_NAME = re.compile(r"([\w.-]+/[\w.-]+)/((?:[\w.-]+/)*[\w.-]+\.gguf)")
_SHA256 = re.compile(r'"?([0-9a-f]{64})"?')
_SILENCE = 30.0
_LONGEST = 86_400.0
_FAILURES: tuple[type[Exception], ...] = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
)

Progress = Callable[[int, int], None]
"""Hears how many bytes are here, and how many there will be."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model on this machine."""

    name: str
    path: Path
    size: int


def local_models(folder: Path) -> list[ModelFile]:
    """Return the models in `folder`, by name."""
    found = sorted(folder.glob("**/*.gguf"))
    return [
        ModelFile(str(path.relative_to(folder)), path, path.stat().st_size)
        for path in found
        if path.is_file()
    ]


def pull(
    name: str,
    folder: Path,
    *,
    hub: str = HUB,
    allowed: Collection[str] = (),
    progress: Progress | None = None,
) -> Path:
    """Return the path of the model `OWNER/REPO/FILE.gguf`, fetched unless it is here.

    Only public addresses are connected to, redirects included, and the `host:port`s of `allowed`.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` for a name that is none, `LLM_REQUEST_REJECTED` when the hub
            has no such file, `LLM_UNAVAILABLE` when it broke off or the bytes are not the right
            ones; what has come is kept, and the next attempt continues.
    """
    matched = _NAME.fullmatch(name)
    if matched is None or ".." in name:
        raise invalid_request(
            f"{name[:200]!r} names no model file; expected OWNER/REPO/FILE.gguf, e.g. "
            "'Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q4_k_m.gguf'."
        )
    target = folder / matched[1] / matched[2]
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    server = Server(hub.removeprefix("https://").removeprefix("http://"))
    url = f"{hub}/{matched[1]}/resolve/main/{quote(matched[2])}"
    try:
        expected = _fetch(url, part, _Source(server, allowed), progress or (lambda *_: None))
    except BlockedURL as error:
        raise unavailable(
            f"{server.name} leads where nobody may go: {error}", status=502
        ) from error
    except (*_FAILURES, *transport_failures()) as error:
        raise transport_error(error, server) from error
    if expected and _sha256(part) != expected:
        part.unlink()
        raise unavailable(
            f"The checksum of {name} is wrong: what came is not what {server.name} holds. It was "
            "thrown away; try again.",
            status=502,
        )
    part.replace(target)
    return target


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a file comes from, and which places besides public ones may be connected to."""

    server: Server
    allowed: Collection[str]


def _fetch(url: str, part: Path, source: _Source, progress: Progress) -> str:
    """Append what is missing to `part`; return the checksum of the whole, "" when none is told."""
    here = part.stat().st_size if part.is_file() else 0
    checksum = ""
    with _opened(url, here, source) as (response, told):
        checksum = told
        if response.status_code == 416:  # everything had come already
            return checksum
        if response.status_code == 200:
            here = 0
        total = here + int(response.headers.get("content-length") or 0)
        with part.open("ab" if here else "wb") as file:
            # In the pieces in which they come: what waits for a fuller one is lost by a break.
            for piece in response.iter_raw():
                file.write(piece)
                here += len(piece)
                progress(here, total)
    if total and here != total:
        raise unavailable(
            f"{source.server.name} broke off after {here:,} of {total:,} bytes; the next attempt "
            "continues.",
            status=502,
        )
    return checksum


@contextmanager
def _opened(url: str, here: int, source: _Source) -> Iterator[tuple[httpx2.Response, str]]:
    """Give the answer to a request for the bytes from `here`, and the checksum that was told.

    Redirects are followed by hand: the checksum stands in the answer before the last, and none may
    lead from https to http.
    """
    checksum, headers = "", {"Range": f"bytes={here}-"} if here else {}
    backend = GuardedBackend(Deadline(_LONGEST), allowed=source.allowed)
    with httpx2.Client(transport=GuardedTransport(backend), timeout=_SILENCE) as client:
        for _ in range(MOST_REDIRECTS + 1):
            check_url(url, allowed=source.allowed)
            with client.stream("GET", url, headers=headers) as response:
                checksum = checksum or _told_checksum(response.headers)
                if response.is_redirect:
                    url = _next_url(response, url, source.server)
                    continue
                if response.status_code not in (200, 206, 416):
                    raise _refusal(response, source.server)
                yield response, checksum
                return
    raise unavailable(f"{source.server.name} redirects without end.", status=502)


def _next_url(response: httpx2.Response, url: str, server: Server) -> str:
    target = urljoin(url, response.headers["location"])
    if url.startswith("https://") and not target.startswith("https://"):
        raise unavailable(f"{server.name} redirects from https to {target[:100]!r}.", status=502)
    return target


def _refusal(response: httpx2.Response, server: Server) -> LLMError:
    said = f"there is no such file, or it needs an account ({response.reason_phrase})"
    return status_error(response.status_code, said, server)


def _told_checksum(headers: Any) -> str:
    matched = _SHA256.fullmatch(headers.get("x-linked-etag", ""))
    return matched[1] if matched else ""


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
