import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openjarvis.memory.chunking import chunk
from openjarvis.memory.segment import unit_spans


def test_a_short_text_is_one_piece() -> None:
    assert chunk("One line.\n\nAnother.") == ["One line.\n\nAnother."]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t"])
def test_blank_text_has_no_pieces(text: str) -> None:
    assert chunk(text) == []


def test_pieces_end_with_paragraphs() -> None:
    paragraphs = [f"Paragraph {number} " + "word " * 30 for number in range(6)]
    text = "\n\n".join(map(str.strip, paragraphs))

    pieces = chunk(text, size=70, overlap=0)

    assert pieces == ["\n\n".join(map(str.strip, paragraphs[i : i + 2])) for i in (0, 2, 4)]


def test_without_paragraphs_pieces_end_with_sentences() -> None:
    text = "This sentence has exactly six words. " * 20

    pieces = chunk(text, size=20, overlap=0)

    assert len(pieces) > 5
    assert all(piece.endswith("words.") for piece in pieces)


def test_without_sentences_pieces_end_between_words() -> None:
    pieces = chunk("word " * 100, size=30, overlap=0)

    assert [len(piece.split()) for piece in pieces] == [30, 30, 30, 10]


def test_unspaced_text_is_cut_at_its_full_stops() -> None:
    pieces = chunk("会议将于三点开始。请准时参加。地点在北京。", size=9, overlap=0)

    assert pieces == ["会议将于三点开始。", "请准时参加。", "地点在北京。"]


def test_thai_is_cut_at_its_spaces_and_never_inside_a_character() -> None:
    text = "นัดประชุมวันศุกร์ที่น้ำตก ห้ามสายนะครับ " * 10

    pieces = chunk(text, size=25, overlap=5)

    assert len(pieces) > 5
    assert all(piece.endswith(("ตก", "ครับ")) for piece in pieces)
    assert not any(unicodedata.combining(piece[0]) for piece in pieces)


def test_a_block_of_code_stays_whole() -> None:
    code = "```python\ndef f():\n    return 1\n\n\nx = f()\ny = x\nz = y\n```"
    text = "Intro words here.\n\n" + "Some more words. " * 5 + f"\n{code}\n\nThe end."

    pieces = chunk(text, size=22, overlap=4)

    assert any(code in piece for piece in pieces)


def test_a_short_piece_is_better_than_a_broken_block() -> None:
    code = "```\n" + "".join(f"call number {number} now\n" for number in range(9)) + "```"

    pieces = chunk(f"Look at this.\n\n{code}\n\nThe end.", size=40, overlap=0)

    assert pieces[:2] == ["Look at this.", f"{code}\n\nThe end."]


def test_no_piece_begins_with_the_rest_of_a_block() -> None:
    code = "```\n" + "".join(f"call number {number} now\n" for number in range(5)) + "```"

    pieces = chunk(f"{code}\n\n" + "And some more words. " * 10, size=24, overlap=8)

    assert pieces[0] == code
    assert pieces[1].startswith("And some")


def test_a_block_of_code_too_long_for_a_piece_is_cut_at_its_lines() -> None:
    code = "~~~\n" + "".join(f"line {number} of code\n" for number in range(40)) + "~~~"

    pieces = chunk(code, size=30, overlap=0)

    assert all(piece.endswith(("code", "~~~")) for piece in pieces)


def test_a_heading_stays_with_its_text() -> None:
    text = "word " * 15 + "\n\n# Heading\n\n" + "more " * 15

    pieces = chunk(text, size=18, overlap=0)

    assert pieces[1].startswith("# Heading")


def test_each_piece_repeats_the_end_of_the_last() -> None:
    words = [f"w{number}" for number in range(100)]

    pieces = chunk(" ".join(words), size=20, overlap=5)

    for before, after in pairwise(pieces):
        assert before.split()[-5:] == after.split()[:5]


def test_an_overlap_of_nearly_all_still_gets_on() -> None:
    assert len(chunk("word " * 100, size=10, overlap=9)) < 25


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (-1, 0), (10, -1)])
def test_sizes_that_make_no_sense_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="chunk_size must be"):
        chunk("text", size=size, overlap=overlap)


def test_text_that_never_pauses_is_cut_all_the_same() -> None:
    assert all(len(piece) < 2000 for piece in chunk("x" * 100_000, size=20))
    assert len(chunk("ก" * 10_000)) > 30


_SOME_TEXT = st.text(
    alphabet=st.one_of(st.sampled_from("ab .\n`#กิ่会。é\u0301👩\u200d🔬🇹\u00ad"), st.characters()),
    max_size=400,
)


@given(_SOME_TEXT, st.integers(1, 30), st.data())
def test_pieces_hold_the_whole_text_and_no_more_than_their_size(
    text: str, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, 2 * size))

    pieces = chunk(text, size=size, overlap=overlap)

    place = 0
    covered = 0
    for piece in pieces:
        place = text.index(piece, place)
        assert not text[covered:place].strip()
        covered = max(covered, place + len(piece))
        assert len(unit_spans(piece)) <= size
    assert not text[covered:].strip()
