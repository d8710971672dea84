"""Which servers there are: `[mcp.servers.NAME]`, and `mcpServers` files as other hosts use them."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openjarvis.config import McpConfig, McpServerConfig
from openjarvis.core.environment import filled, variables
from openjarvis.core.errors import ConfigError
from openjarvis.core.strict_json import dumps
from openjarvis.safety.concealment import SHORTEST, conceal
from openjarvis.safety.secrets import looks_secret

SEPARATOR = "__"
"""Stands between a server's name and its tool's."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?=[A-Za-z0-9-]))*")
_LONGEST_NAME = 32
_DIGITS = 16
_KINDS = ("stdio", "http", "sse")
_HARMLESS = frozenset({"HOME", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "USER", "USERPROFILE"})
"""Variables that every program is given: their values are no secrets of a server."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_TOKEN = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~+=-]{12,}")
_WORD = re.compile(r"[A-Za-z]?[a-z]{0,22}")
_ALIASES = {"streamable-http": "http", "streamable_http": "http", "streamableHttp": "http"}


@dataclass(frozen=True, slots=True)
class Server:
    """A configured server: its name, where it was configured, and how it is reached."""

    name: str
    origin: str
    settings: McpServerConfig

    @property
    def kind(self) -> str:
        """`stdio`, `http` (streamable HTTP) or `sse`."""
        named = _ALIASES.get(self.settings.transport, self.settings.transport)
        return named or ("stdio" if self.settings.command else "http")

    @property
    def configured(self) -> str:
        """A digest of what is started or called, as it is configured: no variable is filled in."""
        settings = self.settings
        told = dumps([settings.command, settings.args, settings.cwd, settings.url])
        return hashlib.sha256(told.encode(errors="replace")).hexdigest()[:_DIGITS]

    def expanded(self) -> McpServerConfig:
        """Return the settings with `${VARIABLE}` and `${VARIABLE:-default}` filled in.

        From then on what may be a secret in them is masked in messages and logs.

        Raises:
            ConfigError: when a variable is not set, or a header cannot be sent; naming it and the
                server.
        """
        settings = self.settings
        expanded = replace(
            settings,
            command=self._filled(settings.command),
            args=[self._filled(text) for text in settings.args],
            env={key: self._filled(text) for key, text in settings.env.items()},
            cwd=self._filled(settings.cwd),
            url=self._filled(settings.url),
            headers={key: self._header(key, text) for key, text in settings.headers.items()},
        )
        secrets = [*_variables(settings), *_secrets(expanded)]
        conceal(value for value in secrets if len(value) >= SHORTEST)
        return expanded

    @property
    def _owner(self) -> str:
        return f"the MCP server {self.name!r} ({self.origin})"

    def _filled(self, text: str) -> str:
        return filled(text, self._owner)

    def _header(self, name: str, text: str) -> str:
        value = self._filled(text).strip()  # a token that was read from a file ends in a newline
        if _CONTROL.search(value):
            source = " and ".join(f"${{{one}}}" for one in variables(text)) or "the configuration"
            raise ConfigError(
                f"{self._owner}: the header {name!r} has a line break or a control character in "
                f"it, from {source}"
            )
        return value


def _variables(settings: McpServerConfig) -> Iterator[str]:
    """Yield what variables fill in; a command and a folder are no secrets."""
    texts = [settings.url, *settings.args, *settings.env.values(), *settings.headers.values()]
    for name in (name for text in texts for name in variables(text)):
        if name not in _HARMLESS:
            yield os.environ.get(name, "").strip()


def _secrets(settings: McpServerConfig) -> Iterator[str]:
    """Yield what may be secret in filled settings wherever it came from."""
    for value in settings.headers.values():
        yield from (value, value.partition(" ")[2])
    for name, value in settings.env.items():
        if looks_secret(name) or _TOKEN.fullmatch(value):
            yield value
    _, _, rest = settings.url.partition("://")
    place, _, query = rest.partition("?")
    authority, _, path = place.partition("/")
    login = authority.rpartition("@")[0]
    yield login.partition(":")[2] or login
    yield from (pair.partition("=")[2] for pair in query.split("&"))
    yield from (piece for piece in path.split("/") if not _WORD.fullmatch(piece))


def configured_servers(config: McpConfig, origin: str = "[mcp.servers]") -> dict[str, Server]:
    """Return the servers of a configuration and of the files it names, by name.

    Raises:
        ConfigError: when one cannot be read, or two share a name, naming both origins.
    """
    found: dict[str, Server] = {}
    for name, settings in config.servers.items():
        _add(found, Server(name, origin, settings))
    for named in config.files:
        path = Path(named).expanduser()
        for server in _in_file(path):
            _add(found, server)
    return found


def _add(found: dict[str, Server], server: Server) -> None:
    present = found.get(server.name)
    if present is not None:
        raise ConfigError(
            f"Two MCP servers are named {server.name!r}: one in {present.origin}, one in "
            f"{server.origin}. Rename one."
        )
    fault = _fault(server)
    if fault:
        raise ConfigError(f"{server.origin}: the MCP server {server.name!r}: {fault}")
    found[server.name] = server


def _fault(server: Server) -> str:
    settings = server.settings
    if not _NAME.fullmatch(server.name) or len(server.name) > _LONGEST_NAME:
        return (
            f"its name must be 1 to {_LONGEST_NAME} of the characters A-Z a-z 0-9 _ -, without "
            f"{SEPARATOR!r}, which stands before the name of a tool"
        )
    if server.kind not in _KINDS:
        return f"unknown transport {settings.transport!r}; there are {', '.join(_KINDS)}"
    if not settings.command and not settings.url:
        return "it has no `command` to start, and no `url` to call"
    if server.kind == "stdio" and not settings.command:
        return "the transport 'stdio' needs a `command`"
    if server.kind != "stdio" and not settings.url:
        return f"the transport {server.kind!r} needs a `url`"
    if settings.command and settings.url:
        return "it has a `command` and a `url`; one of them is too much"
    return ""


def _in_file(path: Path) -> list[Server]:
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: the MCP servers cannot be read: {error}") from error
    entries = content.get("mcpServers") if isinstance(content, dict) else None
    if not isinstance(entries, dict):
        raise ConfigError(f"{path}: expected an object with `mcpServers`.")
    return [
        Server(name, str(path), _settings(entry, f"{path}: mcpServers.{name}"))
        for name, entry in entries.items()
        if not _is_disabled(entry, f"{path}: mcpServers.{name}")
    ]


def _is_disabled(entry: Any, where: str) -> bool:
    disabled = entry.get("disabled", False) if isinstance(entry, dict) else False
    if not isinstance(disabled, bool):
        raise ConfigError(f"{where}.disabled: expected true or false.")
    return disabled


def _settings(entry: Any, where: str) -> McpServerConfig:
    """Return an entry of a file; keys that only other hosts know are passed over."""
    if not isinstance(entry, dict):
        raise ConfigError(f"{where}: expected an object.")
    return McpServerConfig(
        command=_text(entry, "command", where),
        args=_texts(entry, "args", where),
        env=_mapping(entry, "env", where),
        cwd=_text(entry, "cwd", where),
        url=_text(entry, "url", where),
        transport=_text(entry, "type", where) or _text(entry, "transport", where),
        headers=_mapping(entry, "headers", where),
    )


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry.get(key) or ""
    if not isinstance(value, str):
        raise ConfigError(f"{where}.{key}: expected text.")
    return value


def _texts(entry: Mapping[str, Any], key: str, where: str) -> list[str]:
    value = entry.get(key) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where}.{key}: expected a list of texts.")
    return value


def _mapping(entry: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    value = entry.get(key) or {}
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise ConfigError(f"{where}.{key}: expected an object of texts.")
    return value
