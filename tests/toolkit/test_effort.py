"""Schemas and values whose check would take for ever are refused; all others are not."""

from functools import reduce
from typing import Any

import pytest

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.toolkit.check import ArgumentsError, Checker

EXPRESSION: dict[str, Any] = {
    "type": "object",
    "$defs": {
        "sum": {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/any"}, "right": {"$ref": "#/$defs/any"}},
            "required": ["left", "right"],
        },
        "product": {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/any"}, "right": {"$ref": "#/$defs/any"}},
            "required": ["left", "right"],
        },
        "any": {
            "anyOf": [{"$ref": "#/$defs/sum"}, {"$ref": "#/$defs/product"}, {"type": "integer"}]
        },
    },
    "properties": {"expression": {"$ref": "#/$defs/any"}},
}


def chain(keyword: str, *, length: int = 40, inside: bool = False) -> dict[str, Any]:
    """Return a schema each of whose definitions names the next one twice."""

    def step(target: dict[str, Any]) -> dict[str, Any]:
        twice = {keyword: [target, target]}
        return {"properties": {"x": twice}} if inside else twice

    definitions = {f"a{n}": step({"$ref": f"#/$defs/a{n + 1}"}) for n in range(length)}
    definitions[f"a{length}"] = {"type": "object"}
    return {"type": "object", "$defs": definitions, **step({"$ref": "#/$defs/a0"})}


def fan(size: int) -> dict[str, Any]:
    """Return a schema whose definitions all name each other."""
    names = [f"#/$defs/a{n}" for n in range(size)]
    return {
        "$defs": {
            f"a{n}": {"anyOf": [{"$ref": name} for name in names if name != names[n]]}
            for n in range(size)
        },
        "allOf": [{"$ref": names[0]}],
    }


def unevaluated(depth: int) -> dict[str, Any]:
    return reduce(
        lambda inner, _: {"allOf": [inner], "unevaluatedProperties": False},
        range(depth),
        {"type": "object", "properties": {"a": {}}},
    )


def nested(depth: int, step: str = "x") -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {step: value}
    return value


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_a_chain_of_definitions_that_doubles_is_no_definition(keyword: str) -> None:
    with pytest.raises(ToolDefinitionError, match=r"^t: .*more than 100,000 steps"):
        Checker(chain(keyword), owner="t")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"not": {"$ref": "#"}}]},
        fan(12),
        {"$defs": {"a": {"dependentSchemas": {"x": {"$ref": "#/$defs/a"}}}}, "$ref": "#/$defs/a"},
    ],
    ids=["itself", "not itself", "each other", "dependent"],
)
def test_a_schema_that_goes_round_without_going_deeper_is_no_definition(
    schema: dict[str, Any],
) -> None:
    with pytest.raises(ToolDefinitionError, match="refers to itself without going deeper"):
        Checker(schema, owner="t")


def test_a_chain_that_doubles_with_each_level_of_the_arguments_refuses_the_deep_ones() -> None:
    checker = Checker(chain("anyOf", inside=True))

    assert checker.check(nested(5)) == nested(5)
    with pytest.raises(ArgumentsError, match=r"cannot be checked: .*100,000 steps"):
        checker.check(nested(40))


def test_members_that_no_level_names_are_counted_too() -> None:
    twice = {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}
    for inside in ("additionalProperties", "unevaluatedProperties"):
        checker = Checker({"$defs": {"a": {inside: twice}}, "properties": {"x": twice}})
        with pytest.raises(ArgumentsError, match="cannot be checked"):
            checker.check(nested(40))
    listed = Checker({"$defs": {"a": {"items": twice}}, "properties": {"x": twice}})
    with pytest.raises(ArgumentsError, match="cannot be checked"):
        listed.check({"x": reduce(lambda inner, _: [inner], range(40), [])})


def test_keywords_that_go_through_their_neighbours_again_are_counted_again() -> None:
    Checker(unevaluated(2))
    with pytest.raises(ToolDefinitionError, match="100,000 steps"):
        Checker(unevaluated(25))


def test_a_reference_that_hides_its_target_is_followed_or_refused() -> None:
    hidden = chain("allOf")
    hidden["$defs"] = {
        "%61" if name == "a0" else name: hidden["$defs"][name] for name in hidden["$defs"]
    }
    hidden["allOf"] = [{"$ref": "#/$defs/%2561"}]
    with pytest.raises(ToolDefinitionError, match="100,000 steps"):
        Checker(hidden)
    named = {"$defs": {"a": {"$anchor": "here"}}, "allOf": [{"$ref": "#here"}]}
    with pytest.raises(ToolDefinitionError, match="use #/\\$defs/"):
        Checker(named)
    moved = {"$defs": {"a": {"$id": "http://a.example/", "$ref": "#/$defs/b"}}}
    with pytest.raises(ToolDefinitionError, match="an \\$id of its own"):
        Checker(moved)


def test_schemas_that_people_write_are_checked_as_before() -> None:
    checker = Checker(EXPRESSION)
    one = {"left": 1, "right": {"left": 2, "right": 3}}

    assert checker.check({"expression": one}) == {"expression": one}
    with pytest.raises(ArgumentsError, match="expression"):
        checker.check({"expression": {"left": 1}})
    own = {"$id": "urn:order", "$defs": {"a": {"type": "integer"}}, "type": "object"}
    Checker({**own, "properties": {"n": {"$ref": "urn:order#/$defs/a"}}}).check({"n": 3})
    Checker({"properties": {"$ref": {"type": "string"}}}).check({"$ref": "text"})


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"uniqueItems": True}, list(range(5_000))),
        ({"items": {"enum": [[n] for n in range(200)]}}, [[n] for n in range(20)]),
        ({"items": {"required": [f"a{n}" for n in range(200)]}}, [{}] * 50),
    ],
)
def test_keywords_that_look_at_many_things_are_counted_by_them(
    part: dict[str, Any], value: list[Any]
) -> None:
    checker = Checker({"properties": {"x": {"allOf": [part] * 60}}})

    with pytest.raises(ArgumentsError, match="100,000 steps"):
        checker.check({"x": value})


NAMES = [f"a{n}" for n in range(900)]


@pytest.mark.parametrize(
    "many",
    [
        {"required": NAMES},
        {"dependentRequired": {"b": NAMES}},
        {"dependencies": {"b": NAMES}},
        {"dependentRequired": {"b": NAMES[:300], "c": NAMES[:300], "d": NAMES[:300]}},
        {"enum": [{name: 1} for name in NAMES]},
        {"type": "object", "oneOf": [{"const": [name]} for name in NAMES]},
    ],
)
def test_more_faults_than_can_be_told_are_not_looked_for(many: dict[str, Any]) -> None:
    checker = Checker({"properties": {"x": {"items": many}}})

    with pytest.raises(ArgumentsError, match=r"'x\.0'|x\.0") as told:
        checker.check({"x": [{"b": 1, "c": 1, "d": 1}] * 3})
    assert "cannot be checked" not in str(told.value)
    with pytest.raises(ArgumentsError, match=r"cannot be checked: .*100,000 steps"):
        checker.check({"x": [{"b": 1, "c": 1, "d": 1} for _ in range(1_000)]})
