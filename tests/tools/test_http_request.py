import os
from collections.abc import Iterator

import pytest

from loopback import Loopback, answer, redirect, serving
from openjarvis.config import JarvisConfig, ToolsConfig
from openjarvis.toolkit.services import Services
from openjarvis.tools.http_request import HttpRequestTool

PAGE = """<!doctype html><html><head><title>A page</title><style>p { color: red }</style>
<script>alert("unseen")</script></head><body><h1>Welcome &amp; hello</h1>
<p>First   paragraph with <a href="/next">a link</a>.</p><p>Second<br>line</p>
<ul><li>one</li><li>two</li></ul><a href="javascript:alert(1)">bad</a>
<a href="https://example.com/x"><img src="y"></a></body></html>"""
HTML = {"Content-Type": "text/html; charset=utf-8"}


@pytest.fixture
def web() -> Iterator[Loopback]:
    with serving(
        {
            "/": answer(b"hello", headers={"Content-Type": "text/plain"}),
            "/page": answer(PAGE.encode(), headers=HTML),
            "/big": answer(b"x" * (2 << 20)),
            "/missing": answer(b"no such order", status="404 Not Found"),
            "/image": answer(b"\x89PNG\0\0\0", headers={"Content-Type": "image/png"}),
            "/in": redirect("http://127.0.0.1:1/"),
            "/inside": redirect("http://169.254.169.254/"),
        }
    ) as server:
        yield server


@pytest.fixture
def tool(web: Loopback) -> HttpRequestTool:
    return HttpRequestTool(allow_hosts=[web.place])


def test_the_body_comes_back_with_what_surrounds_it(web: Loopback, tool: HttpRequestTool) -> None:
    result = tool.execute(url=web.url("/"))

    assert (result.success, result.content) == (True, "hello")
    assert result.metadata["status_code"] == 200
    assert result.metadata["headers"]["content-type"] == "text/plain"
    assert result.metadata["content_type"] == "text/plain"
    assert result.metadata["elapsed_ms"] >= 0
    assert result.metadata["truncated"] is False


def test_method_headers_and_body_are_sent_as_given(web: Loopback, tool: HttpRequestTool) -> None:
    tool.execute(
        url=web.url("/?a=b%20c"), method="post", headers={"X-Key": "$HOME %PATH% ~"}, body="né"
    )

    request = web.requests[-1]
    assert request.startswith(b"POST /?a=b%20c HTTP/1.1\r\n")
    assert b"\r\nX-Key: $HOME %PATH% ~\r\n" in request
    assert request.endswith("\r\n\r\nné".encode())


def test_more_than_a_megabyte_is_cut_with_a_note(web: Loopback, tool: HttpRequestTool) -> None:
    result = tool.execute(url=web.url("/big"))

    assert result.content.endswith("\n[Response truncated at 1 MB]")
    assert len(result.content) < (1 << 20) + 100
    assert result.metadata["truncated"] is True


def test_an_error_status_is_shown_before_the_body(web: Loopback, tool: HttpRequestTool) -> None:
    result = tool.execute(url=web.url("/missing"))

    assert result.content == "HTTP 404 Not Found\n\nno such order"
    assert result.metadata["status_code"] == 404


def test_a_page_can_be_had_as_text_with_its_links(web: Loopback, tool: HttpRequestTool) -> None:
    text = tool.execute(url=web.url("/page"), as_text=True).content

    assert text.splitlines() == [
        "A page",
        "Welcome & hello",
        "First paragraph with a link.",
        "Second",
        "line",
        "one",
        "two",
        "bad",
        "",
        "Links:",
        f"- a link: {web.url('/next')}",
        "- (no text): https://example.com/x",
    ]


def test_as_text_leaves_other_answers_alone(web: Loopback, tool: HttpRequestTool) -> None:
    assert tool.execute(url=web.url("/"), as_text=True).content == "hello"
    assert "binary content, image/png" in tool.execute(url=web.url("/image")).content


@pytest.mark.parametrize("arguments", [{}, {"url": ""}, {"url": "  "}])
def test_without_an_address_it_asks_for_one(arguments: dict[str, str]) -> None:
    result = HttpRequestTool().execute(**arguments)

    assert not result.success
    assert "No URL" in result.content


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "get\r\nX: y", ""])
def test_other_methods_are_named_and_refused(method: str) -> None:
    result = HttpRequestTool().execute(url="https://example.com/", method=method)

    assert not result.success
    assert result.content.startswith(f"Unsupported HTTP method: {method}")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://169.254.169.254/latest", "http://[::1]/", "http://2130706433"],
)
def test_inside_addresses_are_refused(url: str) -> None:
    result = HttpRequestTool().execute(url=url)

    assert not result.success
    assert result.content.startswith("SSRF protection")


@pytest.mark.parametrize("path", ["/in", "/inside"])
def test_a_redirect_inside_is_refused(web: Loopback, tool: HttpRequestTool, path: str) -> None:
    result = tool.execute(url=web.url(path))

    assert not result.success
    assert result.content.startswith("SSRF protection blocked redirect")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "b\r\nHost: evil"),
        ("X-A", "b\nc"),
        ("X-A", "b\0"),
        ("X-A", "é"),
        ("X-A", "v" * 10_000),
        ("X-A\r\nHost", "evil"),
        ("X A", "b"),
        ("", "b"),
        ("Host", "evil.example.com"),
        ("host", "evil.example.com"),
        ("Connection", "keep-alive"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Length", "0"),
        ("Upgrade", "h2c"),
        ("Proxy-Authorization", "Basic x"),
        ("Accept-Encoding", "br"),
    ],
)
def test_headers_that_would_change_the_request_itself_are_refused(
    web: Loopback, tool: HttpRequestTool, name: str, value: str
) -> None:
    result = tool.execute(url=web.url("/"), headers={name: value})

    assert not result.success
    assert "header" in result.content
    assert web.requests == []


@pytest.mark.parametrize("timeout", [0, -1, 1e9, float("nan")])
def test_a_timeout_that_is_none_is_refused(timeout: float) -> None:
    assert not HttpRequestTool().execute(url="https://example.com/", timeout=timeout).success


def test_a_server_that_is_silent_is_left_at_the_timeout(
    web: Loopback, tool: HttpRequestTool
) -> None:
    web.answers["/silent"] = lambda connection: connection.recv(1)

    result = tool.execute(url=web.url("/silent"), timeout=0.2)

    assert not result.success
    assert result.content == "The server did not answer in time (0.2 s)."


def test_the_configuration_opens_a_place_on_purpose(web: Loopback) -> None:
    sections = {"http_request": {"allow_hosts": [web.place]}}
    services = Services(config=JarvisConfig(tools=ToolsConfig(sections=sections)))

    assert HttpRequestTool.build(services).execute(url=web.url("/")).content == "hello"
    assert "SSRF" in HttpRequestTool.build(Services()).execute(url=web.url("/")).content


def test_the_environment_s_secrets_never_leave(
    web: Loopback, tool: HttpRequestTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")

    tool.execute(
        url=web.url("/?k=$SECRET_TOKEN&l=%24SECRET_TOKEN"),
        headers={"Authorization": "Bearer ${SECRET_TOKEN}"},
        body="$SECRET_TOKEN",
    )

    assert all(os.environ["SECRET_TOKEN"].encode() not in request for request in web.requests)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("<div>" * 200_000, id="takes minutes"),
        pytest.param(
            "<p>" + "".join(f"<b a={n}>" for n in range(3000)) + "<p>x" * 200_000,
            id="takes gigabytes",
        ),
    ],
)
def test_a_page_that_is_a_trap_for_parsers_is_a_sentence(
    web: Loopback, tool: HttpRequestTool, page: str
) -> None:
    web.answers["/trap"] = answer(page.encode(), headers=HTML)

    result = tool.execute(url=web.url("/trap"), as_text=True)

    assert not result.success
    assert result.content.startswith("The page could not be read as text")
