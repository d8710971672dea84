from enum import Enum
from typing import Any

import pytest

from openjarvis.core.types import ToolResult
from openjarvis.toolkit.base import BaseTool, ToolSpec
from openjarvis.toolkit.describe import build_tool_descriptions, json_type, type_name
from openjarvis.toolkit.function import tool
from openjarvis.toolkit.provider import ProviderTool


class Described(BaseTool):
    """A tool that is nothing but its spec."""

    def __init__(self, **fields: Any) -> None:
        self._spec = ToolSpec(**{"name": "t", "description": "Does it.", **fields})

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    def execute(self, **params: Any) -> ToolResult:
        raise NotImplementedError


CALCULATOR = Described(
    name="calculator",
    description="Evaluate a mathematical expression safely.",
    category="math",
    cost_estimate=0.0015,
    latency_estimate=0.25,
    parameters={
        "type": "object",
        "properties": {
            "expression": {"type": "string", "description": "Math expression to evaluate"},
            "digits": {"type": "integer"},
        },
        "required": ["expression"],
    },
)


def test_each_tool_is_a_section_with_its_parameters() -> None:
    text = build_tool_descriptions(
        [CALCULATOR, Described(name="think", description="Think step by step.")]
    )

    assert text == (
        "### calculator\n"
        "Evaluate a mathematical expression safely.\n"
        "Category: math\n"
        "Parameters:\n"
        "  - expression (string, required): Math expression to evaluate\n"
        "  - digits (integer)\n"
        "\n"
        "### think\n"
        "Think step by step."
    )


def test_costs_are_told_only_when_asked_for_and_not_zero() -> None:
    told = build_tool_descriptions([CALCULATOR, Described()], include_cost=True)

    assert "Category: math\nCost estimate: $0.0015\nLatency estimate: 0.2s\nParameters:" in told
    assert told.count("estimate:") == 2
    assert "estimate:" not in build_tool_descriptions([CALCULATOR])


def test_the_category_can_be_left_out() -> None:
    assert "Category:" not in build_tool_descriptions([CALCULATOR], include_category=False)
    assert "Category:" not in build_tool_descriptions([Described()])


@pytest.mark.parametrize("parameters", [{}, {"type": "object"}, {"properties": {}}])
def test_a_tool_without_parameters_has_no_list_of_them(parameters: dict[str, Any]) -> None:
    assert build_tool_descriptions([Described(parameters=parameters)]) == "### t\nDoes it."


def test_examples_are_listed_as_sentences() -> None:
    spoken = Described(examples=["Is it raining?", ("Rain in Oslo?", {"city": "Oslo"})])

    assert build_tool_descriptions([spoken]) == (
        "### t\nDoes it.\nExamples:\n  - Is it raining?\n  - Rain in Oslo?"
    )


@pytest.mark.parametrize("none", [[], (), iter(())])
def test_no_tools_is_said_in_words(none: Any) -> None:
    assert build_tool_descriptions(none) == "No tools available."


def test_tools_of_every_spelling_are_described() -> None:
    @tool
    def clock() -> str:
        """Tell the time."""
        return ""

    text = build_tool_descriptions(one for one in (clock, ProviderTool("search", "x.search")))

    assert text == (
        "### clock\nTell the time.\n\n"
        "### search\nRun by the provider (x.search).\nCategory: provider"
    )


def test_an_enumeration_is_described_by_the_type_of_its_values() -> None:
    class Color(Enum):
        RED = "red"

    @tool
    def paint(color: Color, also: Color | None = None, more: list[Color] = []) -> None:  # noqa: B006
        """Paint it."""

    assert build_tool_descriptions([paint]).splitlines()[-3:] == [
        "  - color (string, required)",
        "  - also (string or null)",
        "  - more (array)",
    ]


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "integer"}, "integer"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"oneOf": [{"type": "string"}, {"type": "string"}]}, "string"),
        ({"$ref": "#/$defs/Address"}, "object"),
        ({"$ref": "#/$defs/Level"}, "integer"),
        ({"$ref": "#/$defs/Unknown"}, "object"),
        ({"enum": ["a", 1, None, 2]}, "string or integer or null"),
        ({"const": 1.5}, "number"),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_the_types_that_a_schema_admits_are_told_in_words(schema: Any, name: str) -> None:
    definitions = {"Address": {"type": "object"}, "Level": {"enum": [1, 2]}}

    assert type_name(schema, definitions) == name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "boolean"),
        (1, "integer"),
        (1.0, "number"),
        ("", "string"),
        ([], "array"),
        ((), "array"),
        ({}, "object"),
    ],
)
def test_a_value_has_the_type_that_json_schema_gives_it(value: object, name: str) -> None:
    assert json_type(value) == name
