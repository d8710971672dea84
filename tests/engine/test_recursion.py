import json
from typing import Any

import jsonschema_rs
import pytest

from openjarvis.engine.recursion import MOST_LEVELS, unrolled

NEXT = {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}
LEAF = {"type": "object", "properties": {"tree": {"$ref": "#/$defs/Node"}}}


def node(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"value": {"type": "integer"}, **properties},
        "required": ["value"],
        "additionalProperties": False,
    }


ROOT = {"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}}
SCHEMAS = {
    "a list": {**ROOT, "$defs": {"Node": node(inner=NEXT)}},
    "an optional one": {**ROOT, "$defs": {"Node": node(inner={"$ref": "#/$defs/Node"})}},
    "two that hold each other": {
        **ROOT,
        "$defs": {
            "Node": node(inner={"$ref": "#/$defs/Other"}),
            "Other": node(inner={"$ref": "#/$defs/Node"}),
        },
    },
    "in definitions": {
        "type": "object",
        "properties": {"root": {"$ref": "#/definitions/Node"}},
        "definitions": {"Node": node(inner={"$ref": "#/definitions/Node"})},
    },
}


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"value": depth}
    for level in range(depth - 1):
        value = {"value": level, "inner": value}
    return {"root": value}


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_holds_itself_comes_to_an_end(name: str) -> None:
    schema = unrolled(SCHEMAS[name])

    validator = jsonschema_rs.validator_for(schema)
    assert all(validator.is_valid(nested(depth)) for depth in range(1, MOST_LEVELS + 1))
    assert not validator.is_valid(nested(MOST_LEVELS + 1))
    assert jsonschema_rs.validator_for(SCHEMAS[name]).is_valid(nested(MOST_LEVELS + 1))


def test_a_schema_that_holds_its_root_comes_to_an_end() -> None:
    schema = unrolled({"type": "object", "properties": {"more": {"$ref": "#"}}})
    value: dict[str, Any] = {}
    for _ in range(MOST_LEVELS):
        value = {"more": value}

    validator = jsonschema_rs.validator_for(schema)
    assert validator.is_valid(value)
    assert not validator.is_valid({"more": value})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {**ROOT, "$defs": {"Node": node()}},
        {**ROOT, "$defs": {"Node": node(inner={"$ref": "#/$defs/Leaf"}), "Leaf": node()}},
        {**ROOT, "$defs": {}},
        {"type": "object", "properties": {"$ref": {"type": "string"}}},
    ],
)
def test_any_other_schema_stays_as_it_is(schema: dict[str, Any]) -> None:
    assert unrolled(schema) is schema


def test_what_only_leads_to_it_is_kept() -> None:
    schema = unrolled({**ROOT, "$defs": {"Node": node(inner=NEXT), "Leaf": LEAF, "Flat": node()}})

    assert schema["$defs"]["Flat"] == node()
    assert schema["$defs"]["Leaf"]["properties"]["tree"] == {"$ref": "#/$defs/level_1_of_0"}
    assert len(json.dumps(schema)) < 5_000
