"""JSON Schemas in the words that a provider understands.

References are put in place, unknown keywords become words of the description (our own check of the
arguments still keeps them), and what cannot be said at all is an error that names tool, field and
keyword. Pure.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openjarvis.core.errors import LLMError, invalid_request
from openjarvis.core.references import referred

_SILENT = frozenset({"$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "title"})
_LISTS = ("anyOf", "prefixItems")
_MAX_NOTE = 300
_MAX_PARTS = 5_000


@dataclass(frozen=True, slots=True)
class SchemaWords:
    """What a provider understands: its name in messages, and the keywords."""

    provider: str
    keywords: frozenset[str]


GEMINI = SchemaWords(
    "Gemini",
    frozenset(
        [
            "type",
            "format",
            "title",
            "description",
            "enum",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "minimum",
            "maximum",
            "anyOf",
            "properties",
            "additionalProperties",
            "required",
        ]
    ),
)
OLLAMA = SchemaWords(
    "Ollama", frozenset(("type", "description", "enum", "items", "properties", "required", "anyOf"))
)


def lowered(function: Mapping[str, Any], words: SchemaWords) -> dict[str, Any]:
    """Return the parameters of a function definition in a provider's words.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when they cannot be said in them.
    """
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return _Lowering(str(function.get("name")), schema, words).of(schema, "parameters", ())


class _Lowering:
    """The work on one tool's schema."""

    def __init__(self, tool: str, root: Any, words: SchemaWords) -> None:
        self._tool = tool
        self._root = root
        self._words = words
        self._parts = 0

    def of(self, schema: Any, place: str, inside: tuple[str, ...]) -> dict[str, Any]:
        """Return `schema`, found at `place` within the references `inside`."""
        self._parts += 1
        if self._parts > _MAX_PARTS:
            reason = f"with its references in place it has more than {_MAX_PARTS:,} parts"
            raise self._unsayable("parameters", "$ref", reason)
        if schema is True:
            return {}
        if not isinstance(schema, Mapping):
            raise self._unsayable(place, str(schema), "such a schema takes nothing")
        if "$ref" in schema:
            return self._referred(schema, place, inside)
        plain = self._rewritten(dict(schema), place)
        result: dict[str, Any] = {}
        notes: list[str] = []
        for keyword, value in plain.items():
            if keyword in self._words.keywords:
                result[keyword] = self._value(keyword, value, place, inside)
            elif keyword not in _SILENT:
                notes.append(f"{keyword}: {json.dumps(value, ensure_ascii=False)[:_MAX_NOTE]}")
        if notes:
            said = str(result.get("description", ""))
            result["description"] = f"{said} ({'; '.join(notes)})".strip()
        return result

    def _referred(
        self, schema: Mapping[str, Any], place: str, inside: tuple[str, ...]
    ) -> dict[str, Any]:
        reference = str(schema["$ref"])
        if reference in inside:
            reason = f"{reference} holds itself, and it has no references"
            raise self._unsayable(place, "$ref", reason)
        target = self._target(reference, place)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        merged = {**target, **beside} if isinstance(target, Mapping) else target
        return self.of(merged, place, (*inside, reference))

    def _target(self, reference: str, place: str) -> Any:
        try:
            return referred(self._root, reference)
        except LookupError as error:
            raise self._unsayable(place, "$ref", str(error)) from None

    def _rewritten(self, schema: dict[str, Any], place: str) -> dict[str, Any]:
        """Return the same with the keywords that others can say replaced by them."""
        if "const" in schema:
            schema["enum"] = [schema.pop("const")]
        if "oneOf" in schema and "anyOf" not in schema:
            schema["anyOf"] = schema.pop("oneOf")
        for part in schema.pop("allOf", ()):
            schema = self._joined(schema, part, place)
        return schema

    def _joined(self, schema: dict[str, Any], part: Any, place: str) -> dict[str, Any]:
        followed: list[str] = []
        while isinstance(part, Mapping) and "$ref" in part:
            if str(part["$ref"]) in followed:
                raise self._unsayable(place, "$ref", f"{part['$ref']} is nothing but itself")
            followed.append(str(part["$ref"]))
            beside = {key: value for key, value in part.items() if key != "$ref"}
            part = {**self._target(str(part["$ref"]), place), **beside}
        if not isinstance(part, Mapping):
            raise self._unsayable(place, "allOf", "one of its parts is no object")
        joined = dict(schema)
        for keyword, value in part.items():
            present = joined.get(keyword)
            if keyword == "properties" and isinstance(present, Mapping):
                joined[keyword] = {**value, **present}
            elif keyword == "required" and isinstance(present, Sequence):
                joined[keyword] = [*present, *(name for name in value if name not in present)]
            elif keyword not in joined or keyword in _SILENT or keyword == "description":
                joined.setdefault(keyword, value)
            elif present != value:
                raise self._unsayable(place, "allOf", f"its parts disagree about {keyword!r}")
        return joined

    def _value(self, keyword: str, value: Any, place: str, inside: tuple[str, ...]) -> Any:
        if keyword == "properties" and isinstance(value, Mapping):
            return {
                name: self.of(schema, f"{place}.{name}", inside) for name, schema in value.items()
            }
        if keyword == "items" or (keyword == "additionalProperties" and isinstance(value, Mapping)):
            return self.of(value, f"{place}[]", inside)
        if keyword in _LISTS and isinstance(value, list):
            return [self.of(schema, place, inside) for schema in value]
        return value

    def _unsayable(self, place: str, keyword: str, why: str) -> LLMError:
        return invalid_request(
            f"The tool {self._tool!r} cannot be offered to {self._words.provider}: in {place}, "
            f"{keyword!r} cannot be said: {why}. Simplify the parameter, or use another engine."
        )
