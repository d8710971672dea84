"""One fetch of a web resource that was named by somebody we do not trust.

Every address and every hop of a redirect is checked, nothing is taken from the environment, the
body is read in a stream and bounded before and after decompression, and one deadline bounds it all.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urljoin

import httpcore2
import httpx2

from openjarvis.core.errors import ToolError
from openjarvis.safety.body import ACCEPTED_ENCODINGS, read_body, web_encoding
from openjarvis.safety.network import Deadline, Dial, GuardedBackend, Resolve, dial, resolve
from openjarvis.safety.transport import GuardedTransport
from openjarvis.safety.urls import BlockedURL, check_url

MAX_BODY_BYTES: Final = 1024 * 1024
_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_KEEPS_METHOD: Final = (307, 308)
_CONNECT_SECONDS: Final = 10.0
_READ_SECONDS: Final = 20.0
_TRAVEL_ANYWHERE: Final = ("accept", "accept-language", "content-type", "user-agent")
_OURS: Final = {"Accept": "*/*", "Accept-Encoding": ACCEPTED_ENCODINGS, "User-Agent": "openjarvis"}


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came back; `body` is decompressed, and was cut at `MAX_BODY_BYTES` if `is_cut`."""

    url: str
    status: int
    reason: str
    headers: httpx2.Headers
    body: bytes
    is_cut: bool
    redirects: int = 0

    @property
    def content_type(self) -> str:
        """The media type as the server named it, "" when it did not."""
        return self.headers.get("content-type", "")

    @property
    def text(self) -> str:
        """The body as text, in the encoding that the headers name or UTF-8."""
        response = httpx2.Response(self.status, headers={"content-type": self.content_type})
        return self.body.decode(web_encoding(response.charset_encoding), errors="replace")


@dataclass(frozen=True, slots=True)
class _Ask:
    """One hop: what is sent, and where to."""

    url: str
    method: str
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Fetches from the public internet, and from the `host` or `host:port` of `allowed`."""

    allowed: Collection[str] = ()
    resolve: Resolve = field(default=resolve)
    dial: Dial = field(default=dial)

    def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        seconds: float = 30.0,
    ) -> Fetched:
        """Return the answer to a request, redirects followed.

        Raises:
            BlockedURL: when the URL leads where nobody may go.
            ToolError: when no answer came, or a redirect leads there.
        """
        check_url(url, allowed=self.allowed)
        deadline = Deadline(seconds)
        backend = GuardedBackend(
            deadline, allowed=self.allowed, resolve=self.resolve, dial=self.dial
        )
        try:
            with GuardedTransport(backend) as transport:
                return self._follow(transport, _Ask(url, method, dict(headers or {}), body))
        except (httpcore2.TimeoutException, httpx2.TimeoutException) as error:
            raise ToolError(f"The server did not answer in time ({seconds:g} s).") from error
        except (
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpx2.HTTPError,
            httpx2.InvalidURL,
        ) as error:
            raise ToolError(f"The request failed: {_in_words(error)}.") from error

    def _follow(self, transport: GuardedTransport, ask: _Ask) -> Fetched:
        for hop in range(_MAX_REDIRECTS + 1):
            try:
                answer = _send(transport, ask)
            except BlockedURL as error:
                if hop == 0:
                    raise
                raise _blocked_redirect(error.why) from error
            target = answer.headers.get("location")
            if answer.status not in _REDIRECTS or target is None:
                return replace(answer, redirects=hop)
            ask = self._redirected(ask, answer.status, target)
        raise ToolError(f"The server redirected more than {_MAX_REDIRECTS} times.")

    def _redirected(self, ask: _Ask, status: int, target: str) -> _Ask:
        try:
            url = urljoin(ask.url, target)
            origin = check_url(url, allowed=self.allowed)
        except ValueError as error:
            raise _blocked_redirect("it cannot be read.") from error
        except BlockedURL as error:
            raise _blocked_redirect(error.why) from error
        headers = ask.headers
        if origin != check_url(ask.url, allowed=self.allowed):
            # Anything else may be a credential of the place that was left.
            headers = {k: v for k, v in headers.items() if k.lower() in _TRAVEL_ANYWHERE}
        if status in _KEEPS_METHOD or ask.method in ("GET", "HEAD"):
            return _Ask(url, ask.method, headers, ask.body)
        headers = {k: v for k, v in headers.items() if k.lower() != "content-type"}
        return _Ask(url, "GET", headers, None)


def _in_words(error: Exception) -> str:
    if isinstance(error, httpcore2.ConnectError | httpx2.ConnectError):
        return "no connection; the server is down, refuses it, or its certificate is not valid"
    if isinstance(error, httpcore2.NetworkError | httpx2.NetworkError):
        return "the connection broke off"
    if isinstance(error, httpx2.InvalidURL):
        return "the URL cannot be read"
    return "the answer is not what HTTP allows"


def _blocked_redirect(why: str) -> ToolError:
    return ToolError(f"SSRF protection blocked redirect: {why}")


def _send(transport: GuardedTransport, ask: _Ask) -> Fetched:
    request = httpx2.Request(
        ask.method,
        ask.url,
        headers=httpx2.Headers({**_OURS, **ask.headers}),
        content=ask.body,
        extensions={
            "timeout": {
                "connect": _CONNECT_SECONDS,
                "read": _READ_SECONDS,
                "write": _READ_SECONDS,
                "pool": _CONNECT_SECONDS,
            }
        },
    )
    response = transport.handle_request(request)
    try:
        body, is_cut = read_body(
            response.iter_raw(),
            encoding=response.headers.get("content-encoding", ""),
            limit=MAX_BODY_BYTES,
        )
    finally:
        response.close()
    return Fetched(
        ask.url, response.status_code, response.reason_phrase, response.headers, body, is_cut
    )
