import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openjarvis.agents.arguments import arguments_text
from openjarvis.toolkit.base import ToolSpec


def spec(required: list[str] | None = None, **types: str) -> ToolSpec:
    properties = {name: {"type": kind} for name, kind in types.items()}
    return ToolSpec("t", "", {"properties": properties, "required": required or []})


ONE_TEXT = spec(expression="string")
ONE_NUMBER = spec(count="integer")
TWO = spec(["query"], query="string", top="integer")
BOTH_REQUIRED = spec(["a", "b"], a="string", b="string")

CASES = {
    "an object stays": ('{"expression": "2"}', ONE_TEXT, {"expression": "2"}),
    "fenced object": ('```json\n{"expression": "2"}\n```', ONE_TEXT, {"expression": "2"}),
    "text whole": ("2 + 2", ONE_TEXT, {"expression": "2 + 2"}),
    "several lines": ("a\nb", ONE_TEXT, {"expression": "a\nb"}),
    "a JSON text": ('"2 + \\"2"', ONE_TEXT, {"expression": '2 + "2'}),
    "quoted": ("'2 + 2'", ONE_TEXT, {"expression": "2 + 2"}),
    "in backticks": ("`2 + 2`", ONE_TEXT, {"expression": "2 + 2"}),
    "two quoted parts": ("'a' + 'b'", ONE_TEXT, {"expression": "'a' + 'b'"}),
    "a number as text": ("340", ONE_TEXT, {"expression": "340"}),
    "a list as text": ("[1, 2]", ONE_TEXT, {"expression": "[1, 2]"}),
    "a set": ("{1, 2}", ONE_TEXT, {"expression": "{1, 2}"}),
    "fenced code": ("```python\nx = 1\n```", ONE_TEXT, {"expression": "x = 1"}),
    "a number": ("3", ONE_NUMBER, {"count": 3}),
    "no number": ("three", ONE_NUMBER, {"count": "three"}),
    "the one required": ("cats", TWO, {"query": "cats"}),
    "with its name": ("expression: 2 + 2", ONE_TEXT, {"expression": "2 + 2"}),
    "with its name, quoted": ('expression="2 + 2"', ONE_TEXT, {"expression": "2 + 2"}),
    "names in lines": ("query: cats\ntop: 3", TWO, {"query": "cats", "top": 3}),
    "names in a list": ("- query：แมว\n- top：3", TWO, {"query": "แมว", "top": 3}),
    "a name that it has not": ("note: 2 + 2", ONE_TEXT, {"expression": "note: 2 + 2"}),
    "a name twice": ("query: a\nquery: b", TWO, {"query": "query: a\nquery: b"}),
    "an assignment in code": (
        "expression = 2\nprint(expression)",
        ONE_TEXT,
        {"expression": "expression = 2\nprint(expression)"},
    ),
    "Thai": ("แมว", ONE_TEXT, {"expression": "แมว"}),
}


@pytest.mark.parametrize(("written", "tool", "meant"), CASES.values(), ids=CASES)
def test_an_input_becomes_the_arguments_it_means(
    written: str, tool: ToolSpec, meant: object
) -> None:
    assert json.loads(arguments_text(written, tool)) == meant


@pytest.mark.parametrize(
    ("written", "tool"),
    [
        ('{"expression": "2+', ONE_TEXT),
        ("{'expression': '2'}", ONE_TEXT),
        ("cats and dogs", BOTH_REQUIRED),
        ("cats", None),
    ],
)
def test_what_cannot_be_told_is_left_to_the_executor(written: str, tool: ToolSpec | None) -> None:
    assert arguments_text(written, tool) == written


@pytest.mark.parametrize("written", ["", "None", "null", "{}", "N/A"])
def test_a_tool_without_parameters_takes_nothing_in_many_spellings(written: str) -> None:
    assert arguments_text(written, spec()) in ("", "{}")


@given(st.text(), st.sampled_from([ONE_TEXT, ONE_NUMBER, TWO, BOTH_REQUIRED, spec(), None]))
def test_no_input_crashes_it(written: str, tool: ToolSpec | None) -> None:
    assert isinstance(arguments_text(written, tool), str)
