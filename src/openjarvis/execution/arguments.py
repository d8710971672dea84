"""From the text that a model wrote to a JSON object: strict first, then a bounded repair.

A repair changes how a complete text is written (fences, quotes, commas, Python's literals, an
object encoded twice). It never completes a text that was cut off: half a call is not a call.
Python's own parser reads what is not JSON, since a lenient JSON parser guesses, and a guessed
argument would run.
"""

import ast
import re
from typing import Any, NamedTuple

from openjarvis.core import strict_json
from openjarvis.core.strict_json import JSONRefused
from openjarvis.toolkit.check import ArgumentsError, Quotes

MAX_REPAIRED_CHARACTERS = 50_000
"""Longer texts are read strictly or not at all."""

_FENCE = re.compile(r"\A\s*```[A-Za-z0-9_-]*\s*(.*?)\s*```\s*\Z", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SHARED_ESCAPES = frozenset("\"'\\bfnrtu")
"""What may follow a backslash and means the same in JSON and in Python."""
_CLOSES = {"{": "}", "[": "]"}


class Parsed(NamedTuple):
    """The arguments of a call, and the text that was read where it is not the model's own."""

    arguments: dict[str, Any]
    repaired: str | None


def parse(text: Any) -> Parsed:
    """Return the JSON object that `text` holds; an empty text is an empty object.

    Raises:
        ArgumentsError: "Invalid arguments JSON: …" or "Invalid arguments: expected a JSON
            object, got int.", whole sentences for the model.
    """
    if not isinstance(text, str):
        raise ArgumentsError([f"Invalid arguments JSON: expected text, got {_kind(text)}."])
    if not text or text.isspace():
        return Parsed({}, None)
    try:
        value, repaired = strict_json.loads(text), None
    except JSONRefused as refusal:
        value, repaired = _repair(text, refusal)
    if isinstance(value, str):
        value, repaired = _decoded_again(value, repaired)
    if not isinstance(value, dict):
        raise ArgumentsError(
            [f"Invalid arguments: expected a JSON object, got {type(value).__name__}."]
        )
    return Parsed(value, repaired)


def _decoded_again(value: str, repaired: str | None) -> tuple[Any, str | None]:
    """Return the object in a text that was encoded twice, or the text itself."""
    inner = value.strip()
    if inner.startswith("{"):
        try:
            return strict_json.loads(inner), inner
        except JSONRefused as refusal:
            return _repair(inner, refusal)
    return value, repaired


def _repair(text: str, refusal: JSONRefused) -> tuple[Any, str]:
    """Return the value of a text that is JSON but for the way it is written."""
    if len(text) <= MAX_REPAIRED_CHARACTERS:
        unfenced = _FENCE.sub(r"\1", text).strip()
        for candidate in dict.fromkeys((unfenced, *_rewritten(unfenced))):
            try:
                return strict_json.loads(candidate), candidate
            except JSONRefused:
                continue
    shown = Quotes().text(text.strip())
    raise ArgumentsError(
        [f"Invalid arguments JSON: {refusal}. Write one JSON object. Got: {shown}"]
    ) from refusal


def _rewritten(text: str) -> list[str]:
    """Return the readings of a whole `text` that is spelt as Python, or nearly as JSON."""
    if not _is_whole(text):
        return []
    rewritten = _without_trailing_commas(text)
    python = _from_python(text)
    return [rewritten, *([python] if python is not None else [])]


def _is_whole(text: str) -> bool:
    """Tell whether every bracket and quote that is opened in `text` is closed, in order, once.

    A text that ends early fails here, whatever a lenient parser would make of it.
    """
    if not text or text[0] not in _CLOSES:
        return False
    expected: list[str] = []
    quote = ""
    escaped = False
    for position, character in enumerate(text):
        if quote:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in _CLOSES:
            if len(expected) >= strict_json.MAX_DEPTH:
                return False
            expected.append(_CLOSES[character])
        elif character in "}]":
            if not expected or character != expected.pop():
                return False
            if not expected:
                return position == len(text) - 1
    return False


def _without_trailing_commas(text: str) -> str:
    """Return `text` without the commas before a closing bracket, those inside strings kept."""
    return re.sub(
        r'("(?:[^"\\]|\\.)*")|,(\s*[}\]])',
        lambda found: found[1] or found[2],
        text,
        flags=re.DOTALL,
    )


def _from_python(text: str) -> str | None:
    """Return the JSON of a Python (or half Python, half JSON) literal, or None."""
    if any(escaped not in _SHARED_ESCAPES for escaped in _ESCAPE.findall(text)):
        return None
    swapped = re.sub(
        r"('(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")|\b(true|false|null)\b",
        lambda found: found[1] or {"true": "True", "false": "False", "null": "None"}[found[2]],
        text,
    )
    try:
        tree = ast.parse(swapped, mode="eval").body
        return _json_of(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _json_of(node: ast.expr) -> str:
    """Return a literal as JSON text; duplicate keys stay, for the strict reader to refuse."""
    if isinstance(node, ast.Dict):
        if None in node.keys:
            raise ValueError("a ** in a literal")
        pairs = zip(node.keys, node.values, strict=True)
        return "{" + ", ".join(f"{_key(key)}: {_json_of(value)}" for key, value in pairs) + "}"
    if isinstance(node, ast.List | ast.Tuple):
        return "[" + ", ".join(map(_json_of, node.elts)) + "]"
    value = ast.literal_eval(node)
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError("not a JSON value")
    return strict_json.dumps(value)


def _key(node: ast.expr | None) -> str:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise ValueError("a key that is no text")
    return strict_json.dumps(node.value)


def _kind(value: Any) -> str:
    return type(value).__name__
