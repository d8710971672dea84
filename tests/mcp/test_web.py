import asyncio
import json
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, Any

import httpx2
import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.shared.auth import OAuthToken
from pydantic import BaseModel

from mcp_servers import OpenPool, run
from mcp_web import Authority, echoing, free_port, served, wanting_a_login
from openjarvis.config import McpServerConfig
from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.mcp.content import MAX_MESSAGE
from openjarvis.mcp.oauth import TokenFile, token_path
from openjarvis.mcp.servers import Server
from waiting import eventually


def web(port: int, path: str = "mcp", **settings: object) -> Server:
    url = f"http://127.0.0.1:{port}/{path}"
    return Server("web", "the test", McpServerConfig(url=url, confirm=False, **settings))  # type: ignore[arg-type]


def test_a_server_over_streamable_http_is_called(open_pool: OpenPool) -> None:
    port = free_port()
    with served(echoing().streamable_http_app(), port):
        pool = open_pool(web(port))
        assert run(pool, "web__echo", {"text": "hi"}).content == "echo: hi"
        pool.close()


@pytest.mark.parametrize("as_json", [False, True])
def test_ten_megabytes_over_streamable_http_are_kept_to_the_limit_of_results(
    open_pool: OpenPool, as_json: bool
) -> None:
    port = free_port()
    with served(echoing().streamable_http_app(json_response=as_json), port):
        pool = open_pool(web(port))
        kept = run(pool, "web__huge", {"size": 10_000_000})
        refused = run(pool, "web__huge", {"size": MAX_MESSAGE + 1})
        pool.close()

    assert kept.success
    assert "characters cut" in kept.content
    assert not refused.success


@pytest.mark.parametrize(("path", "transport"), [("mcp", ""), ("sse", "sse")])
def test_a_server_that_sends_too_much_is_given_up_and_then_back(
    open_pool: OpenPool, path: str, transport: str
) -> None:
    port = free_port()
    server = echoing()
    app = server.sse_app() if transport else server.streamable_http_app(json_response=True)
    with served(app, port):
        pool = open_pool(web(port, path, transport=transport))
        lost = run(pool, "web__huge", {"size": MAX_MESSAGE + 1})
        assert eventually(lambda: run(pool, "web__echo", {"text": "hi"}).success)
        pool.close()

    assert lost.content.startswith("unavailable: the MCP server 'web' was lost during the call")


def test_a_server_over_sse_is_called(open_pool: OpenPool) -> None:
    port = free_port()
    with served(echoing().sse_app(), port):
        pool = open_pool(web(port, "sse", transport="sse"))
        assert run(pool, "web__echo", {"text": "hi"}).content == "echo: hi"
        pool.close()


def test_a_server_that_comes_back_is_called_again(open_pool: OpenPool) -> None:
    port = free_port()
    with served(echoing().streamable_http_app(), port):
        pool = open_pool(web(port))
        assert run(pool, "web__echo", {"text": "hi"}).success

    away = run(pool, "web__echo", {"text": "hi"})
    assert away.content.startswith("unavailable: ")

    with served(echoing().streamable_http_app(), port):
        assert eventually(lambda: run(pool, "web__echo", {"text": "hi"}).success)
        pool.close()


def test_a_server_that_is_lost_again_is_warned_of_again(
    open_pool: OpenPool, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    pool = open_pool(web(port))

    def away() -> int:
        pool.tools(["web__echo"])
        return sum("are not there" in record.getMessage() for record in caplog.records)

    assert (away(), away()) == (1, 1)
    with served(echoing().streamable_http_app(), port):
        assert eventually(lambda: run(pool, "web__echo", {"text": "hi"}).success)

    assert eventually(lambda: not run(pool, "web__echo", {"text": "hi"}).success)
    assert eventually(lambda: away() == 2)
    pool.close()


@pytest.mark.parametrize(("path", "transport"), [("mcp", ""), ("sse", "sse")])
@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "(HTTP 401: it wants a token: set `headers` or `oauth`)"),
        (403, "(HTTP 403: it does not allow this: look at the token in `headers`"),
        (404, "(HTTP 404: nothing is there: look at the path of `url`)"),
        (421, "(HTTP 421: it does not answer to the host in `url`)"),
    ],
)
def test_a_server_that_refuses_is_told_with_what_to_do(
    open_pool: OpenPool, status: int, advice: str, path: str, transport: str
) -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})

    port = free_port()
    with served(refuse, port):
        pool = open_pool(web(port, path, transport=transport))
        reason = pool.statuses()[0].reason
        pool.close()

    assert advice in reason


@pytest.mark.parametrize(("status", "advice"), [(401, "set `headers` or `oauth`"), (500, "")])
def test_a_call_that_is_refused_is_told_with_what_to_do(
    open_pool: OpenPool, status: int, advice: str
) -> None:
    port, app = free_port(), echoing().streamable_http_app()
    refusing = Event()

    async def refuse_later(scope: Any, receive: Any, send: Any) -> None:
        if refusing.is_set() and scope["type"] == "http":
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
        else:
            await app(scope, receive, send)

    with served(refuse_later, port):
        pool = open_pool(web(port))
        executor = ToolExecutor(pool.tools(["web__echo"]))
        refusing.set()
        said = executor.execute(ToolCall("1", "web__echo", '{"text": "hi"}')).content
        pool.close()

    assert "refused the call: Server returned an error response" in said
    assert said.endswith(f"{advice})" if advice else "response")


def test_a_login_is_made_once_kept_and_refreshed(open_pool: OpenPool, tmp_path: Path) -> None:
    port, authority = free_port(), Authority(seconds=1)
    server = web(port, oauth=True)

    def browse(address: str) -> None:
        # The listener may not be up yet when the address is told.
        def follow() -> None:
            transport = httpx2.HTTPTransport(retries=5)
            with httpx2.Client(transport=transport, follow_redirects=True) as browser:
                browser.get(address)

        Thread(target=follow, daemon=True).start()

    with served(wanting_a_login(authority, port).streamable_http_app(), port):
        without = open_pool(server)
        assert "jarvis mcp login web" in without.statuses()[0].reason
        without.close()
        first = open_pool(server, authorize=browse)
        assert run(first, "web__echo", {"text": "hi"}).content == "echo: hi"
        first.close()
        stored = token_path(tmp_path / "mcp" / "oauth", "web", server.settings.url)
        assert stored.stat().st_mode & 0o077 == 0
        aged = json.loads(stored.read_text())
        aged["tokens"]["saved_at"] -= 10
        stored.write_text(json.dumps(aged))
        later = open_pool(server)
        assert run(later, "web__echo", {"text": "again"}).content == "echo: again"
        later.close()

    assert authority.grants[0] == "code"
    assert "refresh" in authority.grants


@pytest.mark.parametrize("content", ["", "[]", "not json"])
def test_a_spoilt_token_file_means_to_log_in_again(
    open_pool: OpenPool, tmp_path: Path, content: str
) -> None:
    port = free_port()
    stored = token_path(tmp_path / "mcp" / "oauth", "web", web(port).settings.url)
    stored.parent.mkdir(parents=True)
    stored.write_text(content)

    with served(wanting_a_login(Authority(), port).streamable_http_app(), port):
        pool = open_pool(web(port, oauth=True))
        assert "jarvis mcp login web" in pool.statuses()[0].reason
        pool.close()


def test_another_server_of_the_same_name_gets_no_tokens(
    open_pool: OpenPool, tmp_path: Path
) -> None:
    port, heard = free_port(), list[str]()
    theirs = token_path(tmp_path / "mcp" / "oauth", "web", "https://docs.example.org/mcp")
    theirs.parent.mkdir(parents=True)
    token = OAuthToken(access_token="of-the-first", token_type="Bearer")
    asyncio.run(TokenFile(theirs).set_tokens(token))

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        heard.append(str(dict(scope["headers"])))
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    with served(answer, port):
        pool = open_pool(web(port, oauth=True))
        pool.statuses()
        pool.close()

    assert heard
    assert "of-the-first" not in "".join(heard)


class Sure(BaseModel):
    sure: bool


async def confirmed(text: str) -> Elicit[Sure]:
    return Elicit(f"Say {text}?", Sure)


def asking_first() -> MCPServer:
    """Return a server of the newer era, whose question comes as the answer of the call."""
    server = MCPServer("web")

    @server.tool()
    async def ask(text: str, answer: Annotated[Sure, Resolve(confirmed)]) -> str:
        return f"{text}: {answer.sure}"

    return server


def test_a_question_of_the_newer_era_is_decided_by_the_approver(open_pool: OpenPool) -> None:
    port = free_port()
    with served(asking_first().streamable_http_app(), port):
        pool = open_pool(web(port, elicitation=True))
        allowed = run(pool, "web__ask", {"text": "hi"})
        denied = run(pool, "web__ask", {"text": "hi"}, approve=lambda one: one.name == "web__ask")
        protocol = pool.statuses()[0].protocol
        pool.close()

    assert protocol >= "2026"
    assert allowed.content == "hi: True"
    assert not denied.success


def changing() -> MCPServer:
    """Return a server that takes another tool while it runs, and tells who listens."""
    server = MCPServer("web")

    def later() -> str:
        """Say it."""
        return "here I am"

    @server.tool()
    async def grow(context: Context) -> str:  # type: ignore[type-arg]
        server.add_tool(later)
        await context.notify_tools_changed()
        return "grown"

    return server


def test_tools_that_a_server_of_the_newer_era_adds_are_heard_of(open_pool: OpenPool) -> None:
    port = free_port()
    with served(changing().streamable_http_app(), port):
        pool = open_pool(web(port))
        before = [one.spec.name for one, _ in pool.statuses()[0].tools]
        assert pool.statuses()[0].protocol >= "2026"

        assert run(pool, "web__grow").content == "grown"
        assert eventually(
            lambda: "web__later" in [one.spec.name for one, _ in pool.statuses()[0].tools]
        )
        assert run(pool, "web__later").content == "here I am"
        pool.close()

    assert before == ["web__grow"]


@pytest.mark.parametrize(("path", "transport"), [("mcp", ""), ("sse", "sse")])
def test_an_address_with_a_secret_in_it_is_not_told(
    open_pool: OpenPool, path: str, transport: str
) -> None:
    port = free_port()
    with served(echoing().streamable_http_app(), port):
        pool = open_pool(web(port, f"{path}/correct-horse?x=battery-staple", transport=transport))
        result = run(pool, "web__echo", {"text": "hi"})
        pool.close()

    assert result.content.startswith("unavailable: ")
    assert not any(word in result.content for word in ("correct-horse", "battery-staple"))


@pytest.mark.parametrize(("path", "transport"), [("mcp", ""), ("sse", "sse")])
def test_headers_are_sent_with_their_variables_filled_in(
    open_pool: OpenPool, monkeypatch: pytest.MonkeyPatch, path: str, transport: str
) -> None:
    monkeypatch.setenv("KEY_OF_THE_TEST", "s3cret")
    port, server = free_port(), echoing()
    app = server.sse_app() if transport else server.streamable_http_app()
    keys: set[bytes] = set()

    async def looked_at(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            keys.add(dict(scope["headers"]).get(b"x-key", b""))
        await app(scope, receive, send)

    with served(looked_at, port):
        headers = {"X-Key": "${KEY_OF_THE_TEST}"}
        pool = open_pool(web(port, path, transport=transport, headers=headers))
        assert run(pool, "web__echo", {"text": "hi"}).success
        pool.close()

    assert keys == {b"s3cret"}
