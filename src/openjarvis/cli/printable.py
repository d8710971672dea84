"""Any value of a tool or an agent made one that JSON can write, so that no result is lost."""

import json
import math
from typing import Any

_DEEPEST = 100
_CUT = "…"


def printable(value: Any) -> Any:
    """Return `value` as JSON values only.

    What holds itself, or is nested past 100 levels, ends in "…"; NaN and infinities become null;
    keys and everything else become text.
    """
    return _written(value, ())


def _written(value: Any, above: tuple[int, ...]) -> Any:
    try:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            return _number(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else None
        if isinstance(value, dict | list | tuple):
            if id(value) in above or len(above) >= _DEEPEST:
                return _CUT
            return _container(value, (*above, id(value)))
        return str.__str__(str(value))
    except Exception:  # noqa: BLE001 - a value may be anybody's, and its methods raise anything
        return f"<{type(value).__name__}>"


def _container(
    value: "dict[Any, Any] | list[Any] | tuple[Any, ...]", above: tuple[int, ...]
) -> Any:
    if not isinstance(value, dict):
        return [_written(item, above) for item in list(value)]
    members: dict[str, Any] = {}
    for key, item in list(value.items()):
        name = _key(key)
        # Keys of other kinds may look alike as text; neither takes the place of the other.
        members[f"{name} ({len(members)})" if name in members else name] = _written(item, above)
    return members


def _key(key: Any) -> str:
    written = key if isinstance(key, tuple | list | dict) else _written(key, ())
    if isinstance(written, str):
        return written
    if written is None or isinstance(written, int | float):
        return json.dumps(written)
    try:
        return str(key)
    except Exception:  # noqa: BLE001 - as above
        return f"<{type(key).__name__}>"


def _number(value: int) -> int | str:
    try:
        int.__repr__(value)
    except ValueError:  # Python writes no more than some thousands of digits
        return hex(value)
    return int(value)
