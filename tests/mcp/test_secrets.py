"""What is secret in a server's configuration stays out of reasons, logs and errors."""

import logging

import pytest

from loopback import answer, redirect, serving
from mcp_servers import OpenPool, misbehaving, run
from openjarvis.config import McpServerConfig
from openjarvis.core.errors import ConfigError
from openjarvis.mcp.servers import Server
from openjarvis.safety.concealment import masked

SECRETS = ("path-SECRET-1", "Query-SECRET-2", "word of mine 3", "Header-SECRET-4", "bearer-SEC-5")


def called(port: int, **settings: object) -> Server:
    url = f"http://ann:word%20of%20mine%203@127.0.0.1:{port}/mcp/path-SECRET-1?k=Query-SECRET-2"
    headers = {"X-Api-Key": "Header-SECRET-4", "Authorization": "Bearer bearer-SEC-5"}
    return Server("web", "the test", McpServerConfig(url=url, headers=headers, **settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("transport", ["", "sse"])
@pytest.mark.parametrize(
    "reply",
    [
        answer(status="405 Method Not Allowed"),
        answer(("said " + " ".join(SECRETS)).encode(), status="500 Oops"),
        redirect("/elsewhere/path-SECRET-1?k=Query-SECRET-2", "307 Temporary Redirect"),
        b"no HTTP path-SECRET-1 at all\r\n\r\n",
    ],
)
def test_an_address_and_headers_are_not_told(
    open_pool: OpenPool, caplog: pytest.LogCaptureFixture, reply: bytes, transport: str
) -> None:
    with serving({"/mcp/path-SECRET-1": reply}) as web, caplog.at_level(logging.DEBUG):
        pool = open_pool(called(web.port, transport=transport))
        reason = pool.statuses()[0].reason
        told = run(pool, "web__any").content
        pool.close()

    shown = f"{reason} {told} {caplog.text} {pool._connections['web'].server!r}"
    assert reason
    assert [secret for secret in SECRETS if secret in shown] == []
    assert "word%20of" not in shown


def test_what_every_program_is_given_is_told_and_a_literal_secret_is_not(
    open_pool: OpenPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    server = misbehaving("bad", "blab", "${HOME}/shop", env={"KEY": "simple literal words"})

    reason = open_pool(server).statuses()[0].reason

    assert "(no luck with [secret] and /home/ann/shop)" in reason


def test_a_literal_value_that_looks_like_a_token_is_masked_whatever_it_is_called() -> None:
    env = {"PLACE": "LooksLikeOne12345", "MODE": "production-like"}

    Server("shop", "the test", McpServerConfig(command="shop", env=env)).expanded()

    assert masked("LooksLikeOne12345, production-like") == "[secret], production-like"


def test_a_header_from_a_file_may_end_in_a_newline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_OF_DOCS", "Tok3nFromFile\n")
    headers = {"Authorization": "Bearer ${TOKEN_OF_DOCS}"}

    server = Server("docs", "the test", McpServerConfig(url="http://x/", headers=headers))

    assert server.expanded().headers == {"Authorization": "Bearer Tok3nFromFile"}


@pytest.mark.parametrize("value", ["Tok3n\r\nX-Evil: 1", "Tok3n\x00x", "Tok3n\x7fx"])
def test_a_header_that_cannot_be_sent_is_named_without_its_value(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    literal = Server("docs", "page.toml", McpServerConfig(url="http://x/", headers={"X": value}))
    with pytest.raises(ConfigError) as raised:
        literal.expanded()
    assert str(raised.value) == (
        "the MCP server 'docs' (page.toml): the header 'X' has a line break or a control character "
        "in it, from the configuration"
    )
    if "\x00" not in value:
        monkeypatch.setenv("TOKEN_OF_DOCS", value)
        filled = McpServerConfig(url="http://x/", headers={"X": "a${TOKEN_OF_DOCS}"})
        with pytest.raises(ConfigError, match=r"in it, from \$\{TOKEN_OF_DOCS\}$"):
            Server("docs", "page.toml", filled).expanded()
