"""Words: how text becomes the terms that the databases index and that a query asks for.

Everything here is pure. `document_terms` gives what a document is indexed under, `parse_query` what
a query looks for; `unit_spans` gives the pieces between which a text may be cut.

- Letters are folded: case, width, accents, and the digits of other scripts.
- A word written with `.`, `-`, `_`, `/` and the like, or in camelCase, is indexed whole (so that
  `max_retries`, `max-retries` and `maxRetries` are one) and by its parts.
- Scripts without spaces are indexed by each pair of neighbouring characters (with their marks), and
  a query asks for its pairs. So any word inside a text is found, with no dictionary. A character
  that stands alone in a query is found as the first of a pair, or as the last of a text.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from operator import add
from typing import NamedTuple

from openjarvis.memory.scripts import (
    ACCENTS,
    INVISIBLE,
    LETTERS,
    MARKS_OF_UNSPACED,
    MARKS_OF_WORDS,
    UNSPACED,
)

VERSION = f"1.{unicodedata.unidata_version}"
"""Changes when the terms of a text may; databases then index their documents again."""

LONGEST_TERM = 100
"""A longer term is cut here, in documents and queries alike; base64 and the like are such."""

MOST_QUERY_TERMS = 64
"""A query is searched by its first distinct terms, this many."""

_LONGEST_QUERY = 20_000  # characters; what is behind them cannot matter to the first terms

_LETTER = rf"(?:[^\W_]|[{MARKS_OF_WORDS}])"
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_ACCENTS = re.compile(f"[{ACCENTS}]+")
_RUN = re.compile(f"[{UNSPACED}]+")
_CHARACTER = re.compile(f".[{MARKS_OF_UNSPACED}]*")

_COMPOUND = re.compile(rf"{_LETTER}+(?:[._/\\:@'+-]+{_LETTER}+)*(?:(?:\+\+|#)(?!\w))?")
_BETWEEN_COMPONENTS = re.compile(r"[/\\:@]+")
_BETWEEN_WORDS = re.compile(r"[._'+#-]+")
_PART = re.compile(rf"\d+|[A-Z]+(?![a-z])|[A-Z]?(?:(?![A-Z\d]){_LETTER})+")
_GROUPED_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:,\d{3})+(?!\d)")
_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_JOINERS = re.compile(r"[._/\\:@'-]|\+(?=\+*\w)")
# What keeps 3.11 apart from 311 and C++ from C. Folding leaves no such sign in a text, and no
# tokenizer of a database takes them for a separator.
_KEPT_SIGNS = str.maketrans({"+": "\uff0b", "#": "\uff03"})
_KEPT_POINT = "\u2024"


# A character with all that belongs to it: marks, joined letters and emoji, both halves of a flag.
# Possessive throughout, so that hostile text costs no more than its length.
_FOLLOWING = rf"[{ACCENTS}{INVISIBLE}\u20d0-\u20ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e01ef]"
_JOINED = r"(?<=[\u200d\u17d2\u1039])"
_SIGN = rf"(?:[^\w\s{UNSPACED}{MARKS_OF_WORDS}]|_){_FOLLOWING}*+"
_SYMBOL = rf"(?>[\U0001f1e6-\U0001f1ff]{{2}}|{_SIGN}(?:{_JOINED}{_SIGN})*+)"
_IN_WORD = rf"(?![{UNSPACED}]){_LETTER}(?:{_FOLLOWING}|(?!\w)[{MARKS_OF_WORDS}])*+"
# The vowel "am" of Thai and Lao is written on its letter, though it is no mark to Unicode.
_UNSPACED = rf"[{UNSPACED}](?:{_FOLLOWING}|[{MARKS_OF_UNSPACED}\u0e33\u0eb3])*+"
_UNIT = re.compile(
    rf"{_SYMBOL}{{0,8}}+"
    rf"(?:{_UNSPACED}(?:{_JOINED}{_UNSPACED})*+|(?:{_IN_WORD}(?:{_JOINED}{_IN_WORD})*+){{1,64}}+)"
    rf"{_SYMBOL}{{0,32}}+|{_SYMBOL}{{1,64}}+"
)


def is_older(version: str) -> bool:
    """Tell whether terms of this version of the segmenter are to be made anew.

    Those of a newer one are kept, so that two programs do not undo each other's work.
    """
    return _numbers(version) < _numbers(VERSION)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


class Query(NamedTuple):
    """A query, ready to search with.

    `terms` are looked up as they are, `characters` as what terms begin with. `windows` are the
    pieces of a few characters in which its text in scripts without spaces stands, folded: the more
    of them a text holds, the likelier it has the words.
    """

    terms: tuple[str, ...]
    characters: tuple[str, ...]
    windows: tuple[str, ...]


def document_terms(text: str) -> list[str]:
    """Return the terms that `text` is indexed under, with repetitions, in no special order."""
    return terms_of_folded(fold(text))


def terms_of_folded(folded: str) -> list[str]:
    """Return the terms of a text that `fold` gave."""
    if folded.isascii():
        return _spaced_terms(folded)
    found = _spaced_terms(_RUN.sub(" ", folded))
    for run in _runs(folded):
        found += map(add, run, run[1:])
        found.append(run[-1])
    return found


def characters_of(folded: str) -> list[str]:
    """Return the characters in scripts without spaces of a text that `fold` gave."""
    return [character for run in _runs(folded) for character in run]


def parse_query(text: str) -> Query:
    """Return what a search for `text` looks up: no terms when there is no word in it."""
    folded = fold(text[:_LONGEST_QUERY])
    found = _spaced_terms(_RUN.sub(" ", folded))
    characters: list[str] = []
    windows: list[str] = []
    for run in _runs(folded):
        if len(run) > 1:
            found += _pieces(run, 2)
        else:
            characters += run
        windows += _pieces(run, 3)
    return Query(*map(_distinct, (found, characters, windows)))


def fold(text: str) -> str:
    """Return `text` without accents, width variants, other scripts' digits and invisible signs.

    Case is kept: it separates the words of an identifier.
    """
    if text.isascii():
        return text
    visible = _INVISIBLE.sub("", text).translate(LETTERS)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", visible)))


def _runs(folded: str) -> Iterator[list[str]]:
    for run in _RUN.findall(folded):
        yield _CHARACTER.findall(run)


def _pieces(run: list[str], size: int) -> list[str]:
    """Return every piece of `size` neighbours; the whole when there are no more than that."""
    return ["".join(run[start : start + size]) for start in range(max(len(run) - size + 1, 1))]


def _distinct(found: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))[:MOST_QUERY_TERMS]


def _spaced_terms(text: str) -> list[str]:
    found: list[str] = []
    for token in text.split():
        # Most tokens are plain words; they need no analysis.
        if token.isascii() and token.isalpha() and token.islower():
            found.append(token[:LONGEST_TERM])
        elif len(token) <= LONGEST_TERM:
            found += _terms_of_known_token(token)
        else:
            found += _terms_of_token(token)
    return found


@lru_cache(maxsize=8192)
def _terms_of_known_token(token: str) -> tuple[str, ...]:
    return _terms_of_token(token)


def _terms_of_token(token: str) -> tuple[str, ...]:
    found = [number.replace(",", "") for number in _GROUPED_NUMBER.findall(token)]
    for compound in _COMPOUND.findall(token):
        found += _terms_of_compound(compound)
    return tuple(term.casefold()[:LONGEST_TERM] for term in found)


def _terms_of_compound(compound: str) -> Iterator[str]:
    """Yield a path whole, each of its components whole, their words whole, and the words' parts."""
    components = list(filter(None, _BETWEEN_COMPONENTS.split(compound)))
    if len(components) > 1:
        yield _joined(compound)
    for component in components:
        words = list(filter(None, _BETWEEN_WORDS.split(component)))
        if len(words) > 1 or component.endswith(("+", "#")):
            yield _joined(component)
        for word in words:
            parts = _PART.findall(word)
            if len(parts) > 1:
                yield word
            yield from parts


def _joined(compound: str) -> str:
    return _JOINERS.sub("", _POINT.sub(_KEPT_POINT, compound)).translate(_KEPT_SIGNS)


def unit_spans(text: str) -> list[tuple[int, int]]:
    """Return where the units of `text` begin and end, in order.

    A unit is a word with the punctuation at it, or one character of a script without spaces. No
    unit begins inside a character and its marks, nor inside a joined sequence such as a flag.
    """
    return [match.span() for match in _UNIT.finditer(text)]
