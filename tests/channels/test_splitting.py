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


@given(st.text(max_size=200), st.integers(min_value=2, max_value=20))
def test_no_piece_is_too_long_and_nothing_is_lost(text: str, limit: int) -> None:
    pieces = split(text, limit)

    assert all(len(piece.encode("utf-16-le", "surrogatepass")) // 2 <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
