"""Long messages in pieces that a service takes."""

import unicodedata

MAX_PARTS = 20

_JOINER = "\u200d"
_VOWELS_AFTER = "\u0e33\u0eb3"  # of Thai and Lao: drawn with the consonant before
_LONGEST_LETTER = 40


def split(text: str, limit: int) -> list[str]:
    """Return `text` in pieces of at most `limit` UTF-16 units, as most services count.

    Pieces end at a blank line, a line's end or a space where there is one in their second half,
    else between letters as a reader sees them: an accent, a tone or a part of an emoji stays.
    """
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = _fitting(text, start, limit)
        if end < len(text):
            end = _boundary(text, start, end)
        pieces.append(text[start:end].rstrip())
        start = end
    return [piece.lstrip("\r\n") for piece in pieces if piece]


def _fitting(text: str, start: int, limit: int) -> int:
    """Return where what fits into `limit` units ends, at least one character on."""
    units = 0
    for position, character in enumerate(text[start : start + limit], start):
        units += 2 if ord(character) > 0xFFFF else 1
        if units > limit:
            return max(position, start + 1)
    return min(len(text), start + limit)


def _boundary(text: str, start: int, end: int) -> int:
    middle = start + (end - start) // 2
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, middle, end)
        if found > start:
            return found + len(mark)
    for position in range(end, max(end - _LONGEST_LETTER, start), -1):
        if not _belong_together(text, start, position):
            return position
    return end


def _belong_together(text: str, start: int, position: int) -> bool:
    """Tell whether the characters before and at `position` are of one letter of the piece."""
    before, after = text[position - 1], text[position]
    if _JOINER in (before, after) or after in _VOWELS_AFTER:
        return True
    if _is_flag_half(after):
        halves = position
        while halves > start and _is_flag_half(text[halves - 1]):
            halves -= 1
        return (position - halves) % 2 == 1
    is_mark = unicodedata.category(after).startswith("M")
    is_skin_tone = "\U0001f3fb" <= after <= "\U0001f3ff"
    is_later_jamo = "\u1160" <= after <= "\u11ff"
    return is_mark or is_skin_tone or is_later_jamo


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
