"""Results cut to size."""

from hypothesis import given
from hypothesis import strategies as st

from openjarvis.execution.limit import clip

ANY_TEXT = st.text(st.characters())


@given(ANY_TEXT, st.integers(min_value=100, max_value=1_000))
def test_what_is_given_back_fits_and_can_be_sent(text: str, limit: int) -> None:
    cut = clip(text * 50, limit)

    assert len(cut) <= limit
    cut.encode()


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=100))
def test_a_text_that_fits_is_unchanged(text: str) -> None:
    assert clip(text, 100) == text


def test_head_and_tail_stay_with_a_note_that_counts_what_was_cut() -> None:
    cut = clip("a" * 5_000 + "b" * 5_000, 500)
    head, note, tail = cut.split("\n")

    assert set(head) == {"a"}
    assert set(tail) == {"b"}

    assert note == f"[… {10_000 - len(head) - len(tail):,} of 10,000 characters cut …]"
