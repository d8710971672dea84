import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openjarvis.channels.splitting import split


def test_pieces_end_where_a_reader_would_pause() -> None:
    assert split("one two three", 8) == ["one two", "three"]
    assert split("a\n\nbb", 4) == ["a", "bb"]


def test_a_word_longer_than_the_limit_is_cut() -> None:
    assert split("x" * 10, 4) == ["xxxx", "xxxx", "xx"]


def test_nothing_gives_no_piece() -> None:
    assert split(" \n ", 10) == []


@pytest.mark.parametrize(
    "letter",
    ["e\u0301", "ที่", "น้ำ"[:2] + "\u0e33", "👍🏽", "👨‍👩‍👧‍👦", "🇹🇭", "❤️", "각"],
    ids=["accent", "Thai", "sara am", "skin tone", "family", "flag", "variation", "Hangul jamo"],
)
@pytest.mark.parametrize("before", ["", "x", "xyz"])
def test_a_letter_of_several_characters_is_not_cut(letter: str, before: str) -> None:
    text = before + letter * 60

    pieces = split(text, 31)

    assert "".join(pieces) == text
    assert all(piece.removeprefix(before).replace(letter, "") == "" for piece in pieces)


def test_a_letter_longer_than_the_limit_is_cut() -> None:
    assert "".join(split("e" + "\u0301" * 50, 10)) == "e" + "\u0301" * 50


def test_lines_of_code_keep_their_indentation() -> None:
    text = "\n".join(f"    line {number}" for number in range(20))

    pieces = split(text, 50)

    assert "\n".join(pieces) == text


@pytest.mark.parametrize(
    "text", ["x" * 3_000_000, " " * 3_000_000 + "x", "🇹🇭" * 300_000, "\u0301" * 600_000]
)
def test_a_long_text_is_split_in_little_time(text: str) -> None:
    began = time.monotonic()

    split(text, 140)

    assert time.monotonic() - began < 20


@given(st.text(max_size=200), st.integers(min_value=2, max_value=20))
def test_no_piece_is_too_long_and_nothing_is_lost(text: str, limit: int) -> None:
    pieces = split(text, limit)

    assert all(len(piece.encode("utf-16-le", "surrogatepass")) // 2 <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
