"""From the input that a model wrote in text to the JSON text of a call's arguments."""

import json
import re
from typing import Any

from openjarvis.agents.reading import fences
from openjarvis.core import strict_json
from openjarvis.core.strict_json import JSONRefused
from openjarvis.toolkit.base import ToolSpec

_LOOKS_LIKE_AN_OBJECT = re.compile(r"\{\s*(?:[\"'“]|\}|\Z)")
_NAMED = re.compile(
    r"\s*+(?:[-*]\s++)?+[\"'`]?+([\w-]{1,64}+)[\"'`]?+(?:\s*+[:：]\s*+|=(?=\S))(.+)"
)
_decode = json.JSONDecoder(strict=False).raw_decode


def json_end(text: str, position: int) -> int | None:
    """Return where the JSON object, list or string that begins at `position` ends, or None."""
    if text[position : position + 1] not in ("{", "[", '"'):
        return None
    try:
        return _decode(text, position)[1]
    except (ValueError, RecursionError):
        return None


def arguments_text(written: str, spec: ToolSpec | None) -> str:
    """Return the arguments that `written` means for a tool, as JSON text.

    A JSON object stays as it is; lines that each name a parameter are one too. A tool with one
    parameter takes anything else whole. What is neither is left to the executor, whose refusal
    tells the model what was expected.
    """
    text = _unfenced(written.strip())
    if spec is None or _LOOKS_LIKE_AN_OBJECT.match(text):
        return text
    properties = spec.parameters.get("properties") or {}
    named = _named(text, properties)
    if named:
        return strict_json.dumps(named)
    name = _single(spec, properties)
    if name is None:
        return "" if not properties and text.lower() in _NOTHING else text
    if text == "":
        return ""
    return strict_json.dumps({name: _value(text, properties[name])})


_NOTHING = frozenset({"", "none", "null", "n/a", "()", "no input", "empty"})


def _named(text: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Return the values of an input whose every line names a parameter; else nothing."""
    values: dict[str, Any] = {}
    for line in text.splitlines():
        found = _NAMED.fullmatch(line)
        if found is None or found[1] not in properties or found[1] in values:
            return {}
        values[found[1]] = _value(found[2], properties[found[1]])
    return values


def _single(spec: ToolSpec, properties: dict[str, Any]) -> str | None:
    """Return the parameter that an input without names is for."""
    required = [name for name in spec.parameters.get("required") or () if name in properties]
    if len(required) == 1:
        return str(required[0])
    return str(next(iter(properties))) if len(properties) == 1 else None


def _value(text: str, schema: Any) -> Any:
    """Return `text` as what the parameter takes; a string parameter takes it as it stands."""
    takes_text = not isinstance(schema, dict) or schema.get("type", "string") == "string"
    if takes_text and not text.startswith('"'):
        return _unquoted(text)
    try:
        value = strict_json.loads(text)
    except JSONRefused:
        return _unquoted(text)
    return value if isinstance(value, str) or not takes_text else text


def _unquoted(text: str) -> str:
    """Return the inside of a text that is quoted as a whole."""
    for quote in ("'", '"', "`"):
        inside = text[1:-1]
        if len(text) > 2 and text[0] == text[-1] == quote and quote not in inside:
            return inside
    return text


def _unfenced(text: str) -> str:
    if not text.startswith(("```", "~~~")):
        return text
    first = next(fences(text), None)
    return first.content.strip() if first is not None else text
