import pytest

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.dropins.parameters import schema_of


def test_a_meaning_makes_a_required_text_parameter() -> None:
    schema = schema_of({"city": "the city's name"}, "WeatherTool")

    assert schema == {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "the city's name"}},
        "required": ["city"],
    }


def test_a_schema_is_required_unless_it_has_a_default_or_says_otherwise() -> None:
    schema = schema_of(
        {
            "a": {"type": "integer"},
            "b": {"type": "integer", "default": 3},
            "c": {"type": "integer", "required": False},
            "d": {"type": "integer", "default": 3, "required": True},
            "e": {"type": "integer", "default": None},
        },
        "T",
    )

    assert schema["required"] == ["a", "d"]
    assert schema["properties"]["c"] == {"type": "integer"}
    assert schema["properties"]["d"] == {"type": "integer", "default": 3}


def test_the_required_list_of_an_object_parameter_is_json_schemas_own() -> None:
    address = {"type": "object", "properties": {"zip": {"type": "string"}}, "required": ["zip"]}

    schema = schema_of({"address": address}, "T")

    assert schema["properties"]["address"] == address
    assert schema["required"] == ["address"]


@pytest.mark.parametrize(
    "whole",
    [
        {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}},
    ],
)
def test_the_schema_of_the_whole_is_taken_as_it_is(whole: dict[str, object]) -> None:
    schema = schema_of(whole, "T")

    assert schema == whole
    assert schema is not whole


def test_parameters_that_are_called_type_and_properties_are_parameters() -> None:
    schema = schema_of({"type": "object", "properties": "what it is like"}, "T")

    assert schema["required"] == ["type", "properties"]


@pytest.mark.parametrize("parameters", [{}, {"type": "object"}])
def test_no_parameters_take_no_argument(parameters: dict[str, object]) -> None:
    assert schema_of(parameters, "T") == {"type": "object", "properties": {}}


def test_the_manifest_is_not_changed() -> None:
    parameters = {"c": {"type": "integer", "required": False}}

    schema_of(parameters, "T")

    assert parameters == {"c": {"type": "integer", "required": False}}


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ([{"name": "city"}], "`parameters` must map each name"),
        ("city", "got str"),
        (None, "got NoneType"),
        ({"city": str}, "'city' must be given its meaning as text or a JSON Schema"),
        ({"city": ("string", "the city")}, "got tuple"),
        ({3: "three"}, "the parameter name 3 must be text"),
        ({"n": {"type": "int"}}, "JSON Schema writes 'integer'"),
        ({"n": {"type": "dict"}}, "JSON Schema writes 'object'"),
    ],
)
def test_what_is_no_description_of_parameters_is_refused_by_name(
    parameters: object, told: str
) -> None:
    with pytest.raises(ToolDefinitionError) as refused:
        schema_of(parameters, "WeatherTool")

    assert str(refused.value).startswith("WeatherTool: ")
    assert told in str(refused.value)
