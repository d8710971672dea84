from typing import Any

from openjarvis.toolkit.definitions import hoisted


def referring(name: str, **definitions: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}, "$defs": definitions}


def test_a_schema_without_definitions_is_copied() -> None:
    schema = {"type": "string"}
    definitions: dict[str, Any] = {}

    moved = hoisted(schema, definitions)

    assert moved == schema
    assert moved is not schema
    assert definitions == {}


def test_definitions_move_to_those_of_the_tool() -> None:
    definitions: dict[str, Any] = {}

    moved = hoisted(referring("A", A={"type": "object"}), definitions)

    assert moved == {"type": "array", "items": {"$ref": "#/$defs/A"}}
    assert definitions == {"A": {"type": "object"}}


def test_an_equal_definition_is_shared() -> None:
    definitions: dict[str, Any] = {}

    for _ in range(2):
        hoisted(referring("A", A={"type": "object"}), definitions)

    assert definitions.keys() == {"A"}


def test_a_name_that_is_taken_gets_a_number_and_its_references_too() -> None:
    definitions: dict[str, Any] = {"A": {"type": "string"}}
    recursive = {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}

    moved = hoisted(referring("A", A=recursive), definitions)

    assert moved["items"] == {"$ref": "#/$defs/A_2"}
    assert definitions["A_2"] == {"anyOf": [{"$ref": "#/$defs/A_2"}, {"type": "null"}]}


def test_a_numbered_name_does_not_fall_on_one_that_is_there() -> None:
    definitions: dict[str, Any] = {"A": {"const": 0}, "A_2": {"const": 1}}

    moved = hoisted(
        {"prefixItems": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A_2"}]}
        | {"$defs": {"A": {"const": 2}, "A_2": {"const": 3}}},
        definitions,
    )

    targets = [definitions[item["$ref"].split("/")[-1]] for item in moved["prefixItems"]]
    assert targets == [{"const": 2}, {"const": 3}]
    assert definitions["A"] == {"const": 0}
    assert definitions["A_2"] == {"const": 1}


def test_the_mapping_of_a_discriminator_follows() -> None:
    definitions: dict[str, Any] = {"Cat": {"const": 0}}
    schema = {
        "oneOf": [{"$ref": "#/$defs/Cat"}],
        "discriminator": {"mapping": {"cat": "#/$defs/Cat"}, "propertyName": "kind"},
        "$defs": {"Cat": {"const": 1}},
    }

    moved = hoisted(schema, definitions)

    assert moved["discriminator"]["mapping"] == {"cat": "#/$defs/Cat_2"}
