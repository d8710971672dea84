"""Which function definitions OpenAI can hold a model to, word for word (`strict`). Pure.

Only those that qualify as they are: nothing of a schema's meaning is changed for it, so that an
optional parameter stays one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from openjarvis.engine.wire import mapping
from openjarvis.toolkit.check import closed

MOST_PROPERTIES = 5000
MOST_LEVELS = 10
MOST_CHOICES = 1000
_ANYWHERE = frozenset({"title", "description", "$schema", "$defs", "definitions"})
_TYPES = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "string": frozenset({"pattern", "format"}),
    "integer": frozenset(
        {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    ),
    "boolean": frozenset[str](),
    "null": frozenset[str](),
}
_TYPES["number"] = _TYPES["integer"]
_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
)


def strict_where_it_can_be(definitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return function definitions, those marked `strict` whose schemas qualify."""
    return [_marked(dict(definition)) for definition in definitions]


def _marked(definition: dict[str, Any]) -> dict[str, Any]:
    function = definition.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("parameters"), dict):
        return definition
    # Arguments that a schema does not name are refused here too: to say so changes nothing.
    parameters = closed(function["parameters"])
    if parameters.get("type") != "object" or not _Schema(parameters).qualifies():
        return definition
    return {**definition, "function": {**function, "parameters": parameters, "strict": True}}


class _Schema:
    """A schema that is looked through once."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._properties = 0

    def qualifies(self) -> bool:
        """Tell whether every word of it is one that OpenAI can keep to."""
        named = [self._root.get(key, {}) for key in ("$defs", "definitions")]
        held = [schema for group in named for schema in mapping(group).values()]
        return all(self._may_be(schema, 1) for schema in (self._root, *held))

    def _may_be(self, schema: Any, level: int) -> bool:
        if not isinstance(schema, Mapping) or level > MOST_LEVELS:
            return False
        words = schema.keys() - _ANYWHERE
        if "$ref" in schema:
            return words == {"$ref"} and str(schema["$ref"]).startswith("#")
        if "anyOf" in schema:
            branches = schema["anyOf"]
            return (
                words == {"anyOf"}
                and isinstance(branches, list)
                and all(self._may_be(branch, level) for branch in branches)
            )
        return self._has_a_plain_type(schema, words, level)

    def _has_a_plain_type(self, schema: Mapping[str, Any], words: Any, level: int) -> bool:
        kind = schema.get("type")
        if not isinstance(kind, str) or kind not in _TYPES:
            return False
        choices = schema.get("enum", [])
        if not isinstance(choices, list) or len(choices) > MOST_CHOICES:
            return False
        if words - _TYPES[kind] - {"type", "enum", "const"}:
            return False
        if kind == "object":
            return self._is_closed_and_whole(schema, level)
        if kind == "array":
            return self._may_be(schema.get("items"), level + 1)
        return schema.get("format", "date") in _FORMATS

    def _is_closed_and_whole(self, schema: Mapping[str, Any], level: int) -> bool:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        if schema.get("additionalProperties") is not False or not isinstance(properties, Mapping):
            return False
        self._properties += len(properties)
        return (
            self._properties <= MOST_PROPERTIES
            and isinstance(required, list)
            and set(required) == set(properties)
            and all(self._may_be(value, level + 1) for value in properties.values())
        )
