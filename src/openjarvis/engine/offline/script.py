"""Text as the `offline` engine reads it: folded, cut into words, those cut to their stems.

Folding keeps the length, so that a place in the folded text is the same place in the request.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_UNSPACED = (
    ("\u0e00", "\u0eff"),  # Thai, Lao
    ("\u1000", "\u109f"),  # Myanmar
    ("\u1780", "\u17ff"),  # Khmer
    ("\u3005", "\u3005"),  # 々
    ("\u3040", "\u30ff"),  # kana
    ("\u3400", "\u9fff"),  # Han
    ("\uac00", "\ud7af"),  # Hangul, whose words carry their particles
)
MARK = "\ue000"
"""What `mark` puts in place of a letter of an unspaced script."""

_THAI_GRAM = 4
HAN_GRAM = 2
_LAST_WORD = re.compile(r"([^\W\d_]+)[\s=:'\"]*$")
_NEAR = 40
_WORD = re.compile(rf"(?P<run>{MARK}+)|(?P<word>[^\W\d_]+)|(?P<number>\d+(?:[.,]\d+)*)")


class Word(NamedTuple):
    """A word, a number, or a run of an unspaced script, at its place in the text."""

    kind: str
    text: str
    start: int
    end: int


class _Folding(dict[int, str]):
    """Maps a character to the one it reads like: lower case, no accent, an ASCII digit."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = _folded_character(character)
        self[code] = folded
        return folded


def _folded_character(character: str) -> str:
    digit = unicodedata.digit(character, None)
    if digit is not None and character.isdecimal():
        return str(digit)
    if is_unspaced(character):
        return character  # marks are letters there, not ornaments
    for form in ("NFKC", "NFKD"):
        narrowed = unicodedata.normalize(form, character)
        base = narrowed[0] if form == "NFKD" else narrowed
        if len(base) == 1 and len(base.lower()) == 1:
            character = base.lower()
    return {"’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "–": "-"}.get(character, character)


_FOLDING = _Folding()


def composed(text: str) -> str:
    """Return `text` with each accented letter as one character."""
    return unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    """Return `text` in lower case, without accents, with ASCII digits; the length stays."""
    return text.translate(_FOLDING)


def word_before(folded: str, place: int) -> str:
    """Return the word that ends right before a place, or ""."""
    found = _LAST_WORD.search(folded[max(0, place - _NEAR) : place])
    return found[1] if found else ""


def is_unspaced(character: str) -> bool:
    """Tell whether a character is a letter or a mark of a script without spaces between words."""
    return any(first <= character <= last for first, last in _UNSPACED)


class _Marking(dict[int, str]):
    """Maps the letters of unspaced scripts to `MARK`, which is no letter to a pattern."""

    def __missing__(self, code: int) -> str:
        marked = self[code] = MARK if is_unspaced(chr(code)) else chr(code)
        return marked


_MARKING = _Marking()


def mark(folded: str) -> str:
    r"""Return a folded text in which `\w` finds no letter of an unspaced script.

    Character classes with these scripts in them take long to compile; this needs none.
    """
    return folded.translate(_MARKING)


def words(folded: str) -> list[Word]:
    """Return the words, numbers and unspaced runs of a folded text, in order."""
    return [
        Word(str(match.lastgroup), folded[slice(*match.span())], *match.span())
        for match in _WORD.finditer(mark(folded))
    ]


_SUFFIXES = (
    ("ies", "", 5),
    ("ations", "at", 8),
    ("ation", "at", 7),
    ("ions", "", 7),
    ("ion", "", 6),
    ("ings", "", 7),
    ("ing", "", 6),
    ("ors", "", 7),
    ("or", "", 7),
    ("ed", "", 5),
    ("es", "", 5),
    ("s", "", 4),
    ("y", "", 4),
)


_IRREGULAR = {"news": "news", "dice": "die", "people": "person", "children": "child"}


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return what the forms of an English word share: `rain` for `raining` and `rains`."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for suffix, instead, least in _SUFFIXES:
        if len(word) >= least and word.endswith(suffix) and not word.endswith("ss"):
            word = word[: -len(suffix)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def gram_size(run: str) -> int:
    """Return how many characters an n-gram of this script has."""
    return HAN_GRAM if run[0] >= "\u3000" else _THAI_GRAM
