"""A JSON value as another type where nothing is lost: "3" is 3, "true" is true, 3 is [3]."""

import re
from decimal import Decimal
from typing import Any

from openjarvis.core import strict_json

NOTHING = object()
"""What `coerce` returns where the value cannot be the type without a loss."""

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,3})?")


def coerce(value: Any, expected: str) -> Any:
    """Return `value` as the JSON type `expected` where nothing is lost, else `NOTHING`."""
    if isinstance(value, str):
        return _from_text(value, expected)
    if expected == "array" and not isinstance(value, list | None):
        return [value]
    return NOTHING


def _from_text(value: str, expected: str) -> Any:
    text = value.strip()
    if expected == "integer" and _INTEGER.fullmatch(text):
        return int(text)
    if expected == "number" and _NUMBER.fullmatch(text):
        return int(text) if _INTEGER.fullmatch(text) else _exact(text)
    if expected == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if expected == "null" and text in ("null", "None"):
        return None
    if expected == "array":
        return _decoded(text) if text.startswith("[") else [value]
    if expected == "object" and text.startswith("{"):
        return _decoded(text)
    return NOTHING


def _exact(text: str) -> Any:
    number = float(text)
    return number if Decimal(repr(number)) == Decimal(text) else NOTHING


def _decoded(text: str) -> Any:
    """Return the array or object that a model wrote as a string of JSON.

    A text that only begins like one was cut off, and half of a list is not a list of one.
    """
    try:
        return strict_json.loads(text)
    except strict_json.JSONRefused:
        return NOTHING
