import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openjarvis.safety.terminal import plain


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain text\n\twith lines and tabs\n",
        "ราคา ๕๐ บาท",
        "你好，世界",
        "👩‍👩‍👧 and café and e\u0301",
        "עברית \u200f and \u061c العربية",
        "a\u200bb\u00adc\u00a0d",
        r"\x1b[31m typed out",
    ],
)
def test_letters_lines_and_tabs_stay_as_they_are(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x1b]8;;https://evil.test\x1b\\link", r"\x1b]8;;https://evil.test\x1b\link"),
        ("\x9b2J", r"\x9b2J"),
        ("\x90q\x9c", r"\x90q\x9c"),
        ("\x85next", r"\x85next"),
        ("good\rbad", r"good\rbad"),
        ("ab\x08\x08cd", r"ab\x08\x08cd"),
        ("\x00\x07\x0b\x0c\x0e\x7f", r"\x00\x07\x0b\x0c\x0e\x7f"),
        ("user\u202etxt.exe", r"user\u202etxt.exe"),
        ("\u2066\u2067\u2068\u2069", r"\u2066\u2067\u2068\u2069"),
        ("a\u2028b\u2029c", r"a\u2028b\u2029c"),
        ("hidden\U000e0041", r"hidden\U000e0041"),
        ("\ud800", r"\ud800"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("one\r\r\ntwo", "one\\r\ntwo"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text())
def test_what_comes_out_holds_no_control_character_and_can_be_encoded(text: str) -> None:
    shown = plain(text)

    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert plain(shown) == shown
    assert shown.encode().decode() == shown


def test_a_million_control_characters_are_written_out_one_by_one() -> None:
    assert len(plain("\x1b" * 1_000_000)) == 4_000_000
