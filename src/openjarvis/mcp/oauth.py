"""OAuth for servers that want a login: tokens are kept, and refreshed when they expire."""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from openjarvis._version import __version__
from openjarvis.config import McpServerConfig
from openjarvis.core.errors import ToolError
from openjarvis.mcp import kept
from openjarvis.mcp.guarded_web import allowed_places
from openjarvis.safety.urls import check_url

_LOGIN_SECONDS = 300.0
_PAGE = b"You are logged in; this window may be closed."
_REFUSED = b"The login was refused; this window may be closed."
_OTHER = b"This is not the end of a login."
_LONGEST_REQUEST = 16_384


class TokenFile:
    """The tokens of one server in a file that only its owner can read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored tokens; their `expires_in` counts from now."""
        stored = self._read().get("tokens")
        if not stored:
            return None
        tokens = OAuthToken.model_validate(stored["token"])
        if tokens.expires_in is not None:
            tokens.expires_in = int(stored["saved_at"] + tokens.expires_in - time.time())
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens with the time at which they came."""
        token = tokens.model_dump(mode="json", exclude_none=True)
        self._add(tokens={"token": token, "saved_at": time.time()})

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return how we are registered at the authorization server."""
        stored = self._read().get("client")
        return OAuthClientInformationFull.model_validate(stored) if stored else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store how we are registered."""
        self._add(client=client_info.model_dump(mode="json", exclude_none=True))

    def _read(self) -> dict[str, Any]:
        try:
            stored = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}  # nothing that can be used: the user logs in again
        return stored if isinstance(stored, dict) else {}

    def _add(self, **stored: Any) -> None:
        with kept.changing(self._path):
            kept.write(self._path, json.dumps({**self._read(), **stored}))


class _Provider(OAuthClientProvider):
    """The SDK's provider, which forgets on a restart when stored tokens expire."""

    async def _initialize(self) -> None:
        await super()._initialize()
        if self.context.current_tokens is not None:
            self.context.update_token_expiry(self.context.current_tokens)


class LoginListener:
    """Waits on a loopback port for the browser to bring the code of a login."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._result: asyncio.Future[AuthorizationCodeResult] | None = None

    async def code(self) -> AuthorizationCodeResult:
        """Return what the browser brought.

        Raises:
            ToolError: when the login was refused, or nobody logged in within five minutes.
        """
        self._result = asyncio.get_running_loop().create_future()
        server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        async with server:
            try:
                return await asyncio.wait_for(self._result, _LOGIN_SECONDS)
            except TimeoutError:
                raise ToolError(f"nobody logged in within {_LOGIN_SECONDS:g} s") from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.read(_LONGEST_REQUEST)).split(b"\r\n", 1)[0].decode(errors="replace")
        query = parse_qs(urlsplit(line.split(" ")[1] if line.count(" ") == 2 else "").query)
        code, refusal = query.get("code", [""])[0], query.get("error", [""])[0]
        body = _PAGE if code else _REFUSED if refusal else _OTHER
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        await writer.drain()
        writer.close()
        if self._result is None or self._result.done():
            return
        if refusal:
            why = query.get("error_description", [""])[0]
            self._result.set_exception(
                ToolError(f"the login was refused: {refusal}{f' ({why})' if why else ''}")
            )
        elif code:
            state, issuer = query.get("state", [None])[0], query.get("iss", [None])[0]
            self._result.set_result(AuthorizationCodeResult(code=code, state=state, iss=issuer))


def token_path(folder: Path, name: str, url: str) -> Path:
    """Return where the tokens of a server are kept: another one of its name gets others."""
    return folder / f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:16]}.json"


def oauth(
    name: str,
    settings: McpServerConfig,
    folder: Path,
    authorize: Callable[[str], None] | None,
    port: int = 33_418,
) -> httpx2.Auth:
    """Return the authorization of requests to the server `name`.

    `authorize` is told the address at which the user logs in; without it a login that is needed
    fails, saying how to make it.
    """
    listener = LoginListener(port)

    async def redirect(address: str) -> None:
        # The server names it, and the user's browser would open it.
        check_url(address, allowed=allowed_places(settings.url, settings.oauth_hosts))
        if authorize is None:
            raise ToolError(f"the MCP server {name!r} wants a login: jarvis mcp login {name}")
        authorize(address)

    return _Provider(
        server_url=settings.url,
        client_metadata=OAuthClientMetadata(
            client_name="openjarvis",
            software_version=__version__,
            redirect_uris=[f"http://127.0.0.1:{port}/callback"],  # type: ignore[list-item]
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            token_endpoint_auth_method="none",  # noqa: S106 - a public client has no secret
        ),
        storage=TokenFile(token_path(folder, name, settings.url)),
        redirect_handler=redirect,
        callback_handler=listener.code,
    )
