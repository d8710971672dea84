import copy
import json
import re
import time
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.toolkit.check import (
    MAX_FAULTS,
    QUOTED_CHARACTERS,
    ArgumentsError,
    Checker,
    Fault,
    Quotes,
    UnfitValue,
    closed,
)

INTEGER = {"type": "integer"}
STRING = {"type": "string"}


def checker(properties: dict[str, Any], **rest: Any) -> Checker:
    return Checker({"type": "object", "properties": properties, **rest})


def faults(checks: Checker, arguments: Any) -> list[str]:
    with pytest.raises(ArgumentsError) as caught:
        checks.check(arguments)
    assert str(caught.value) == "; ".join(caught.value.faults)
    return caught.value.faults


# What is accepted


def test_arguments_that_fit_are_returned_as_they_are() -> None:
    arguments = {"n": 3, "text": "สวัสดี"}

    assert checker({"n": INTEGER, "text": STRING}).check(arguments) is arguments


@pytest.mark.parametrize(
    ("schema", "given_value", "taken"),
    [
        (INTEGER, "3", 3),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "boolean"}, "true", True),
        ({"type": "array", "items": STRING}, "one", ["one"]),
        ({"type": "array", "items": INTEGER}, 3, [3]),
        ({"type": "array", "items": INTEGER}, "3", [3]),
        ({"type": "array", "items": INTEGER}, '["3", 4]', [3, 4]),
        ({"type": "array", "items": INTEGER}, ["1", 2, "3"], [1, 2, 3]),
        ({"type": ["integer", "null"]}, "null", None),
        ({"anyOf": [INTEGER, {"type": "null"}]}, "7", 7),
        ({"anyOf": [INTEGER, {"type": "null"}]}, "null", None),
        ({"oneOf": [INTEGER, {"type": "boolean"}]}, "true", True),
        ({"type": "object", "properties": {"n": INTEGER}}, '{"n": "3"}', {"n": 3}),
        ({"type": "object", "properties": {"n": INTEGER}}, {"n": "3"}, {"n": 3}),
        ({"type": "array", "items": {"type": "object"}}, {"a": 1}, [{"a": 1}]),
        ({"type": "integer", "enum": [1, 2]}, "2", 2),
        ({"allOf": [INTEGER, {"type": "number"}]}, "3", 3),
    ],
)
def test_a_value_of_another_type_is_coerced_where_nothing_is_lost(
    schema: dict[str, Any], given_value: object, taken: object
) -> None:
    arguments = {"v": given_value}
    before = copy.deepcopy(arguments)

    assert json.dumps(checker({"v": schema}).check(arguments)) == json.dumps({"v": taken})
    assert arguments == before


def test_a_text_that_looks_like_a_number_stays_a_text_where_one_is_wanted() -> None:
    assert checker({"v": STRING}).check({"v": "0042"}) == {"v": "0042"}


def test_unknown_arguments_are_taken_where_the_schema_allows_them() -> None:
    open_schemas: list[dict[str, Any]] = [
        {"additionalProperties": True},
        {"patternProperties": {"^x-": STRING}},
        {"unevaluatedProperties": True},
    ]

    for allowing in open_schemas:
        assert checker({"n": INTEGER}, **allowing).check({"x-a": "1"}) == {"x-a": "1"}


@pytest.mark.parametrize("schema", [{}, {"type": "object"}])
def test_a_schema_that_lists_no_properties_refuses_nothing(schema: dict[str, Any]) -> None:
    assert Checker(schema).check({"anything": [1]}) == {"anything": [1]}


def test_closing_a_schema_leaves_the_original_alone() -> None:
    schema: dict[str, Any] = {"properties": {"n": INTEGER}}

    assert closed(schema) == {"properties": {"n": INTEGER}, "additionalProperties": False}
    assert schema == {"properties": {"n": INTEGER}}


def test_big_integers_stay_exact() -> None:
    assert checker({"n": INTEGER}).check({"n": 10**50}) == {"n": 10**50}


# What is refused, and in which words


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        (INTEGER, "three", "'v' must be an integer, got string \"three\""),
        (INTEGER, 3.5, "'v' must be an integer, got number 3.5"),
        (INTEGER, None, "'v' must be an integer, got null"),
        (INTEGER, True, "'v' must be an integer, got boolean True"),
        (STRING, 3, "'v' must be a string, got integer 3"),
        (STRING, ["a", "b"], "'v' must be a string, got an array of 2"),
        (STRING, {"a": 1}, "'v' must be a string, got an object of 1"),
        ({"type": ["string", "null"]}, 3, "'v' must be a null or string, got integer 3"),
        (
            {"anyOf": [INTEGER, {"type": "null"}]},
            "x",
            "'v' must be an integer or null, got string \"x\"",
        ),
        (
            {"enum": ["a", "b", None, True, 3]},
            "c",
            "'v' must be one of 'a', 'b', null, true, 3, got string \"c\"",
        ),
        ({"minimum": 3}, 1, "'v' is less than the minimum of 3, got integer 1"),
        ({"pattern": "^x$"}, "y", '\'v\' does not match "^x$", got string "y"'),
        (
            {"type": "array", "items": INTEGER},
            [1, "x"],
            "'v.1' must be an integer, got string \"x\"",
        ),
        (
            {"oneOf": [INTEGER, {"type": "boolean"}]},
            "x",
            "'v' must be an integer or boolean, got string \"x\"",
        ),
        (
            {"oneOf": [STRING, {"maxLength": 9}, INTEGER]},
            "3",
            "'v' is valid under more than one of the schemas listed in the 'oneOf' keyword, "
            'got string "3"',
        ),
        ({"const": 4}, 3, "'v' 4 was expected, got integer 3"),
        (
            {"type": "object", "propertyNames": {"maxLength": 2}},
            {"long": 1},
            "a name in 'v' is longer than 2 characters",
        ),
    ],
)
def test_a_fault_says_where_what_was_expected_and_what_came(
    schema: dict[str, Any], value: object, fault: str
) -> None:
    assert faults(checker({"v": schema}), {"v": value}) == [fault]


def test_every_wrong_and_every_missing_argument_is_named() -> None:
    schema = {"a": INTEGER, "b": INTEGER, "c": {**STRING, "description": "the city"}, "d": STRING}

    told = faults(checker(schema, required=["a", "c", "d"]), {"a": "x", "b": [], "e": 1})

    assert sorted(told) == [
        "'a' must be an integer, got string \"x\"",
        "'b' must be an integer, got an array of 0",
        "missing 'c' (string: the city)",
        "missing 'd' (string)",
        "unknown argument 'e' (known: a, b, c, d)",
    ]


def test_wrong_arguments_are_named_however_many_and_long_they_are() -> None:
    names = [f"a_rather_long_name_of_an_argument_{number}" for number in range(40)]

    told = faults(checker(dict.fromkeys(names, INTEGER)), dict.fromkeys(names, "wrong"))

    assert all(any(f"'{name}'" in fault for fault in told) for name in names)


@pytest.mark.parametrize("path", ["plain", "reference", "optional", "one of"])
def test_a_member_of_a_nested_object_is_told_with_its_place(path: str) -> None:
    address = {
        "type": "object",
        "properties": {"street": STRING, "number": INTEGER},
        "required": ["street"],
        "additionalProperties": False,
    }
    schema = {
        "plain": address,
        "reference": {"$ref": "#/$defs/Address"},
        "one of": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/Address"}]},
        "optional": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}]},
    }[path]

    told = faults(
        checker({"to": schema}, **{"$defs": {"Address": address}}),
        {"to": {"number": "x", "stret": "Main"}},
    )

    assert sorted(told) == [
        "'to.number' must be an integer, got string \"x\"",
        "missing 'street' in 'to' (string)",
        "unknown argument 'stret' in 'to' (did you mean 'street'?)",
    ]


def test_a_missing_enumeration_is_described_by_what_it_is() -> None:
    told = faults(
        checker({"c": {"$ref": "#/$defs/C"}}, required=["c"], **{"$defs": {"C": {"enum": ["r"]}}}),
        {},
    )

    assert told == ["missing 'c' (string)"]


def test_a_long_description_of_a_missing_argument_is_cut_where_it_is_seen() -> None:
    told = faults(checker({"a": {**STRING, "description": "d" * 101}}, required=["a"]), {})

    assert told == [f"missing 'a' (string: {'d' * 100}…)"]


def test_an_unknown_argument_is_told_with_its_nearest_name() -> None:
    assert faults(checker({"query": STRING}), {"qurey": "x"}) == [
        "unknown argument 'qurey' (did you mean 'query'?)"
    ]


def test_an_unknown_argument_of_a_tool_without_any_is_told_so() -> None:
    assert faults(checker({}), {"x": 1}) == ["unknown argument 'x' (known: none)"]


@pytest.mark.parametrize("keyword", ["additionalProperties", "unevaluatedProperties"])
def test_both_ways_of_closing_a_schema_name_the_unknown_argument(keyword: str) -> None:
    assert faults(checker({"n": INTEGER}, **{keyword: False}), {"x": 1}) == [
        "unknown argument 'x' (known: n)"
    ]


# Hostile values


NO_JSON: dict[str, object] = {
    "set": {1},
    "bytes": b"x",
    "object": object(),
    "surrogate key": {"\ud800": 1},
    "nan": float("nan"),
    "infinity": float("inf"),
    "too many digits": 10**5_000,
}


@pytest.mark.parametrize("kind", NO_JSON)
def test_what_is_no_json_is_refused(kind: str) -> None:
    assert faults(checker({"v": STRING}), {"v": NO_JSON[kind]})


def test_keys_that_are_no_text_are_refused_where_they_would_be_coerced() -> None:
    schema = {"type": "object", "additionalProperties": INTEGER}

    assert faults(checker({"v": schema}), {"v": {1: "3"}}) == [
        "not JSON values: Dict key must be str or str enum. Got 'int'"
    ]


@pytest.mark.parametrize("depth", [100, 1_000, 100_000])
def test_nesting_without_end_is_refused(depth: int) -> None:
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep]

    assert faults(checker({"v": STRING}), {"v": deep})
    while deep:  # taken apart by hand: freeing it at once would recurse as deep
        deep = deep.pop()


def test_an_object_where_a_list_was_wanted_is_mended_before_what_lies_in_it() -> None:
    schema = {"type": "array", "properties": {"b": INTEGER}}

    assert checker({"v": schema}).check({"v": {"b": "3"}}) == {"v": [{"b": "3"}]}


def test_a_flood_of_unknown_arguments_is_told_in_short() -> None:
    told = faults(checker({"alpha": STRING}), {f"alpha{number}": 1 for number in range(5_000)})

    assert len(told) == MAX_FAULTS + 1
    assert told[-1] == "and 4,950 more unknown arguments"


def test_a_flood_of_wrong_items_is_told_in_short() -> None:
    told = faults(checker({"v": {"type": "array", "items": INTEGER}}), {"v": ["x"] * 5_000})

    assert len(told) == MAX_FAULTS + 1
    assert told[-1] == "and more"


def test_a_long_list_is_coerced_whole() -> None:
    schema = {"type": "array", "items": INTEGER}

    assert checker({"v": schema}).check({"v": ["3"] * 5_000}) == {"v": [3] * 5_000}


MARKS = "☃☄★☎"
"""Characters that occur in no message but as a quotation."""
MARKED = st.text(MARKS, min_size=1, max_size=400)


@given(
    st.recursive(
        MARKED, lambda inner: st.lists(inner) | st.dictionaries(MARKED, inner), max_leaves=12
    ),
    st.dictionaries(MARKED, MARKED, max_size=8),
    st.sampled_from(
        [
            INTEGER,
            {"type": "array", "items": INTEGER},
            {"type": "object", "additionalProperties": INTEGER},
            {"type": "object", "additionalProperties": False},
            {"type": "object", "properties": {}, "unevaluatedProperties": False},
            {"type": "object", "propertyNames": {"maxLength": 1}},
            {"enum": ["a"]},
            {"const": {}},
            {"pattern": "^a"},
            {"maxLength": 1},
            {"uniqueItems": True, "type": "array"},
            {"not": {}},
            {"anyOf": [INTEGER, {"type": "array", "items": {"maxLength": 0}}]},
            {"oneOf": [{}, {}]},
            {"contains": INTEGER, "unevaluatedItems": False},
            {"dependentRequired": {"a": ["b"]}, "minProperties": 20},
            False,
        ]
    ),
)
def test_a_message_never_repeats_more_of_the_input_than_it_may(
    value: object, more: dict[str, str], schema: dict[str, Any]
) -> None:
    checks = checker({"v": schema, "w": schema}, required=["needed"])

    told = "; ".join(faults(checks, {"v": value, "w": value, **more}))

    assert sum(told.count(mark) for mark in MARKS) <= QUOTED_CHARACTERS


@given(st.lists(st.text(max_size=300), max_size=30))
def test_quotes_are_bounded_in_all_and_stay_on_one_line(texts: list[str]) -> None:
    quotes = Quotes()

    shown = [quotes.text(text) for text in texts]

    assert sum(len(text.removesuffix("…")) for text in shown) <= QUOTED_CHARACTERS
    assert all(text.isprintable() for text in shown)


def test_control_characters_are_shown_as_escapes() -> None:
    assert Quotes().of("a\n\x1b[31mb") == 'string "a\\n\\x1b[31mb"'


def test_unfit_values_of_one_call_share_its_quotations() -> None:
    quotes = Quotes()
    error = UnfitValue([Fault(("items", 0), "is no date", MARKS * 50)] * 20)

    told = "; ".join(error.told("a", quotes) + error.told("b", quotes))

    assert told.startswith(f"'a.items.0': is no date, got string \"{(MARKS * 50)[:60]}…\"")
    assert sum(told.count(mark) for mark in MARKS) <= QUOTED_CHARACTERS


# Any schema and any value

LEAVES = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, "", "a", "3", "true"])
)
TEXTS = st.sampled_from(["[1]", '{"a": 1}', "[", '["a"', "null", "2.5", "x"])
JSON_VALUES = st.recursive(
    LEAVES | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)
KINDS = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    branches = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS | st.lists(KINDS, min_size=1, max_size=3, unique=True),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": inner,
            "items": inner,
            "prefixItems": branches,
            "anyOf": branches,
            "oneOf": branches,
            "allOf": branches,
            "not": inner,
            "if": inner,
            "then": inner,
            "contains": inner,
            "enum": st.lists(LEAVES, min_size=1, max_size=3, unique_by=repr),
            "const": LEAVES,
            "minimum": st.integers(-2, 2),
            "maxLength": st.integers(0, 2),
            "uniqueItems": st.booleans(),
            "propertyNames": inner,
            "dependentSchemas": st.dictionaries(st.sampled_from("abc"), inner, max_size=1),
            "unevaluatedProperties": inner,
            "unevaluatedItems": inner,
            "$ref": st.sampled_from(["#", "#/$defs/d"]),
        },
    )


SCHEMAS = st.recursive(st.booleans(), _keywords, max_leaves=6)


@given(
    st.dictionaries(st.sampled_from("abc"), SCHEMAS),
    SCHEMAS,
    st.dictionaries(st.sampled_from("abcd"), JSON_VALUES),
)
def test_any_arguments_are_accepted_as_the_schema_wants_them_or_refused_in_words(
    properties: dict[str, Any], definition: Any, arguments: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": properties, "$defs": {"d": definition}}
    before = copy.deepcopy(arguments)
    try:
        checks = Checker(schema)
    except ToolDefinitionError:  # a reference that only refers to itself, say
        return

    try:
        taken = checks.check(arguments)
    except ArgumentsError as refusal:
        told = refusal.faults
    else:
        told = ["nothing"]
        assert checks.accepts(taken)
        assert means_the_same(arguments, taken)
    assert all(fault and "\n" not in fault for fault in told)
    assert told
    assert repr(arguments) == repr(before)


def means_the_same(written: Any, taken: Any) -> bool:
    """Tell whether `taken` is `written`, or what a person would read in it."""
    if type(written) is type(taken):
        if isinstance(written, dict):
            return written.keys() == taken.keys() and all(
                means_the_same(written[key], taken[key]) for key in written
            )
        if isinstance(written, list):
            return len(written) == len(taken) and all(map(means_the_same, written, taken))
        return bool(written == taken)
    if isinstance(taken, list) and not isinstance(written, list):
        if len(taken) == 1 and means_the_same(written, taken[0]):
            return True
        return isinstance(written, str) and means_the_same(json.loads(written), taken)
    if not isinstance(written, str):
        return False
    return means_the_same(json.loads(written.lower() if len(written) < 6 else written), taken)


# Schemas


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (None, "its parameters must be a JSON Schema as a dict, got None"),
        ([], r"its parameters must be a JSON Schema as a dict, got \[\]"),
        ("object", "its parameters must be a JSON Schema as a dict, got 'object'"),
        ({"type": "text"}, "its parameters are no JSON Schema"),
        ({"properties": {"a": {"pattern": "("}}}, "its parameters are no JSON Schema"),
        ({"enum": {1}}, "its parameters are no JSON Schema: Unsupported type: 'set'"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "its parameters are no JSON Schema"),
        ({"$ref": "https://example.com/s.json"}, "its parameters are no JSON Schema"),
        ({"$ref": "file:///etc/passwd"}, "its parameters are no JSON Schema"),
    ],
)
def test_a_schema_that_is_none_is_refused_with_its_owner(schema: Any, reason: str) -> None:
    with pytest.raises(ToolDefinitionError, match=f"^weather: {reason}"):
        Checker(schema, owner="weather")


def test_nothing_is_fetched_for_a_schema(tmp_path: Path) -> None:
    outside = tmp_path / "schema.json"
    outside.write_text('{"type": "object"}')

    for uri in (outside.as_uri(), "https://example.com/schema.json"):
        with pytest.raises(ToolDefinitionError, match="leaves the schema, and nothing is fetched"):
            Checker({"$ref": uri}, owner="weather")


def test_any_thread_may_check() -> None:
    checks = checker({"n": INTEGER, "v": {"type": "array", "items": INTEGER}})
    ready = Barrier(4)
    results: list[bool] = []

    def work(number: int) -> None:
        ready.wait()
        for _ in range(100):
            assert checks.check({"n": str(number), "v": "4"}) == {"n": number, "v": [4]}
            assert re.search("'n' must be", faults(checks, {"n": "x"})[0])
        results.append(True)

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [True] * 4


def test_a_pattern_that_takes_too_long_refuses_the_value_and_holds_nobody_up() -> None:
    slow = {"pattern": r"^(a|aa)+(?!x)\1b$"}
    checker = Checker({"type": "object", "properties": {"a": {"items": {"not": slow}}, "b": slow}})
    began = time.monotonic()

    with pytest.raises(ArgumentsError, match="takes too long to check against its pattern"):
        checker.check({"a": ["a" * 24] * 500})
    with pytest.raises(ArgumentsError, match="'b' takes too long"):
        checker.check({"b": "a" * 30})

    assert time.monotonic() - began < 5
    assert checker.check({"b": "aab"}) == {"b": "aab"}
