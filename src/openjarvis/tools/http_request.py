"""The tool that sends one HTTP request, to the public internet only."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated, Self

from openjarvis.core.errors import ToolError
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.safety.fetch import Fetched, Fetcher
from openjarvis.safety.headers import checked_headers
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool
from openjarvis.tools.page_text import page_text
from openjarvis.tools.settings import settings_of

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_LONGEST_TIMEOUT = 120.0


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """`[tools.http_request]`; `allow_hosts` opens places inside, as `host` or `host:port`."""

    allow_hosts: list[str] = field(default_factory=list)


@ToolRegistry.register("http_request")
class HttpRequestTool(TypedTool):
    """Send an HTTP request to a web address and return the answer's body.

    Call it when the user names a URL or an API to ask. It reaches the public internet only, follows
    redirects, and returns at most 1 MB.
    """

    name = "http_request"
    category = "network"
    timeout_seconds = _LONGEST_TIMEOUT + 10
    open_world = True
    required = ("url",)
    examples = (
        ("Fetch https://example.com", {"url": "https://example.com", "as_text": True}),
        "What does the API at https://api.example.com/status answer?",
    )

    def __init__(
        self, fetcher: Fetcher | None = None, *, allow_hosts: Collection[str] = ()
    ) -> None:
        """Reach the public internet, and the places in `allow_hosts` (`host` or `host:port`)."""
        self._fetcher = fetcher or Fetcher(allowed=tuple(allow_hosts))

    @classmethod
    def build(cls, services: Services) -> Self:
        return cls(allow_hosts=settings_of(services, cls.name, HttpSettings).allow_hosts)

    def run(
        self,
        url: Annotated[str, "The address, with http:// or https://"] = "",
        method: Annotated[str, "GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"] = "GET",
        headers: Annotated[dict[str, str] | None, "Headers to send"] = None,
        body: Annotated[str | None, "The text to send as body"] = None,
        timeout: Annotated[float, "Seconds for the whole request"] = 30.0,
        as_text: Annotated[bool, "Return an HTML page as its text and links"] = False,
    ) -> ToolResult:
        if not url.strip():
            raise ToolError("No URL: give the address to fetch.")
        if method.upper() not in _METHODS:
            raise ToolError(
                f"Unsupported HTTP method: {method[:20]}. There are {', '.join(_METHODS)}."
            )
        if not 0 < timeout <= _LONGEST_TIMEOUT:
            raise ToolError(f"timeout must be above 0 and at most {_LONGEST_TIMEOUT:g} seconds.")
        started = time.monotonic()
        fetched = self._fetcher.fetch(
            url.strip(),
            method=method.upper(),
            headers=checked_headers(headers or {}),
            body=None if body is None else body.encode(errors="replace"),
            seconds=timeout,
        )
        elapsed_ms = (time.monotonic() - started) * 1000
        return ToolResult(
            self.name, _content(fetched, as_text), metadata=_metadata(fetched, elapsed_ms)
        )


def _content(fetched: Fetched, as_text: bool) -> str:
    if b"\0" in fetched.body[:1024]:
        kind = fetched.content_type or "unknown type"
        text = f"(binary content, {kind}, {len(fetched.body):,} bytes)"
    elif as_text and "html" in fetched.content_type:
        text = page_text(fetched.text, fetched.url)
    else:
        text = fetched.text
    if fetched.is_cut:
        text += "\n[Response truncated at 1 MB]"
    if fetched.status >= 400:
        return f"HTTP {fetched.status} {fetched.reason}\n\n{text}".rstrip()
    return text


def _metadata(fetched: Fetched, elapsed_ms: float) -> dict[str, object]:
    return {
        "status_code": fetched.status,
        "headers": dict(fetched.headers),
        "content_type": fetched.content_type,
        "elapsed_ms": round(elapsed_ms, 1),
        "truncated": fetched.is_cut,
        "url": fetched.url,
        "redirects": fetched.redirects,
    }
