"""What is learned from the examples of a tool, and what kind each argument is of."""

import time
from datetime import date
from typing import Any

import pytest

from openjarvis.engine.offline.choose import choose
from openjarvis.engine.offline.index import index_of
from openjarvis.engine.offline.request import read_request
from openjarvis.engine.offline.schema import Kind, parameters_of
from openjarvis.engine.offline.script import fold, stem, words
from openjarvis.engine.offline.words import peel
from openjarvis.toolkit.base import ToolSpec


def spec_with(
    description: str, examples: list[Any], name: str = "t", **properties: dict[str, Any]
) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSpec(name, description, schema, examples=examples)


@pytest.mark.parametrize(
    ("description", "example", "slot"),
    [
        ("Tell the weather of a city.", "Is it raining in London?", "London"),
        ("Tell the weather of a city.", "What's it like in New York tomorrow?", "New York"),
        ("Find a recipe for a dish.", "Find me a recipe for apple pie", "apple pie"),
        ("Find a recipe for a dish.", "How do I cook ramen?", "ramen"),
        ("Explain a word.", "What does serendipity mean?", "serendipity"),
        ("Tell the weather.", "北京今天天气怎么样？", "北京"),
        ("Tell how clean the air is.", "深圳的空气质量怎么样", "深圳"),
        ("Tell the weather.", "วันนี้ที่เชียงใหม่ฝนตกไหม", "เชียงใหม่"),
        ("Find a recipe.", "ทำต้มยำยังไง", "ต้มยำ"),
    ],
)
def test_the_argument_of_a_plain_sentence_is_guessed(
    description: str, example: str, slot: str
) -> None:
    index = index_of(spec_with(description, [example], thing={"type": "string"}))

    (lesson,) = index.lessons
    assert [lesson.sentence.text[one.start : one.end] for one in lesson.slots] == [slot]


def test_the_arguments_of_a_pair_are_found_where_they_stand() -> None:
    text = {"type": "string"}
    example = ("Heat the living room to 19", {"room": "living_room", "degrees": 19})
    index = index_of(spec_with("Heat.", [example], room=text, degrees={"type": "number"}))

    (lesson,) = index.lessons
    assert {s.parameter: lesson.sentence.text[s.start : s.end] for s in lesson.slots} == {
        "room": "living room",
        "degrees": "19",
    }


def test_the_argument_of_an_example_is_no_word_of_the_tool() -> None:
    index = index_of(spec_with("Tell the weather.", ["Rain in London?"], city={"type": "string"}))

    assert "rain" in index.vocabulary
    assert "london" not in index.vocabulary


def test_an_example_with_many_arguments_cannot_slow_down_a_request_that_does_not_follow_it() -> (
    None
):
    text = {"type": "string"}
    names = "abcdefgh"
    example = (" ".join(f"{name}1" for name in names) + " end", {n: f"{n}1" for n in names})
    spec = spec_with("Join.", [example], **dict.fromkeys(names, text))
    request = read_request("x " * 140, date(2026, 1, 15))
    started = time.process_time()

    choose(request, [spec])

    assert time.process_time() - started < 0.5


@pytest.mark.parametrize("example", [None, 5, (), ("a",), ("", {}), ["x", {"y": None}], " "])
def test_what_is_no_example_teaches_nothing(example: Any) -> None:
    index = index_of(spec_with("Tell.", [example], x={"type": "string"}))

    assert [lesson.slots for lesson in index.lessons if lesson.slots] == []


def test_a_tool_is_read_anew_when_it_changes() -> None:
    first = index_of(spec_with("Tell the weather.", []))

    assert index_of(spec_with("Tell the weather.", [])) is first
    assert index_of(spec_with("Tell the time.", [])) is not first


@pytest.mark.parametrize(
    ("name", "schema", "kind"),
    [
        ("method", {"type": "string", "enum": ["GET"]}, Kind.ENUM),
        ("unit", {"const": "km"}, Kind.ENUM),
        ("count", {"type": "integer"}, Kind.NUMBER),
        ("count", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, Kind.NUMBER),
        ("count", {"type": ["null", "number"]}, Kind.NUMBER),
        ("deep", {"type": "boolean"}, Kind.BOOLEAN),
        ("tags", {"type": "array"}, Kind.LIST),
        ("when", {"type": "string", "format": "date"}, Kind.DATE),
        ("start_date", {"type": "string"}, Kind.DATE),
        ("url", {"type": "string"}, Kind.URL),
        ("filePath", {"type": "string"}, Kind.PATH),
        ("email", {"type": "string"}, Kind.EMAIL),
        ("order", {"type": "string", "description": "order code, e.g. TH-1042"}, Kind.CODE),
        ("user_id", {"type": "string"}, Kind.CODE),
        ("code", {"type": "string", "description": "Python code to run"}, Kind.PROGRAM),
        ("formula", {"type": "string", "description": "what to calculate"}, Kind.EXPRESSION),
        ("formula", {"type": "string", "description": "chemical formula"}, Kind.NAME),
        ("message", {"type": "string"}, Kind.TEXT),
        ("city", {"type": "string"}, Kind.NAME),
        ("city", {}, Kind.NAME),
        ("options", {"type": "object"}, Kind.UNKNOWN),
    ],
)
def test_what_an_argument_holds_is_told_by_its_schema(
    name: str, schema: dict[str, Any], kind: Kind
) -> None:
    (parameter,) = parameters_of(spec_with("", [], **{name: schema}))

    assert parameter.kind is kind


def test_a_reference_is_followed_to_its_definition() -> None:
    schema = {
        "type": "object",
        "properties": {"unit": {"$ref": "#/$defs/Unit", "description": "the unit"}},
        "$defs": {"Unit": {"type": "string", "enum": ["km"]}},
    }

    (parameter,) = parameters_of(ToolSpec("t", "", schema))

    assert parameter.kind is Kind.ENUM
    assert parameter.schema["description"] == "the unit"


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("São Paulo", "sao paulo"),
        ("１２", "12"),
        ("ทำ", "ทำ"),
        ("İSTANBUL", "istanbul"),
        ("“a”", '"a"'),
    ],
)
def test_folding_keeps_the_length(text: str, folded: str) -> None:
    assert fold(text) == folded
    assert len(fold(text)) == len(text)


def test_forms_of_a_word_share_their_stem() -> None:
    assert stem("raining") == stem("rains") == stem("rainy") == stem("rain")
    assert stem("scheduled") == stem("schedule")
    assert stem("translation") == stem("translate")
    assert stem("cities") == stem("city")
    assert stem("news") != stem("new")


def test_unspaced_runs_are_told_from_words() -> None:
    assert [(word.kind, word.text) for word in words("อ่าน notes 3 北京")] == [
        ("run", "อ่าน"),
        ("word", "notes"),
        ("number", "3"),
        ("run", "北京"),
    ]


@pytest.mark.parametrize(
    ("text", "rest"),
    [("请问北京怎么样呢", "问北京"), ("ที่ภูเก็ตไหมครับ", "ภูเก็ต"), ("的吗", ""), ("上海", "上海")],
)
def test_small_words_are_peeled_off_both_ends(text: str, rest: str) -> None:
    start, end = peel(text, 0, len(text), opens=True)

    assert text[start:end] == rest
