"""Model files on this machine: where they are kept, and how one is fetched.

A download goes into a `.part` file that a later attempt continues, and takes its name only when its
length and its checksum are right. The name of the `.part` file holds the checksum: what belongs to
another version of the file is never continued.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpcore2

from openjarvis.core.errors import ToolError, invalid_request
from openjarvis.engine.download import Download, Progress
from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.errors import transport_error, unavailable
from openjarvis.engine.library import transport_failures
from openjarvis.engine.part_file import disk, opened_part
from openjarvis.engine.settings import environment
from openjarvis.safety.urls import BlockedURL

HUB = "https://huggingface.co"
_NAME = re.compile(r"([\w.-]+/[\w.-]+)/((?:[\w.-]+/)*[\w.-]+\.gguf)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FAILURES: tuple[type[Exception], ...] = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
)


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
    hub: str = "",
    token: str = "",
    allowed: Collection[str] = (),
    sha256: str = "",
    progress: Progress | None = None,
) -> Path:
    """Return the path of the model `OWNER/REPO/FILE.gguf`, fetched unless it is here.

    `hub` is the URL of a hub of the same kind, else the environment's `HF_ENDPOINT`, else Hugging
    Face; `token` what it wants for private files, else the environment's `HF_TOKEN`. Only public
    addresses are connected to, redirects included, the hub of the environment wherever it is, and
    the `host:port`s of `allowed`. `sha256` is the checksum that the file must have; a hub that
    tells none needs it.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` for a name or a hub that is none, a file whose checksum
            nobody tells, or a disk that does not take it; `LLM_REQUEST_REJECTED` when the hub has
            no such file; `LLM_UNAVAILABLE` when it broke off or the bytes are wrong. What has come
            is kept, and the next attempt continues.
    """
    matched = _NAME.fullmatch(name)
    if matched is None or ".." in name or "." in name.split("/"):
        raise invalid_request(
            f"{name[:200]!r} names no model file; expected OWNER/REPO/FILE.gguf, e.g. "
            "'Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q4_k_m.gguf'."
        )
    if sha256 and not _SHA256.fullmatch(sha256.lower()):
        raise invalid_request(f"{sha256[:80]!r} is no SHA-256; expected 64 hexadecimal digits.")
    target = folder / matched[1] / matched[2]
    if target.is_file():
        return target
    told = "" if hub else environment("HF_ENDPOINT")
    endpoint = Endpoint((hub or told or HUB).rstrip("/"), token or environment("HF_TOKEN"))
    url = f"{endpoint.base_url}/{matched[1]}/resolve/main/{quote(matched[2])}"
    server = endpoint.server
    trusted = (*allowed, _place(told)) if told else allowed
    download = Download(url, name, server, trusted, sha256.lower(), endpoint.api_key)
    try:
        with download.connected():
            _fetch(download, target, progress or (lambda *_: None))
    except BlockedURL as error:
        raise unavailable(
            f"{server.name} leads where nobody may go: {error}", status=502
        ) from error
    except ToolError as error:  # a host that has no address
        raise unavailable(str(error)) from error
    except (*_FAILURES, *transport_failures()) as error:
        raise transport_error(error, server) from error
    return target


def _place(url: str) -> str:
    """Return the `host:port` of a URL."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def _fetch(download: Download, target: Path, progress: Progress) -> None:
    with disk(target):
        if target.is_dir():
            raise IsADirectoryError(0, "a folder of that name is there")
        target.parent.mkdir(parents=True, exist_ok=True)
    download.look()
    path = target.with_name(f"{target.name}.{download.checksum[:12]}.part")
    with opened_part(path) as part:
        download.fetch(part, progress)
        is_right = part.sha256() == download.checksum
    with disk(target):
        if is_right:
            path.replace(target)
            return
        path.unlink()
    raise unavailable(
        f"The checksum of {download.name} is wrong: what came is not what {download.server.name} "
        "holds. It was thrown away; try again.",
        status=502,
    )
