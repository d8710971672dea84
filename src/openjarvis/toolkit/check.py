"""Arguments against a JSON Schema: coerced where nothing is lost, else refused, faults named."""

import copy
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import jsonschema_rs

from openjarvis.core import strict_json
from openjarvis.core.errors import ToolDefinitionError, nearest
from openjarvis.toolkit.describe import json_type, type_name

QUOTED_CHARACTERS = 200
"""How much of the input all faults of one call may repeat together."""

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?")
_ROUNDS = 4
_NOTHING = object()
_MASK = "the value"


class ArgumentsError(ValueError):
    """Arguments that a tool cannot take; `faults` says each in words for the model."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = list(faults)


class Quotes:
    """Hands out pieces of the input to show, at most `QUOTED_CHARACTERS` in all."""

    def __init__(self) -> None:
        self._left = QUOTED_CHARACTERS

    def of(self, value: Any) -> str:
        """Return `value` as it may be shown: its type, and its beginning while there is room."""
        if value is None:
            return "null"
        if isinstance(value, dict | list):
            return f"{_article(json_type(value))} of {len(value)}"
        if isinstance(value, str):
            return f'string "{self.text(value)}"'
        return f"{json_type(value)} {self.text(str(value))}"

    def text(self, text: str) -> str:
        """Return the beginning of `text`, one line, while there is room for it."""
        room = min(60, self._left)
        self._left -= min(len(text), room)
        shown = text[:room].encode("unicode_escape").decode() if not text.isprintable() else text
        return shown[:room] + ("…" if len(text) > room or len(shown) > room else "")


class Checker:
    """Checks the arguments of one tool. Immutable once made; any thread may use it."""

    def __init__(self, schema: dict[str, Any], *, owner: str = "") -> None:
        """Compile `schema`.

        Raises:
            ToolDefinitionError: when it is not a valid JSON Schema; `owner` names the tool.
        """
        self._schema = closed(schema)
        try:
            self._validator = jsonschema_rs.validator_for(
                self._schema, mask=_MASK, retriever=_refuse_to_fetch
            )
        except ValueError as error:
            reason = str(error).split("\n", 1)[0]
            raise ToolDefinitionError(
                f"{owner}: its parameters are no JSON Schema: {reason}"
            ) from error
        self.accepts = self._validator.is_valid

    def check(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return `arguments`, coerced in a copy where that was needed.

        Raises:
            ArgumentsError: when they do not fit, with every wrong or missing field.
        """
        try:
            if self.accepts(arguments):
                return arguments
            coerced = self._coerced(arguments)
            if self.accepts(coerced):
                return coerced
            errors = list(self._errors(coerced))
        except ValueError as error:  # not JSON at all: another key than str, a set, a surrogate
            raise ArgumentsError([f"not JSON values: {str(error)[:80]}"]) from None
        quotes = Quotes()
        raise ArgumentsError([fault for error in errors for fault in self._faults(error, quotes)])

    def _errors(self, arguments: dict[str, Any]) -> Iterator[Any]:
        for error in self._validator.iter_errors(arguments):
            yield from _narrowed(error)

    def _coerced(self, arguments: dict[str, Any]) -> dict[str, Any]:
        coerced = copy.deepcopy(arguments)
        for _ in range(_ROUNDS):  # a list made of "3" needs two: wrapped, then its item
            changed = False
            for error in self._errors(coerced):
                if error.instance_path:
                    changed = self._mend(coerced, error) or changed
            if not changed:
                break
        return coerced

    def _mend(self, root: dict[str, Any], error: Any) -> bool:
        parent: Any = root
        for step in error.instance_path[:-1]:
            parent = parent[step]
        key = error.instance_path[-1]
        for expected in _expected_types(error):
            value = _coerce(parent[key], expected)
            if value is not _NOTHING:
                parent[key] = value
                return True
        return False

    def _faults(self, error: Any, quotes: Quotes) -> list[str]:
        place = ".".join(quotes.text(str(step)) for step in error.instance_path)
        kind, details = error.kind.name, error.kind.as_dict()
        inside = f" in '{place}'" if place else ""
        if kind == "required":
            return [self._missing(details["property"], error, inside)]
        if kind == "additionalProperties":
            return [self._unknown(name, error, inside, quotes) for name in details["unexpected"]]
        subject = f"'{place}'" if place else "the arguments"
        if kind == "enum":
            return [
                f"{subject} must be one of {_options(details)}, got {quotes.of(error.instance)}"
            ]
        expected = _expected_types(error)
        if expected:
            return [
                f"{subject} must be {_article(' or '.join(expected))}, "
                f"got {quotes.of(error.instance)}"
            ]
        reason = error.message.removeprefix(_MASK).strip()
        return [f"{subject} {reason[:200]}, got {quotes.of(error.instance)}"]

    def _missing(self, name: str, error: Any, inside: str) -> str:
        known = _properties_at(self._schema, error.schema_path)
        schema = known.get(name)
        meaning = schema.get("description", "") if isinstance(schema, dict) else ""
        told = type_name(schema) + (f": {meaning[:100]}" if meaning else "")
        return f"missing '{name}'{inside} ({told})"

    def _unknown(self, name: str, error: Any, inside: str, quotes: Quotes) -> str:
        known = list(_properties_at(self._schema, error.schema_path))
        near = nearest(name, known)
        hint = f"did you mean '{near}'?" if near else f"known: {', '.join(known[:20]) or 'none'}"
        return f"unknown argument '{quotes.text(name)}'{inside} ({hint})"


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` with unknown arguments refused, unless it says that it takes them.

    A schema that lists no properties at all describes nothing, and so refuses nothing.
    """
    opens = ("additionalProperties", "patternProperties", "unevaluatedProperties")
    combines = ("anyOf", "oneOf", "allOf", "$ref")
    if "properties" not in schema or any(key in schema for key in opens + combines):
        return schema
    return {**schema, "additionalProperties": False}


def _refuse_to_fetch(uri: str) -> NoReturn:
    raise ValueError(f"the reference {uri[:80]!r} leaves the schema, and nothing is fetched")


def _properties_at(schema: dict[str, Any], path: Sequence[str | int]) -> dict[str, Any]:
    """Return the properties declared beside the keyword that `path` ends with."""
    at: Any = schema
    for step in path[:-1]:
        at = at.get(step, {}) if isinstance(at, dict) else at[int(step)]
        if isinstance(at, dict) and str(at.get("$ref", "")).startswith("#/$defs/"):
            at = schema.get("$defs", {}).get(at["$ref"].removeprefix("#/$defs/"), {})
    properties = at.get("properties") if isinstance(at, dict) else None
    return properties if isinstance(properties, dict) else {}


def _narrowed(error: Any) -> Iterator[Any]:
    """Yield the errors of the one branch of a union that was meant, where only one can have been.

    `Address | None` given an object with a member missing should say which member.
    """
    if error.kind.name in ("anyOf", "oneOfNotValid"):
        meant = [
            branch
            for branch in error.kind.as_dict()["context"]
            if not any(_is_wrong_type(inner, error.instance_path) for inner in branch)
        ]
        if len(meant) == 1:
            for inner in meant[0]:
                yield from _narrowed(inner)
            return
    yield error


def _is_wrong_type(error: Any, path: Sequence[str | int]) -> bool:
    return bool(error.kind.name == "type" and error.instance_path == path)


def _expected_types(error: Any) -> list[str]:
    """Return the types that would have done where `error` says the type was wrong."""
    kind, details = error.kind.name, error.kind.as_dict()
    if kind == "type":
        return list(details["types"])
    if kind not in ("anyOf", "oneOfNotValid"):
        return []
    types: list[str] = []
    for branch in details["context"]:
        for inner in branch:
            if _is_wrong_type(inner, error.instance_path):
                types.extend(inner.kind.as_dict()["types"])
    return list(dict.fromkeys(types))


def _coerce(value: Any, expected: str) -> Any:
    """Return `value` as the `expected` type where nothing is lost, else `_NOTHING`."""
    if expected == "array" and not isinstance(value, str | list | dict | None):
        return [value]
    if not isinstance(value, str):
        return [value] if expected == "array" and isinstance(value, dict) else _NOTHING
    text = value.strip()
    if expected == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if expected == "number" and _NUMBER.fullmatch(text):
        return int(text) if _INTEGER.fullmatch(text) else float(text)
    if expected == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if expected == "null" and text in ("null", "None"):
        return None
    if expected in ("array", "object"):
        return _decoded(text, expected, otherwise=[value] if expected == "array" else _NOTHING)
    return _NOTHING


def _decoded(text: str, expected: str, *, otherwise: Any) -> Any:
    """Return the array or object that a model wrote as a string of JSON."""
    if text[:1] == {"array": "[", "object": "{"}[expected]:
        try:
            return strict_json.loads(text)
        except strict_json.JSONRefused:
            return otherwise
    return otherwise


def _options(details: dict[str, Any]) -> str:
    options = details.get("options", [])
    if isinstance(options, str):  # the library gives them as JSON text
        options = strict_json.loads(options)
    shown = ", ".join(repr(option) for option in options[:20])
    return shown + (", …" if len(options) > 20 else "")


def _article(words: str) -> str:
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"
