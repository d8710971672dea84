"""The grammar of a tool call written like a function call: `get_weather(city="Oslo", days=3)`.

Values are JSON's, strings in single quotes, and Python's `True`, `False` and `None`; anything that
would have to be computed is refused. Nothing is evaluated.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Offered = Mapping[str, Sequence[str]]
"""The names of the tools that the model may call, each with the names of its parameters."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=\s*")
_NOT_SPACE = re.compile(r"\S|\Z")
_SINGLE_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_BARE_QUOTE = re.compile(r'(?<!\\)"')
_PYTHON_WORD = re.compile(r"(True|False|None)\b")
_PYTHON_VALUES = {"True": True, "False": False, "None": None}
_decode = json.JSONDecoder(strict=False).raw_decode


class NotWritten(Exception):
    """Text that is no such call of an offered tool."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call, and the position behind its closing parenthesis."""

    name: str
    arguments: dict[str, Any]
    end: int


def read_call(text: str, position: int, offered: Offered) -> WrittenCall:
    """Return the call that begins at `position`.

    Arguments without a keyword go to the tool's parameters in their order.

    Raises:
        NotWritten: when none begins there, or it has an argument that the tool has not.
    """
    named = _NAME.match(text, position)
    if named is None or named[0] not in offered:
        raise NotWritten
    arguments: dict[str, Any] = {}
    position = skip_space(text, expect(text, named.end(), "("))
    while not text.startswith(")", position):
        position = _read_argument(text, position, arguments, offered[named[0]])
        position = skip_space(text, position)
        if not text.startswith(")", position):
            position = skip_space(text, expect(text, position, ","))
    return WrittenCall(named[0], arguments, position + 1)


def _read_argument(
    text: str, position: int, arguments: dict[str, Any], parameters: Sequence[str]
) -> int:
    """Add the argument at `position` to `arguments`; return where it ends."""
    keyword = _KEYWORD.match(text, position)
    if keyword is not None:
        key, position = keyword[1], keyword.end()
    elif list(arguments) == list(parameters[: len(arguments)]) and len(arguments) < len(parameters):
        key = parameters[len(arguments)]
    else:
        raise NotWritten
    if key in arguments or key not in parameters:
        raise NotWritten
    arguments[key], position = _read_value(text, position)
    return position


def _read_value(text: str, position: int) -> tuple[Any, int]:
    word = _PYTHON_WORD.match(text, position)
    if word is not None:
        return _PYTHON_VALUES[word[1]], word.end()
    quoted = _SINGLE_QUOTED.match(text, position)
    try:
        if quoted is None:
            return _decode(text, position)
        as_json = _BARE_QUOTE.sub(r'\\"', quoted[1].replace("\\'", "'"))
        return json.loads(f'"{as_json}"', strict=False), quoted.end()
    except (ValueError, RecursionError):
        raise NotWritten from None


def skip_space(text: str, position: int) -> int:
    """Return the position of the first character at or after `position` that is no white space."""
    found = _NOT_SPACE.search(text, position)
    return found.start() if found else len(text)


def expect(text: str, position: int, character: str) -> int:
    """Return the position behind `character`.

    Raises:
        NotWritten: when it does not stand at `position`.
    """
    if not text.startswith(character, position):
        raise NotWritten
    return position + 1
