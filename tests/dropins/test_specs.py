from typing import Any

import pytest

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.dropins.specs import check_spec
from openjarvis.toolkit.base import ToolSpec


def test_a_plain_spec_is_accepted() -> None:
    check_spec(ToolSpec("weather", "Use it for the weather.", examples=("Rain?",)), "T")


def _recursive() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"again": schema}
    return schema


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "the weather"}, "A-Z a-z 0-9 _ -"),
        ({"name": ""}, "1 to 64"),
        ({"name": "x" * 10_000}, "1 to 64"),
        ({"name": "weather\n"}, "1 to 64"),
        ({"name": None}, "1 to 64"),
        ({"description": None}, "the description must be text, got NoneType"),
        ({"description": "half a pair \ud83d"}, "must be JSON values"),
        ({"timeout_seconds": "30"}, "timeout_seconds must be a number of seconds"),
        ({"timeout_seconds": -1}, "got -1"),
        ({"timeout_seconds": float("nan")}, "got nan"),
        ({"timeout_seconds": float("inf")}, "got inf"),
        ({"timeout_seconds": True}, "timeout_seconds"),
        ({"parameters": ["city"]}, "a JSON Schema as a dict, got list"),
        ({"parameters": {"city": {"type": "string"}}}, "JSON Schema of an object"),
        ({"parameters": {"type": "object", "properties": []}}, "no JSON Schema"),
        ({"parameters": {"type": "object", "properties": {"n": {"type": "int"}}}}, "no JSON Sch"),
        ({"parameters": {"type": "object", "default": {1, 2}}}, "must be JSON values"),
        ({"parameters": {"type": "object", "default": float("nan")}}, "must be JSON values"),
        ({"parameters": {"type": "object", "$ref": "http://example.com/x"}}, "no JSON Schema"),
        ({"parameters": _recursive()}, "must be JSON values"),
        ({"examples": "Is it raining?"}, "`examples` must be a list"),
        ({"examples": [("Is it raining?",)]}, "(sentence, arguments) pairs"),
        ({"examples": [3]}, "`examples` must be a list"),
        ({"examples": [("Rain?", "London")]}, "`examples` must be a list"),
    ],
)
def test_what_would_fail_later_is_refused_by_name(fields: dict[str, Any], told: str) -> None:
    spec = ToolSpec(**{"name": "weather", "description": "Use it.", **fields})

    with pytest.raises(ToolDefinitionError) as refused:
        check_spec(spec, "WeatherTool")

    assert str(refused.value).startswith("WeatherTool")
    assert told in str(refused.value)
    assert len(str(refused.value)) < 500


def test_something_else_than_a_spec_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match=r"WeatherTool\.spec must be a ToolSpec"):
        check_spec({"name": "weather"}, "WeatherTool")
