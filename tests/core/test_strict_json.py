import json
import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openjarvis.core.strict_json import MAX_CHARACTERS, MAX_DEPTH, JSONRefused, dumps, loads

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)
PUNCTUATION = st.text(alphabet='{}[]",:\\ \n0123456789.eE+-tfnaulrsNI\ud800é')


@given(VALUES)
def test_what_json_writes_is_read_as_json_reads_it(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert repr(loads(text)) == repr(json.loads(text))


@given(VALUES)
def test_what_we_write_is_read_again(value: object) -> None:
    assert loads(dumps(value)) == value


@given(st.text() | PUNCTUATION)
@example("\ufeff{}")
@example("\x00")
@example('"\\ud83d\\ude00"')
def test_any_text_is_read_as_json_reads_it_or_refused(text: str) -> None:
    try:
        value = loads(text)
    except JSONRefused as refusal:
        reason = str(refusal)
    else:
        assert repr(value) == repr(json.loads(text))
        return
    assert 0 < len(reason) < 200


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value at character 1"),
        (" \n\t", "Expecting value at character 4"),
        ("   {x", "Expecting property name enclosed in double quotes at character 5"),
        ('\n\n{"a":1}x', "extra text after the value at character 10"),
        ('{"a":1}  {}', "extra text after the value at character 10"),
        ("1 2", "extra text after the value at character 3"),
        ("{'a': 1}", "Expecting property name enclosed in double quotes at character 2"),
        ('{"a": tru', "Expecting value at character 7"),
        ('{"a": "b', "Unterminated string starting at at character 7"),
        ('"a\nb"', "Invalid control character at at character 3"),
        ("True", "Expecting value at character 1"),
        ("01", "extra text after the value at character 2"),
        ("\u00a01", "Expecting value at character 1"),
        ("\ufeff1", "Expecting value at character 1"),
        ("NaN", "NaN is not JSON"),
        ("[Infinity]", "Infinity is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ("1e999", "a number is too large for a double"),
        ("[-1e999]", "a number is too large for a double"),
        ("1" * 5_000, "a number has too many digits"),
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' appears twice"),
        ('{"a": {"b": 1, "b": 1}}', "the key 'b' appears twice"),
        (r'{"a": 1, "\u0061": 2}', "the key 'a' appears twice"),
        (r'"\ud800"', r"the unpaired surrogate \ud800 is not a character"),
        (r'{"\udfff": 1}', r"the unpaired surrogate \udfff is not a character"),
        ('["\ud83d"]', r"the unpaired surrogate \ud83d is not a character"),
        ('["\ud83d\ude00"]', r"the unpaired surrogate \ud83d is not a character"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_where(text: str, reason: str) -> None:
    with pytest.raises(JSONRefused, match=f"^{re.escape(reason)}$"):
        loads(text)


def test_a_duplicate_key_is_shown_only_in_part() -> None:
    key = "k" * 1_000

    with pytest.raises(JSONRefused) as refusal:
        loads(f'{{"{key}": 1, "{key}": 2}}')

    assert str(refusal.value) == f"the key '{'k' * 40}' appears twice"


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert loads(r'"\ud83d\ude00"') == "😀"


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_nesting_is_taken_up_to_the_limit(opening: str) -> None:
    closing = "]" if opening == "[" else "}"

    assert loads(opening * MAX_DEPTH + "1" + closing * MAX_DEPTH)
    with pytest.raises(JSONRefused, match="nested deeper than 64 levels"):
        loads(opening * (MAX_DEPTH + 1) + "1" + closing * (MAX_DEPTH + 1))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000,
        "[" * 400_000 + "]" * 400_000,
        '{"a":' * 100_000,
        "[{" * 100_000,
    ],
)
def test_texts_nested_without_end_are_refused(text: str) -> None:
    with pytest.raises(JSONRefused, match="nested deeper"):
        loads(text)


def test_brackets_in_strings_are_no_nesting() -> None:
    text = json.dumps(["[" * 500, '\\"{' * 500, {"[[[": "]"}])

    assert loads(text) == json.loads(text)


def test_many_values_side_by_side_are_no_nesting() -> None:
    assert loads("[" + ",".join(["[{}]"] * 1_000) + "]") == [[{}]] * 1_000


def test_a_string_that_never_ends_is_refused_at_once() -> None:
    text = '["' * 33 + '"' + '\\"' * 400_000  # takes an hour where the scan is quadratic

    with pytest.raises(JSONRefused):
        loads(text)


def test_a_text_past_the_limit_is_refused_by_its_length() -> None:
    assert loads('"' + "x" * (MAX_CHARACTERS - 2) + '"')
    with pytest.raises(JSONRefused, match="the text has 1,000,001 characters; at most 1,000,000"):
        loads('"' + "x" * (MAX_CHARACTERS - 1) + '"')


@given(st.integers(min_value=-(10**100), max_value=10**100))
def test_integers_stay_exact(number: int) -> None:
    assert loads(str(number)) == number


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, [math.inf]])
def test_what_is_no_number_is_not_written(number: object) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(number)


def test_what_json_has_no_place_for_is_not_written() -> None:
    with pytest.raises(TypeError, match="set"):
        dumps({1})


def test_other_scripts_are_written_as_they_are() -> None:
    assert dumps({"เมือง": "กรุงเทพ"}) == '{"เมือง": "กรุงเทพ"}'
