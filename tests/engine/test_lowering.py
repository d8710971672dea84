from typing import Any

import pytest

from openjarvis.core.errors import LLMError
from openjarvis.engine.lowering import GEMINI, OLLAMA, lowered


def low(properties: dict[str, Any], words: Any = GEMINI, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, **more}
    result: dict[str, Any] = lowered({"name": "t", "parameters": schema}, words)["properties"]
    return result


def test_what_is_understood_stays() -> None:
    said = {"type": "string", "description": "A day.", "format": "date", "enum": ["2026-01-01"]}

    assert low({"day": said}) == {"day": said}


def test_references_are_put_in_place_with_what_stands_beside_them() -> None:
    defined = {"P": {"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}}}

    got = low(
        {"a": {"$ref": "#/$defs/P", "description": "Where."}, "b": {"$ref": "#/$defs/P"}},
        **{"$defs": {**defined, "X": {"type": "integer"}}},
    )

    assert got["a"] == {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "description": "Where.",
    }
    assert got["b"]["properties"] == {"x": {"type": "integer"}}


def test_unknown_keywords_become_words_of_the_description() -> None:
    got = low({"zip": {"type": "string", "description": "Code.", "pattern": "^[0-9]+$"}})

    assert got["zip"] == {"type": "string", "description": 'Code. (pattern: "^[0-9]+$")'}


def test_a_default_is_told() -> None:
    assert low({"n": {"type": "integer", "default": 3}})["n"]["description"] == "(default: 3)"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"const": "x"}, {"enum": ["x"]}),
        ({"oneOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}]}),
        ({"allOf": [{"type": "string"}], "$comment": "T"}, {"type": "string"}),
        (
            {"allOf": [{"type": "object", "required": ["a"]}, {"required": ["b"]}]},
            {"type": "object", "required": ["a", "b"]},
        ),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"items": True, "type": "array"}, {"items": {}, "type": "array"}),
    ],
)
def test_what_has_another_spelling_is_spelled_so(given: Any, expected: Any) -> None:
    assert low({"x": given})["x"] == expected


def test_a_tool_without_parameters_takes_none() -> None:
    assert lowered({"name": "t"}, GEMINI) == {"type": "object", "properties": {}}


def test_the_schema_itself_is_not_changed() -> None:
    schema = {"type": "object", "properties": {"x": {"const": 1, "allOf": [{"type": "integer"}]}}}
    before = repr(schema)

    lowered({"name": "t", "parameters": schema}, OLLAMA)

    assert repr(schema) == before


@pytest.mark.parametrize(
    ("given", "place", "keyword"),
    [
        ({"$ref": "#/$defs/Loop"}, r"parameters\.x\.next", r"\$ref"),
        ({"$ref": "https://example.org/s.json"}, r"parameters\.x", r"\$ref"),
        ({"$ref": "#/$defs/Gone"}, r"parameters\.x", r"\$ref"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, r"parameters\.x", "allOf"),
        ({"allOf": [True]}, r"parameters\.x", "allOf"),
        ({"type": "array", "items": False}, r"parameters\.x\[\]", "False"),
    ],
)
def test_what_cannot_be_said_names_tool_field_and_keyword(
    given: Any, place: str, keyword: str
) -> None:
    loop = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Loop"}}}

    with pytest.raises(LLMError, match=rf"'t' .* Gemini: in {place}, '{keyword}'") as failed:
        low({"x": given}, **{"$defs": {"Loop": loop}})

    assert failed.value.code == "LLM_INVALID_REQUEST"


def test_parts_that_refer_to_themselves_are_refused() -> None:
    with pytest.raises(LLMError, match="cannot be said"):
        low({"x": {"allOf": [{"$ref": "#/$defs/A"}]}}, **{"$defs": {"A": {"$ref": "#/$defs/A"}}})


def test_a_schema_that_grows_without_measure_when_its_references_are_in_place_is_refused() -> None:
    definitions: dict[str, Any] = {
        f"a{n}": {
            "properties": {"x": {"$ref": f"#/$defs/a{n + 1}"}, "y": {"$ref": f"#/$defs/a{n + 1}"}}
        }
        for n in range(40)
    }
    definitions["a40"] = {"type": "string"}
    parameters = {"$defs": definitions, "properties": {"x": {"$ref": "#/$defs/a0"}}}

    with pytest.raises(LLMError, match="more than 5,000 parts"):
        lowered({"name": "t", "parameters": parameters}, GEMINI)
