"""The configuration: a TOML file read into typed settings, every mistake named with its line."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from openjarvis.core.errors import ConfigError, nearest

_NOT_A_KEY = {"is_key": False}


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
    context_length: int = 0
    timeout_seconds: float = 120.0
    max_retries: int = 2


@dataclass
class AgentConfig:
    """`[agent]`: how agents run unless told otherwise."""

    default: str = ""
    system_prompt: str = ""
    max_turns: int = 10
    temperature: float = 0.7
    max_tokens: int = 1024


@dataclass
class ToolsConfig:
    """`[tools]`: where tools come from and what they may touch.

    `[tools.NAME]` is the section of one tool, whatever its keys: dropped-in tools read theirs from
    the configuration they are given.
    """

    directories: list[str] = field(default_factory=list)
    allowed_dirs: list[str] = field(default_factory=list)
    default_timeout_seconds: float = 30.0
    max_result_chars: int = 32_000
    mask_errors: bool = False
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class AuditConfig:
    """`[audit]`: whether and where calls are recorded for good."""

    enabled: bool = True
    path: str = ""


@dataclass
class JarvisConfig:
    """The whole configuration. `raw` is the file as it stands, `path` where it was read."""

    engine: EngineConfig = field(default_factory=EngineConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)
    tools: ToolsConfig = field(default_factory=ToolsConfig)
    audit: AuditConfig = field(default_factory=AuditConfig)
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
        ConfigError: when the file cannot be read, or a key is unknown or of another type.
    """
    where = config_path() if path is None else Path(path).expanduser()
    is_named = path is not None or bool(os.environ.get("OPENJARVIS_CONFIG"))
    try:
        text = where.read_text(encoding="utf-8")
    except FileNotFoundError:
        if is_named:
            raise ConfigError(f"{where}: there is no such configuration file.") from None
        return JarvisConfig()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: the configuration cannot be read: {error}") from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where}: this is not TOML: {error}") from error
    config: JarvisConfig = _Reader(where, text).read(JarvisConfig, raw, ())
    config.raw, config.path = raw, where
    return config


class _Reader:
    """Reads one file; knows its text, to say on which line a mistake is."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()

    def read(self, kind: type[Any], table: Mapping[str, Any], place: tuple[str, ...]) -> Any:
        known = {entry.name: entry for entry in fields(kind) if entry.metadata != _NOT_A_KEY}
        hints = get_type_hints(kind)
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key in known and key != "sections":
                values[key] = self._value(hints[key], value, (*place, key))
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
        if get_origin(expected) is list:
            inner = get_args(expected)[0]
            if not isinstance(value, list) or any(type(item) is not inner for item in value):
                raise self._wrong(place, f"a list of {_word(inner)}s", value)
            return value
        if type(value) is not (get_origin(expected) or expected):
            raise self._wrong(place, _word(get_origin(expected) or expected), value)
        return value

    def _unknown(self, key: str, known: list[str], place: tuple[str, ...]) -> ConfigError:
        near = nearest(key, known)
        hint = f"did you mean {near!r}?" if near else f"known here: {', '.join(sorted(known))}."
        return self._error((*place, key), f"unknown key; {hint}")

    def _wrong(self, place: tuple[str, ...], expected: str, value: Any) -> ConfigError:
        return self._error(place, f"expected {expected}, got {_word(type(value))}.")

    def _error(self, place: tuple[str, ...], what: str) -> ConfigError:
        return ConfigError(f"{self._path}:{self._line(place)}: {'.'.join(place)}: {what}")

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
    "ConfigError",
    "EngineConfig",
    "JarvisConfig",
    "ToolsConfig",
    "config_path",
    "home",
    "load_config",
]
