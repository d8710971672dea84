import pytest
from hypothesis import given
from hypothesis import strategies as st

from openjarvis.engine.text_gate import TextGate


def shown(text: str, *, piece: int = 1) -> str:
    gate = TextGate(["weather"])
    return "".join(gate.passed(text[at : at + piece]) for at in range(0, len(text), piece))


@pytest.mark.parametrize("piece", [1, 3, 1000])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello there.", "Hello there."),
        ("we are here", "we are here"),
        ("weather is fine", "weather is fine"),
        ("weather(city=1)", ""),
        ("[weather(city=1)]", ""),
        ("  weather (x", ""),
        ('{\n  "name": "weather"', ""),
        ('```json\n{"name": "weather"', ""),
        ("```json\n[1, 2]\n```", "```json\n[1, 2]\n```"),
        ('{"answer": 42}', '{"answer": 42}'),
        ("Wait. <tool_call>{}", "Wait. "),
        ("Wait. [TOOL_CALLS] []", "Wait. "),
        ("a < b and [x]", "a < b and [x]"),
        ("<tool_box> and more", "<tool_box> and more"),
        ("Wait. <tool_", "Wait. "),
    ],
)
def test_what_may_become_a_call_is_held_back(text: str, expected: str, piece: int) -> None:
    assert shown(text, piece=piece) == expected


@given(st.text("<tool_cal>[TOOLCALLS] \n{}`x", max_size=60), st.integers(1, 9))
def test_what_is_shown_is_how_the_text_begins(text: str, piece: int) -> None:
    assert text.startswith(shown(text, piece=piece))


def test_a_long_blank_start_is_not_held_for_ever() -> None:
    assert shown(" " * 1000) == " " * 1000
