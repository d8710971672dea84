import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openjarvis.toolkit.coerce import NOTHING, coerce


@pytest.mark.parametrize(
    ("value", "expected", "coerced"),
    [
        ("3", "integer", 3),
        (" -12\n", "integer", -12),
        ("0", "integer", 0),
        ("999999999999999999", "integer", 999999999999999999),
        ("3", "number", 3),
        ("3.5", "number", 3.5),
        ("-0.25", "number", -0.25),
        ("1e3", "number", 1000.0),
        ("0.1", "number", 0.1),
        ("true", "boolean", True),
        ("False", "boolean", False),
        (" TRUE ", "boolean", True),
        ("null", "null", None),
        ("None", "null", None),
        (3, "array", [3]),
        (False, "array", [False]),
        (0.5, "array", [0.5]),
        ("x", "array", ["x"]),
        ("", "array", [""]),
        ({"a": 1}, "array", [{"a": 1}]),
        ('["a", 1]', "array", ["a", 1]),
        (" [] ", "array", []),
        ('{"a": [1]}', "object", {"a": [1]}),
    ],
)
def test_a_value_becomes_another_type_where_nothing_is_lost(
    value: object, expected: str, coerced: object
) -> None:
    assert json.dumps(coerce(value, expected)) == json.dumps(coerced)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("3.0", "integer"),
        ("03", "integer"),
        ("+3", "integer"),
        ("1_000", "integer"),
        ("1,000", "integer"),
        ("٣", "integer"),
        ("３", "integer"),
        ("9" * 19, "integer"),
        ("", "integer"),
        ("three", "integer"),
        (True, "integer"),
        (3.0, "integer"),
        (None, "integer"),
        (["3"], "integer"),
        ("1e999", "number"),
        ("1e-999", "number"),
        ("123456789012345678.5", "number"),
        ("0.12345678901234567", "number"),
        (".5", "number"),
        ("5.", "number"),
        ("inf", "number"),
        ("nan", "number"),
        ("0x10", "number"),
        ("1", "boolean"),
        ("yes", "boolean"),
        ("", "boolean"),
        (1, "boolean"),
        ("", "null"),
        ("nil", "null"),
        (0, "null"),
        (None, "array"),
        ([3], "array"),
        ('["a", "b', "array"),
        ("[a, b]", "array"),
        ('["a"] and more', "array"),
        ("[NaN]", "array"),
        ('{"a": 1', "object"),
        ('{"a": 1, "a": 2}', "object"),
        ("[]", "object"),
        ("", "object"),
        ([], "object"),
        (3, "string"),
        (None, "string"),
        (["x"], "string"),
        ("x", "no such type"),
    ],
)
def test_a_value_that_would_lose_something_is_left(value: object, expected: str) -> None:
    assert coerce(value, expected) is NOTHING


@given(st.from_regex(r"-?[0-9]{1,20}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,4})?", fullmatch=True))
@example("9007199254740993")
@example("-0")
@example("5e-324")
@example("1.7976931348623157e308")
def test_a_number_that_is_accepted_is_exactly_the_text(text: str) -> None:
    number = coerce(text, "number")

    if number is not NOTHING:
        assert math.isfinite(number)
        assert Decimal(repr(number)) == Decimal(text)


@given(st.integers(min_value=-(10**18) + 1, max_value=10**18 - 1))
def test_an_integer_written_as_text_is_that_integer(number: int) -> None:
    assert coerce(str(number), "integer") == number


@given(st.text(), st.sampled_from(["integer", "number", "boolean", "null", "array", "object"]))
def test_any_text_is_coerced_to_the_type_or_left(text: str, expected: str) -> None:
    kinds: dict[str, Any] = {
        "integer": int,
        "number": int | float,
        "boolean": bool,
        "null": type(None),
        "array": list,
        "object": dict,
    }

    value = coerce(text, expected)

    assert value is NOTHING or isinstance(value, kinds[expected])
