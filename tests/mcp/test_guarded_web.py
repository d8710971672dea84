"""What a server that is called may make us fetch: the configured place and public ones, no more."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps
from threading import Thread
from typing import Any

import httpx2
import pytest

from mcp_servers import OpenPool, run
from mcp_web import Authority, free_port, served, wanting_a_login
from openjarvis.config import McpServerConfig
from openjarvis.mcp.content import MAX_MESSAGE
from openjarvis.mcp.guarded_web import guarded_client
from openjarvis.mcp.servers import Server
from openjarvis.safety.urls import BlockedURL

Answer = tuple[int, dict[str, str], bytes]
BOTH = pytest.mark.parametrize("transport", ["http", "sse"])


@dataclass
class Site:
    """A web server that answers what it is told to, and keeps the paths that were asked for."""

    answer: Callable[[str], Answer] = lambda path: (404, {}, b"")
    asked: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def open_site() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            site.asked.append(self.path)
            status, headers, body = site.answer(self.path)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_DELETE = do_GET  # noqa: N815 - names of the base

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.port = server.server_address[1]
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def hostile() -> Iterator[Site]:
    """The configured server, which means no good."""
    with open_site() as site:
        yield site


@pytest.fixture
def inside() -> Iterator[Site]:
    """A service on this machine that nobody was told of."""
    with open_site() as site:
        yield site


def unauthorized(url: str) -> Answer:
    return 401, {"WWW-Authenticate": f'Bearer resource_metadata="{url}"'}, b""


def as_json(content: dict[str, Any]) -> Answer:
    return 200, {"Content-Type": "application/json"}, dumps(content).encode()


def protected(site: Site, authority: str) -> Answer:
    return as_json({"resource": f"{site.url}/mcp", "authorization_servers": [authority]})


def log_in(address: str) -> None:
    """Bring the code of a login, as the browser of a user does who is logged in already."""
    query = httpx2.URL(address).params
    visit(httpx2.URL(query["redirect_uri"], params={"code": "c", "state": query["state"]}))


def visit(url: httpx2.URL) -> None:
    def follow() -> None:
        # The listener may not be up yet when the address is told.
        with httpx2.Client(transport=httpx2.HTTPTransport(retries=5)) as browser:
            browser.get(url)

    Thread(target=follow, daemon=True).start()


def reason_of(open_pool: OpenPool, site: Site, **settings: Any) -> str:
    config = McpServerConfig(url=f"{site.url}/mcp", oauth=True, **settings)
    pool = open_pool(Server("web", "the test", config), authorize=log_in)
    reason: str = pool.statuses()[0].reason
    pool.close()
    return reason


PRIVATE = [
    "http://169.254.169.254/latest/meta-data/",
    "http://[::ffff:169.254.169.254]/x",
    "http://10.0.0.1/x",
    "http://metadata.google.internal/x",
    "http://localhost/x",
    "http://2130706433/x",
]


@BOTH
def test_metadata_of_a_login_is_not_fetched_from_this_machine(
    open_pool: OpenPool, hostile: Site, inside: Site, transport: str
) -> None:
    hostile.answer = lambda path: unauthorized(f"{inside.url}/secret")

    reason = reason_of(open_pool, hostile, transport=transport)

    assert "SSRF protection" in reason
    assert inside.asked == []


@pytest.mark.parametrize("url", PRIVATE)
def test_metadata_of_a_login_is_not_fetched_from_private_places(
    open_pool: OpenPool, hostile: Site, url: str
) -> None:
    hostile.answer = lambda path: unauthorized(url)

    assert "SSRF protection" in reason_of(open_pool, hostile)


def test_an_authorization_server_on_this_machine_is_not_asked(
    open_pool: OpenPool, hostile: Site, inside: Site
) -> None:
    def answer(path: str) -> Answer:
        if path.startswith("/.well-known/oauth-protected-resource"):
            return protected(hostile, inside.url)
        return unauthorized(f"{hostile.url}/.well-known/oauth-protected-resource/mcp")

    hostile.answer = answer

    assert "SSRF protection" in reason_of(open_pool, hostile)
    assert inside.asked == []


@pytest.mark.parametrize(
    "endpoint", ["registration_endpoint", "authorization_endpoint", "token_endpoint"]
)
def test_the_endpoints_of_an_authorization_server_are_checked_too(
    open_pool: OpenPool, hostile: Site, inside: Site, endpoint: str
) -> None:
    def answer(path: str) -> Answer:
        if path.startswith("/.well-known/oauth-protected-resource"):
            return protected(hostile, hostile.url)
        if path.startswith("/.well-known/oauth-authorization-server"):
            named = {
                "issuer": hostile.url,
                "authorization_endpoint": f"{hostile.url}/authorize",
                "token_endpoint": f"{hostile.url}/token",
                "registration_endpoint": f"{hostile.url}/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }
            return as_json({**named, endpoint: f"{inside.url}/post"})
        if path == "/register":
            return 201, *as_json(
                {"client_id": "c", "redirect_uris": ["http://127.0.0.1:33418/callback"]}
            )[1:]
        return unauthorized(f"{hostile.url}/.well-known/oauth-protected-resource/mcp")

    hostile.answer = answer

    assert "SSRF protection" in reason_of(open_pool, hostile)
    assert inside.asked == []


def test_a_login_that_is_refused_is_told_at_once(open_pool: OpenPool) -> None:
    port = free_port()

    def refuse(address: str) -> None:
        back = httpx2.URL(httpx2.URL(address).params["redirect_uri"])
        visit(back.copy_merge_params({"error": "access_denied", "error_description": "Not you."}))

    with served(wanting_a_login(Authority(), port).streamable_http_app(), port):
        settings = McpServerConfig(url=f"http://127.0.0.1:{port}/mcp", oauth=True)
        pool = open_pool(Server("web", "the test", settings), authorize=refuse)
        reason = pool.statuses()[0].reason
        pool.close()

    assert reason == "the MCP server 'web': the login was refused: access_denied (Not you.)"


def test_a_login_leads_where_the_user_said_it_may(open_pool: OpenPool, inside: Site) -> None:
    port = free_port()
    inside.answer = lambda path: (404, {}, b"")
    with served(wanting_a_login(Authority(), port).streamable_http_app(), port):
        front = f"http://localhost:{port}/mcp"
        settings = McpServerConfig(url=front, oauth=True)
        refused = open_pool(Server("web", "the test", settings)).statuses()[0].reason
        settings = McpServerConfig(url=front, oauth=True, oauth_hosts=[f"127.0.0.1:{port}"])
        allowed = open_pool(Server("web", "the test", settings)).statuses()[0].reason

    assert "SSRF protection" in refused
    assert "SSRF protection" not in allowed


@pytest.mark.parametrize("status", [302, 307, 308])
def test_the_server_does_not_lead_elsewhere_by_a_redirect(
    open_pool: OpenPool, hostile: Site, inside: Site, status: int
) -> None:
    hostile.answer = lambda path: (status, {"Location": f"{inside.url}/x"}, b"")

    assert reason_of(open_pool, hostile) != ""
    assert inside.asked == []


def fetched(site: Site, url: str, **options: Any) -> httpx2.Response:
    async def talk() -> httpx2.Response:
        async with guarded_client(f"{site.url}/mcp", **options) as client:
            return await client.get(url)

    return asyncio.run(talk())


def test_a_name_that_leads_inside_is_refused_after_it_was_resolved(hostile: Site) -> None:
    with pytest.raises(BlockedURL, match="not public"):
        fetched(hostile, "http://auth.example.com/", resolve=lambda host, port: ["169.254.169.254"])


def test_a_name_is_refused_when_any_of_its_addresses_is_private(hostile: Site) -> None:
    with pytest.raises(BlockedURL, match="not public"):
        fetched(
            hostile, "http://auth.example.com/", resolve=lambda host, port: ["93.184.215.14", "::1"]
        )


def test_another_port_of_the_configured_host_is_another_place(hostile: Site, inside: Site) -> None:
    with pytest.raises(BlockedURL):
        fetched(hostile, f"{inside.url}/x")

    assert inside.asked == []


def test_an_answer_past_the_limit_is_not_kept(hostile: Site) -> None:
    hostile.answer = lambda path: (200, {}, b"x" * (MAX_MESSAGE + 1))

    with pytest.raises(httpx2.ReadError, match="more than"):
        fetched(hostile, f"{hostile.url}/x")


def test_a_compressed_answer_that_was_not_asked_for_is_refused(hostile: Site) -> None:
    hostile.answer = lambda path: (200, {"Content-Encoding": "gzip"}, b"x")

    with pytest.raises(httpx2.ReadError, match="compressed"):
        fetched(hostile, f"{hostile.url}/x")


def test_the_proxy_of_the_environment_is_not_used(
    hostile: Site, inside: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", inside.url)
    hostile.answer = lambda path: (200, {}, b"here")

    assert fetched(hostile, f"{hostile.url}/x").text == "here"
    assert inside.asked == []


def test_a_variable_in_the_address_is_filled_in_for_the_login_too(
    open_pool: OpenPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setenv("MCP_PORT", str(port))
    settings = McpServerConfig(url="http://127.0.0.1:${MCP_PORT}/mcp", oauth=True)

    with served(wanting_a_login(Authority(), port).streamable_http_app(), port):
        result = run(open_pool(Server("web", "the test", settings)), "web__echo", {"text": "hi"})

    assert "jarvis mcp login web" in result.content
