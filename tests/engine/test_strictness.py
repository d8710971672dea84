from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import openai_server
from openai_server import Opened
from openjarvis import llm
from openjarvis.engine.openai import OpenAIEngine
from openjarvis.engine.openai_tools import web_search
from openjarvis.engine.strictness import strict_where_it_can_be

NAME = {"type": "string"}


def defined(parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": parameters}}


def whole(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


ELIGIBLE = {
    "nothing": whole(),
    "text": whole(name={**NAME, "description": "Whose", "pattern": "^a"}),
    "a date": whole(day={**NAME, "format": "date"}),
    "numbers": whole(n={"type": "integer", "minimum": 1}, x={"type": "number", "multipleOf": 0.5}),
    "choices": whole(unit={"enum": ["m", "km"], "type": "string"}),
    "a list": whole(names={"type": "array", "items": NAME, "maxItems": 3}),
    "an object": whole(place=whole(city=NAME)),
    "text or nothing": whole(name={"anyOf": [NAME, {"type": "null"}]}),
    "itself": {
        **whole(node={"$ref": "#/$defs/Node"}),
        "$defs": {"Node": whole(next={"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]})},
    },
    "a root that is closed here": {"type": "object", "properties": {"a": NAME}, "required": ["a"]},
}
OTHERS = {
    "an optional one": {**whole(name=NAME), "required": []},
    "a default": whole(name={**NAME, "default": "x"}),
    "an open object": whole(place={"type": "object", "properties": {"a": NAME}, "required": ["a"]}),
    "any object": whole(extra={"type": "object"}),
    "an open root": {**whole(name=NAME), "additionalProperties": True},
    "anything": whole(value={}),
    "true": whole(value=True),
    "several types": whole(value={"type": ["string", "null"]}),
    "a length": whole(name={**NAME, "minLength": 1}),
    "an unknown format": whole(name={**NAME, "format": "iri"}),
    "a list of anything": whole(names={"type": "array"}),
    "oneOf": whole(value={"oneOf": [NAME]}),
    "a union with more": whole(value={"anyOf": [NAME], "type": "string"}),
    "a reference away": whole(value={"$ref": "https://example.org/schema"}),
    "an unfit definition": {**whole(name=NAME), "$defs": {"Odd": {"not": NAME}}},
    "too many choices": whole(name={**NAME, "enum": [str(n) for n in range(1001)]}),
    "no schema": None,
    "a root of text": NAME,
    "a root that is a union": {"anyOf": [whole(a=NAME), whole(b=NAME)]},
}


def test_depth_is_bounded() -> None:
    schema: dict[str, Any] = whole(name=NAME)
    for _ in range(20):
        schema = whole(inner=schema)

    assert "strict" not in strict_where_it_can_be([defined(schema)])[0]["function"]


@pytest.mark.parametrize("name", ELIGIBLE)
def test_a_schema_that_qualifies_is_kept_to(name: str) -> None:
    schema = ELIGIBLE[name]

    [made] = strict_where_it_can_be([defined(schema)])

    assert made["function"]["strict"] is True
    assert made["function"]["parameters"] == {**schema, "additionalProperties": False}


@pytest.mark.parametrize("name", OTHERS)
def test_a_schema_is_not_changed_to_qualify(name: str) -> None:
    given = defined(OTHERS[name])

    assert strict_where_it_can_be([given]) == [given]


class Place(BaseModel):
    city: str
    country: Annotated[str | None, Field(description="Two letters")]


@llm.tool
def report(place: Place, unit: Literal["m", "km"], days: list[int]) -> str:
    """Report it. Call it when told to."""
    return "done"


@llm.tool
def now(zone: str = "UTC") -> str:
    """Tell the time. Call it when asked for it."""
    return "noon"


def strictness(body: dict[str, Any]) -> list[Any]:
    return [tool.get("function", tool).get("strict") for tool in body["tools"]]


def ask(engine: Any, *tools: Any) -> str:
    request = {"messages": [llm.user("Report.")], "tools": tools or [report, now], "model": "m"}
    return llm.generate(engine=engine, **request).text


def test_only_openai_is_asked_for_it(opened: Opened) -> None:
    server, engine = opened(OpenAIEngine, openai_server.completion("Yes."), path="/v1")
    strict_server, strict = opened(
        OpenAIEngine, openai_server.completion("Yes."), path="/v1", strict=True
    )

    assert ask(engine) == ask(strict) == "Yes."

    assert strictness(server.bodies[0]) == [None, None]
    assert strictness(strict_server.bodies[0]) == [True, None]
    assert OpenAIEngine("https://api.openai.com/v1", "k" * 20)._is_strict
    assert not OpenAIEngine("https://openrouter.ai/api/v1", "k" * 20)._is_strict


@pytest.mark.parametrize(
    "words",
    ["Unknown parameter: 'tools[0].function.strict'.", "Invalid schema for function 'report'"],
)
def test_a_refusal_of_it_is_learned_from(opened: Opened, words: str) -> None:
    server, engine = opened(
        OpenAIEngine,
        openai_server.refusal(400, words),
        openai_server.completion("Yes."),
        openai_server.completion("Yes."),
        path="/v1",
        strict=True,
    )

    assert ask(engine) == ask(engine) == "Yes."

    assert [strictness(body) for body in server.bodies] == [[True, None], [None] * 2, [None] * 2]


def test_the_responses_interface_is_asked_for_it_too(opened: Opened) -> None:
    said = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}]}
    server, engine = opened(
        OpenAIEngine,
        openai_server.answer(said),
        openai_server.refusal(400, "Invalid schema for function 'report'"),
        openai_server.answer(said),
        path="/v1",
        strict=True,
        responses=True,
    )

    assert ask(engine, report, now, web_search()) == "Yes."
    assert ask(engine, report, now, web_search()) == "Yes."

    asked = [strictness(body) for body in server.bodies]
    assert asked == [[True, False, None], [True, False, None], [False, False, None]]
