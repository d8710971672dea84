"""The section of one tool in the configuration, read into its own typed settings."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from openjarvis.core.errors import ConfigError, nearest
from openjarvis.toolkit.services import Services

S = TypeVar("S")


def settings_of(services: Services, tool: str, kind: type[S]) -> S:
    """Return `[tools.TOOL]` as a `kind`, a dataclass of text, numbers, booleans and lists of text.

    Raises:
        ConfigError: when a key is unknown or of another type; the text names it.
    """
    tools = getattr(services.config, "tools", None)
    section = getattr(tools, "sections", {}).get(tool, {})
    return kind(**{key: _value(kind, key, section, tool) for key in section})


def _value(kind: type[Any], key: str, section: Mapping[str, Any], tool: str) -> Any:
    known = [entry.name for entry in fields(kind)]
    if key not in known:
        near = nearest(key, known)
        hint = f"did you mean {near!r}?" if near else f"known here: {', '.join(known)}."
        raise ConfigError(f"[tools.{tool}] {key}: unknown key; {hint}")
    expected, value = get_type_hints(kind)[key], section[key]
    if expected is float and type(value) is int:
        return float(value)
    plain = get_origin(expected) or expected
    inner = get_args(expected)
    if type(value) is not plain or (inner and any(type(item) is not inner[0] for item in value)):
        raise ConfigError(f"[tools.{tool}] {key}: expected {_word(expected)}, got {value!r:.80}.")
    return value


def _word(expected: Any) -> str:
    words = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    return words.get(expected, "a list of texts")
