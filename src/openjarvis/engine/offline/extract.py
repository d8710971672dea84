"""What stands in a request: quotes, URLs, addresses, paths, codes, dates, numbers.

Each is a `Piece` at its place. Pieces do not overlap: a number in a path is the path's.
"""

import re
from datetime import date
from typing import Any, NamedTuple

from openjarvis.engine.offline.dates import find_dates
from openjarvis.engine.offline.numbers import NUMBER, number_of
from openjarvis.engine.offline.script import MARK, fold, is_unspaced, mark

_LETTER = r"[\w@+~-]"
_LETTERS = r"[\w@+~./-]"
_FRESH = r"(?<![a-z0-9_/.:@+~-])"  # nothing begins inside of a word, which also keeps this linear
_DOMAINS = "com|org|net|io|dev|edu|gov|info|co|ai|app"
_PIECE = re.compile(
    r"```(?:[a-z]+\n)?(?P<fenced>.+?)```"
    r"|(?P<q>[`\"])(?P<quoted>[^\n`\"]+)(?P=q)"
    r"|(?<!\w)'(?P<quoted1>[^\n']+(?:'\w[^\n']*)*)'(?!\w)"
    r"|「(?P<quoted2>[^\n「」]+)」|『(?P<quoted3>[^\n『』]+)』|《(?P<quoted5>[^\n《》]+)》|«\s?(?P<quoted4>[^\n«»]+)»"
    rf"|{_FRESH}(?![{MARK}\s])(?:"
    rf"(?P<url>(?:https?|ftp)://[^\s\"'<>{MARK}]+)"
    r"|(?P<email>[a-z0-9][\w.+-]{0,63}@[a-z0-9-]+(?:\.[a-z0-9-]+)+)"
    rf"|(?P<domain>[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:{_DOMAINS})(?![a-z0-9_.-])"
    rf"(?:/[^\s\"'<>{MARK}]*)?)"
    rf"|(?P<path>[a-z]:\\[^\s\"'<>|]+"
    rf"|(?:~|\.{{1,2}})?/{_LETTER}{_LETTERS}*"
    rf"|{_LETTER}{_LETTERS}*/(?![\w])"
    rf"|{_LETTERS}{{2,}}\.[a-z][a-z0-9]{{0,7}}(?![a-z0-9_])"
    rf"|{_LETTER}\.[a-z][a-z0-9]{{1,7}}(?![a-z0-9_.])"
    r"|\.env(?![a-z0-9_]))"
    r"|(?P<code>#?(?=[\w-]*\d)(?=[\w-]*[a-z])[a-z0-9]+(?:[-_][a-z0-9]+)+(?![\w-])"
    r"|[a-z]{1,4}\d{2,}(?![\w.-])))"
    rf"|(?<!{MARK})(?P<unspaced>{MARK}+\.[a-z][a-z0-9]{{1,4}}(?![a-z0-9_]))",
    re.DOTALL,
)
_DIGIT = 9
_SIGN = re.compile(r"(?:(?<!\S)-|(?<!\w)minus |ลบ ?|负)$")
_TRAILING = ".,;:!?)]}。，、！？）"


class Piece(NamedTuple):
    """Something that stands in the request; `kind` is one of the names in the pattern above.

    `date` pieces have a `FoundDate` as their value, `number` pieces an int or a float, the others
    their text.
    """

    kind: str
    value: Any
    start: int
    end: int


def pieces(text: str, folded: str, today: date) -> list[Piece]:
    """Return the pieces of a request, in order; `folded` is `text` folded."""
    found = list(_marked(text, folded))
    bare = without(folded, found)
    dates = [Piece("date", day, day.start, day.end) for day in find_dates(bare, today)]
    bare = without(bare, dates)
    numbers = [
        _number(bare, match, value)
        for match in NUMBER.finditer(bare)
        if (value := number_of(match[0])) is not None and _is_apart(bare, match, value)
    ]
    return sorted([*found, *dates, *numbers], key=lambda piece: piece.start)


def without(folded: str, found: list[Piece]) -> str:
    """Return the text with the pieces blanked out by a character that is no part of anything."""
    for piece in found:
        folded = folded[: piece.start] + "\0" * (piece.end - piece.start) + folded[piece.end :]
    return folded


def is_path(text: str) -> bool:
    """Tell whether a quoted text reads like the path of a file."""
    return bool(
        re.fullmatch(r"[^\n<>|*?\"]*(?:\.[A-Za-z][A-Za-z0-9]{0,7}|/)|[~.]{0,2}/[^\n]+", text)
    )


def _marked(text: str, folded: str) -> Any:
    for match in _PIECE.finditer(mark(folded)):
        kind = str(match.lastgroup)
        start, end = match.span(kind)
        kind = "path" if kind == "unspaced" else kind
        if kind in ("url", "domain", "path"):
            end = start + len(folded[start:end].rstrip(_TRAILING))
        if kind.startswith("quoted") or kind == "fenced":
            yield Piece("quoted", text[start:end].strip(), match.start(), match.end())
        elif end > start:
            yield Piece(kind, text[start:end], start, end)


def _number(folded: str, match: re.Match[str], value: float) -> Piece:
    """Return a number with its sign."""
    sign = _SIGN.search(folded[: match.start()])
    if sign is None:
        return Piece("number", value, match.start(), match.end())
    return Piece("number", -value, sign.start(), match.end())


def _is_apart(folded: str, match: re.Match[str], value: float) -> bool:
    """Tell whether a number is no part of a word; 一 and สอง are parts of many."""
    if not match[0][0].isascii():
        return value > _DIGIT or _beside_nothing(folded, match.start(), match.end())
    before, after = folded[: match.start()][-1:], folded[match.end() :][:1]
    return not (before == "." or _is_latin(before) or (_is_latin(after) and match[0][-1].isalpha()))


def _beside_nothing(folded: str, start: int, end: int) -> bool:
    around = folded[max(0, start - 1) : start] + folded[end : end + 1]
    return not any(is_unspaced(character) for character in around)


def _is_latin(character: str) -> bool:
    return character.isalnum() and fold(character).isascii()
