"""The configuration: a TOML file read into typed settings, every mistake named with its line."""

import math
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from openjarvis.core.environment import filled
from openjarvis.core.errors import ConfigError, nearest

_NOT_A_KEY = {"is_key": False}
_AS_WRITTEN = frozenset({("agent", "system_prompt"), ("channels",), ("mcp", "servers")})
"""Where `${VARIABLE}` stays: in prose, and where it is filled in when a server or channel is used,
so that one that lacks its variable stops only itself."""
_LONGEST_WAIT = 86_400.0
_LARGEST_FILE = 1_000_000
_LONG_TEXT = re.compile(r"'{3}.*?'{3}|\"{3}.*?\"{3}", re.DOTALL)


def _between(least: float, most: float, default: Any) -> Any:
    """Return the field of a number that a configuration file may set to `least` … `most`."""
    return field(default=default, metadata={"least": least, "most": most})


@dataclass
class EngineConfig:
    """`[engine]`: which model answers."""

    default: str = ""
    model: str = ""
    openai_base_url: str = ""
    openai_api_key: str = field(default="", repr=False)
    anthropic_base_url: str = ""
    anthropic_api_key: str = field(default="", repr=False)
    gemini_base_url: str = ""
    gemini_api_key: str = field(default="", repr=False)
    ollama_base_url: str = ""
    gguf_path: str = ""
    context_length: int = _between(0, math.inf, 0)
    timeout_seconds: float = _between(0.001, _LONGEST_WAIT, 120.0)
    max_retries: int = _between(0, 100, 2)


@dataclass
class AgentConfig:
    """`[agent]`: how agents run unless told otherwise."""

    default: str = ""
    mode: str = ""
    system_prompt: str = ""
    max_turns: int = _between(1, math.inf, 10)
    temperature: float = _between(0, 2, 0.7)
    max_tokens: int = _between(1, math.inf, 1024)


@dataclass
class RLMConfig:
    """`[rlm]`: how the agent for long texts asks its sub-models and runs its code."""

    sub_model: str = ""
    max_queries: int = _between(0, math.inf, 50)
    max_depth: int = _between(1, 10, 1)
    code_seconds: float = _between(0.001, _LONGEST_WAIT, 60.0)
    allow_unsandboxed: bool = False


@dataclass
class ChatConfig:
    """`[chat]`: how `jarvis chat` starts, and whether it keeps what was typed."""

    tools: list[str] = field(default_factory=list)
    history: bool = True


@dataclass
class ToolsConfig:
    """`[tools]`: where tools come from and what they may touch.

    `[tools.NAME]` is the section of one tool, whatever its keys: dropped-in tools read theirs from
    the configuration they are given.
    """

    directories: list[str] = field(default_factory=list)
    allowed_dirs: list[str] = field(default_factory=list)
    default_timeout_seconds: float = _between(0.001, _LONGEST_WAIT, 30.0)
    max_result_chars: int = _between(100, math.inf, 32_000)
    mask_errors: bool = False
    sections: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)


@dataclass
class MemoryConfig:
    """`[memory]`: where texts are remembered, and what finds them beside their words."""

    backend: str = "sqlite"
    path: str = ""
    dsn: str = field(default="", repr=False)
    embedder: str = ""
    embedding_model: str = ""
    embedding_url: str = ""


@dataclass
class AuditConfig:
    """`[audit]`: whether and where calls are recorded for good."""

    enabled: bool = True
    path: str = ""


@dataclass
class McpServerConfig:
    """`[mcp.servers.NAME]`: an MCP server whose tools may be used as `NAME__tool`.

    A `command` is started and spoken to over stdio; a `url` is called (`transport = "sse"` for
    servers of the old kind). `${VARIABLE}` is filled in from the environment. `confirm` asks before
    a tool that is not marked read-only runs. `elicitation` and `sampling` let the server ask the
    user, through the approver, and the engine. `oauth_hosts` are private places (`host` or
    `host:port`) that a login may lead to, beside the server's own.
    """

    command: str = ""
    args: list[str] = field(default_factory=list, repr=False)
    env: dict[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = field(default="", repr=False)
    transport: str = ""
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    oauth: bool = False
    oauth_hosts: list[str] = field(default_factory=list)
    confirm: bool = True
    elicitation: bool = False
    sampling: bool = False
    timeout_seconds: float = _between(0.001, _LONGEST_WAIT, 60.0)
    connect_timeout_seconds: float = _between(0.001, _LONGEST_WAIT, 30.0)


@dataclass
class McpConfig:
    """`[mcp]`: servers, and files with `mcpServers` as other hosts use them."""

    servers: dict[str, McpServerConfig] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)


@dataclass
class ChannelConfig:
    """`[channels.NAME]`: where messages go, and where they come from.

    `url` is an apprise address; a Telegram one receives too. `listen` is the HOST:PORT of a webhook
    that takes messages signed with `secret`. `${VARIABLE}` is filled in from the environment.
    `attempts` is how often a message that was refused is sent.
    """

    url: str = field(default="", repr=False)
    listen: str = ""
    secret: str = field(default="", repr=False)
    timeout_seconds: float = _between(0.001, _LONGEST_WAIT, 15.0)
    attempts: int = _between(1, 10, 3)


@dataclass
class SchedulerConfig:
    """`[scheduler]`: where scheduled tasks are kept and how they are run.

    `database` is a `postgresql://` address for workers on many machines; without one the tasks are
    in the SQLite file `path`.
    """

    path: str = ""
    database: str = field(default="", repr=False)
    max_parallel: int = 4
    poll_interval_seconds: float = 60.0
    lease_seconds: float = 30.0
    missed_after_seconds: float = 60.0


@dataclass
class JarvisConfig:
    """The whole configuration. `raw` is the file as tools are given it, `path` where it was read.

    In `raw` variables are filled in for `[tools]` alone: the keys of engines are not for tools.
    """

    engine: EngineConfig = field(default_factory=EngineConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)
    rlm: RLMConfig = field(default_factory=RLMConfig)
    chat: ChatConfig = field(default_factory=ChatConfig)
    tools: ToolsConfig = field(default_factory=ToolsConfig)
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    audit: AuditConfig = field(default_factory=AuditConfig)
    mcp: McpConfig = field(default_factory=McpConfig)
    channels: dict[str, ChannelConfig] = field(default_factory=dict)
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    raw: dict[str, Any] = field(default_factory=dict, repr=False, metadata=_NOT_A_KEY)
    path: Path | None = field(default=None, metadata=_NOT_A_KEY)


_WORDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
}


def home() -> Path:
    """Return the folder of the user's data: `$OPENJARVIS_HOME`, else `~/.openjarvis`."""
    return Path(os.environ.get("OPENJARVIS_HOME") or "~/.openjarvis").expanduser()


def config_path() -> Path:
    """Return where the configuration is looked for, whether or not it is there."""
    named = os.environ.get("OPENJARVIS_CONFIG")
    return Path(named).expanduser() if named else home() / "config.toml"


def load_config(path: str | Path | None = None) -> JarvisConfig:
    """Return the configuration in `path`, by default in `config_path()`; without a file, defaults.

    Raises:
        ConfigError: when the file cannot be read, a key is unknown, its value is of another type or
            out of bounds, or it needs a variable that is not set.
    """
    where = config_path() if path is None else Path(path).expanduser()
    is_named = path is not None or bool(os.environ.get("OPENJARVIS_CONFIG"))
    try:
        text = _content(where).decode("utf-8-sig")  # some editors put a mark in front
    except FileNotFoundError:
        if is_named:
            raise ConfigError(f"{where}: there is no such configuration file.") from None
        return JarvisConfig()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: the configuration cannot be read: {error}") from error
    try:
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # numbers and nesting have limits too
        raise ConfigError(f"{where}: this is not TOML: {error}") from error
    reader = _Reader(where, text)
    values = reader.with_variables(raw)
    config: JarvisConfig = reader.read(JarvisConfig, values, ())
    config.raw, config.path = {**raw, "tools": values["tools"]} if "tools" in raw else raw, where
    return config


def _content(path: Path) -> bytes:
    """Return what is in the file: a device or a pipe would go on for ever."""
    # Without O_NONBLOCK a pipe would hold us until somebody writes to it.
    at_once = getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | at_once)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ConfigError(f"{path}: the configuration must be a regular file.")
        content = file.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise ConfigError(f"{path}: the configuration is larger than {_LARGEST_FILE:,} bytes.")
    return content


class _Reader:
    """Reads one file; knows its text, to say on which line a mistake is."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        # What stands in a text of several lines is no key.
        blank = _LONG_TEXT.sub(lambda found: "\n" * found[0].count("\n"), text)
        self._lines = blank.splitlines()

    def with_variables(self, value: Any, place: tuple[str, ...] = ()) -> Any:
        """Return `value` with `${VARIABLE}` in its texts filled in from the environment."""
        if place in _AS_WRITTEN:
            return value
        if isinstance(value, str):
            return filled(value, self._where(place))
        if isinstance(value, dict):
            return {key: self.with_variables(item, (*place, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.with_variables(item, place) for item in value]
        return value

    def read(self, kind: type[Any], table: Mapping[str, Any], place: tuple[str, ...]) -> Any:
        known = {entry.name: entry for entry in fields(kind) if entry.metadata != _NOT_A_KEY}
        hints = get_type_hints(kind)
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key in known and key != "sections":
                values[key] = self._value(hints[key], value, (*place, key))
                self._check_bounds(known[key].metadata, values[key], (*place, key))
            elif "sections" in known and isinstance(value, dict):
                values.setdefault("sections", {})[key] = value
            else:
                raise self._unknown(key, list(known), place)
        return kind(**values)

    def _value(self, expected: Any, value: Any, place: tuple[str, ...]) -> Any:
        if is_dataclass(expected):
            if not isinstance(value, dict):
                raise self._wrong(place, "a table", value)
            return self.read(expected, value, place)  # type: ignore[arg-type]
        if expected is float and type(value) is int:
            return float(value)
        if get_origin(expected) is dict:
            if not isinstance(value, dict):
                raise self._wrong(place, "a table", value)
            inner = get_args(expected)[1]
            return {key: self._value(inner, item, (*place, key)) for key, item in value.items()}
        if get_origin(expected) is list:
            inner = get_args(expected)[0]
            if not isinstance(value, list) or any(type(item) is not inner for item in value):
                raise self._wrong(place, f"a list of {_word(inner)}s", value)
            return value
        if type(value) is not (get_origin(expected) or expected):
            raise self._wrong(place, _word(get_origin(expected) or expected), value)
        return value

    def _check_bounds(
        self, bounds: Mapping[str, float], value: Any, place: tuple[str, ...]
    ) -> None:
        if not bounds or bounds["least"] <= value <= bounds["most"]:
            return
        least, most = bounds["least"], bounds["most"]
        wanted = f"at least {least:g}" if math.isinf(most) else f"{least:g} to {most:g}"
        raise self._error(place, f"expected {wanted}, got {value}.")

    def _unknown(self, key: str, known: list[str], place: tuple[str, ...]) -> ConfigError:
        near = nearest(key, known)
        hint = f"did you mean {near!r}?" if near else f"known here: {', '.join(sorted(known))}."
        return self._error((*place, key), f"unknown key; {hint}")

    def _wrong(self, place: tuple[str, ...], expected: str, value: Any) -> ConfigError:
        return self._error(place, f"expected {expected}, got {_word(type(value))}.")

    def _error(self, place: tuple[str, ...], what: str) -> ConfigError:
        return ConfigError(f"{self._where(place)}: {what}")

    def _where(self, place: tuple[str, ...]) -> str:
        return f"{self._path}:{self._line(place)}: {'.'.join(place)}"

    def _line(self, place: tuple[str, ...]) -> int:
        """Return the line of a key: where its table starts, or the key inside the table."""
        section: list[str] = []
        for number, line in enumerate(self._lines, 1):
            header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
            if header:
                section = [part.strip(" \"'") for part in header[1].split(".")]
                if section[: len(place)] == list(place):
                    return number
                continue
            key = re.match(r"\s*([\w.\"'-]+)\s*=", line)
            if key:
                found = section + [part.strip("\"'") for part in key[1].split(".")]
                if found[: len(place)] == list(place):
                    return number
        return 1


def _word(kind: Any) -> str:
    return _WORDS.get(kind) or str(kind.__name__)


__all__ = [
    "AgentConfig",
    "AuditConfig",
    "ChannelConfig",
    "ChatConfig",
    "ConfigError",
    "EngineConfig",
    "JarvisConfig",
    "McpConfig",
    "McpServerConfig",
    "MemoryConfig",
    "RLMConfig",
    "SchedulerConfig",
    "ToolsConfig",
    "config_path",
    "home",
    "load_config",
]
