"""Long texts cut into pieces that a search can find and a model can read.

A piece ends where the text pauses: after a paragraph, else after a line or a sentence, and only
then between words. A fenced block of code stays whole when it fits into a piece.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from enum import IntEnum

from openjarvis.memory.segment import unit_spans

CHUNK_SIZE = 300
CHUNK_OVERLAP = 40

_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)(.*)$", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?…。！？।॥។]['\")\]”’」』）*_`]*\Z")
_HEADING = re.compile(r"#{1,6}\s")


class _Pause(IntEnum):
    """How good a place is for a cut."""

    INSIDE_WORD = 0
    WORD = 1
    SENTENCE_OR_LINE = 2
    SENTENCE_AND_LINE = 3
    PARAGRAPH = 4


def chunk(text: str, *, size: int = CHUNK_SIZE, overlap: int = CHUNK_OVERLAP) -> list[str]:
    """Return `text` in pieces of at most `size` units; each but the first repeats up to `overlap`.

    A unit is a word, or one character of a script without spaces. No piece begins or ends inside
    a character and its marks. More than half of `size` is never repeated. Blank text has no pieces.

    Raises:
        ValueError: when `size` is less than 1 or `overlap` is negative.
    """
    check_sizes(size, overlap)
    return _Cutter(text, size, overlap).pieces()


def check_sizes(size: int, overlap: int) -> None:
    """Do nothing when texts can be cut like this.

    Raises:
        ValueError: when `size` is less than 1 or `overlap` is negative.
    """
    if size < 1 or overlap < 0:
        raise ValueError(
            f"chunk_size must be 1 or more and chunk_overlap 0 or more, got {size} and {overlap}."
        )


class _Cutter:
    """Cuts one text; places in it are counted in units."""

    def __init__(self, text: str, size: int, overlap: int) -> None:
        self._text = text
        self._size = size
        self._overlap = min(overlap, size // 2)
        self._units = unit_spans(text)
        self._fences = [(self._unit_at(start), self._unit_at(end)) for start, end in _fences(text)]

    def pieces(self) -> list[str]:
        pieces: list[str] = []
        start = end = 0
        while end < len(self._units):
            end = self._next_end(start, end)
            pieces.append(self._text[self._units[start][0] : self._units[end - 1][1]])
            start = self._next_start(end)
        return pieces

    def _next_end(self, start: int, done: int) -> int:
        """Return where the piece from `start` ends: past `done`, at the best pause in reach."""
        furthest = start + self._size
        if furthest >= len(self._units):
            return len(self._units)
        fence = self._fence_around(furthest)
        if fence and done < fence[0] and fence[1] - fence[0] <= self._size:
            furthest = fence[0]
        # A pause early in the piece is no reason for a short one.
        earliest = max(done + 1, start + self._size // 4)
        places = range(furthest, min(earliest, furthest) - 1, -1)
        return max(places, key=lambda place: (self._pause(place), place))

    def _next_start(self, end: int) -> int:
        """Return where the piece that follows `end` begins, in text that it repeats."""
        start = max(end - self._overlap, 0)
        if self._fence_around(start):
            return end
        sentences = (
            place
            for place in range(start, end)
            if place == 0 or self._pause(place) >= _Pause.SENTENCE_OR_LINE
        )
        return next(sentences, start)

    def _pause(self, place: int) -> _Pause:
        """Return how good a cut before the unit at `place` is."""
        before, after = self._units[place - 1][1], self._units[place][0]
        gap = self._text[before:after]
        lines = gap.count("\n")
        if lines and self._is_heading(before):
            return _Pause.WORD
        in_code = self._fence_around(place) is not None
        if lines > 1 and not in_code:
            return _Pause.PARAGRAPH
        ends = lines > 1 if in_code else self._ends_sentence(before)
        if ends or lines:
            return _Pause.SENTENCE_AND_LINE if ends and lines else _Pause.SENTENCE_OR_LINE
        return _Pause.WORD if gap else _Pause.INSIDE_WORD

    def _ends_sentence(self, before: int) -> bool:
        return bool(_SENTENCE_END.search(self._text, max(before - 8, 0), before))

    def _is_heading(self, before: int) -> bool:
        line = self._text.rfind("\n", 0, before) + 1
        return bool(_HEADING.match(self._text, line, before))

    def _fence_around(self, place: int) -> tuple[int, int] | None:
        """Return the block of code that a cut at `place` would break."""
        nearest = bisect_left(self._fences, (place, 0)) - 1
        if nearest >= 0 and place < self._fences[nearest][1]:
            return self._fences[nearest]
        return None

    def _unit_at(self, position: int) -> int:
        return bisect_left(self._units, (position, 0))


def _fences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each closed block of code begins and ends."""
    opening: re.Match[str] | None = None
    for line in _FENCE.finditer(text):
        if opening is None:
            opening = line
        elif line[1].startswith(opening[1]) and not line[2].strip():
            yield opening.start(), line.end()
            opening = None
