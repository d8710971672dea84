"""JSON as RFC 8259 has it and nothing more: hostile text is refused with what is wrong.

Refused beside syntax errors: NaN and infinities, duplicate keys, nesting past `MAX_DEPTH`, texts
past `MAX_CHARACTERS`, numbers that Python will not convert, and unpaired surrogates, which no file
or socket would take.
"""

import json
import math
import re
from typing import Any, NoReturn

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 64

# Possessive, and content with a string that never ends: so it is linear on any text.
_STRINGS = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKETS = re.compile(r"[{}\[\]]+")
_WHITE_SPACE = " \t\n\r"


class JSONRefused(ValueError):
    """Text that is not acceptable JSON; the message says why and, for syntax, where."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise JSONRefused(f"the key {twice[:40]!r} appears twice")
    return members


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise JSONRefused("a number is too large for a double")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise JSONRefused(f"{name} is not JSON")


_decode = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_refuse_constant
).raw_decode


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def loads(text: str) -> Any:
    """Return the value of `text`.

    Raises:
        JSONRefused: when it is not acceptable JSON.
    """
    if len(text) > MAX_CHARACTERS:
        raise JSONRefused(f"the text has {len(text):,} characters; at most {MAX_CHARACTERS:,} pass")
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_too_deep(text):
        raise JSONRefused(f"nested deeper than {MAX_DEPTH} levels")
    start = len(text) - len(text.lstrip(_WHITE_SPACE))
    try:
        value, end = _decode(text, start)
    except json.JSONDecodeError as error:
        raise JSONRefused(f"{error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise JSONRefused(f"nested deeper than {MAX_DEPTH} levels") from None
    except JSONRefused:
        raise
    except ValueError:
        raise JSONRefused("a number has too many digits") from None
    if extra := text[end:].lstrip(_WHITE_SPACE):
        raise JSONRefused(f"extra text after the value at character {len(text) - len(extra) + 1}")
    if not text.isascii() or "\\u" in text:
        _refuse_surrogates(value)
    return value


def _is_too_deep(text: str) -> bool:
    brackets = "".join(_BRACKETS.findall(_STRINGS.sub("", text)))
    brackets = brackets.replace("{", "[").replace("}", "]")
    for _ in range(MAX_DEPTH):  # each round takes the innermost level away
        fewer = brackets.replace("[]", "")
        if len(fewer) == len(brackets):  # what is left has no partner: the parser will say so
            break
        brackets = fewer
    return "[]" in brackets or brackets.count("[") > MAX_DEPTH


def _refuse_surrogates(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        code = f"\\u{ord(error.object[error.start]):04x}"
        raise JSONRefused(f"the unpaired surrogate {code} is not a character") from None


def dumps(value: Any) -> str:
    """Return `value` as JSON text, other scripts as they are.

    Raises:
        ValueError: for NaN and infinities.
        TypeError: for what JSON has no place for.
    """
    return _encode(value)
