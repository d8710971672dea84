"""Schemas that hold themselves, written out to a bounded depth. Pure.

A small model that may nest for ever does, until its tokens end in the middle of a call.
"""

from collections.abc import Iterator, Mapping
from typing import Any

MOST_LEVELS = 6
"""How deep a schema may stand within itself."""
_PLACES = ("$defs", "definitions")


def unrolled(root: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which what holds itself does so at most `MOST_LEVELS` deep."""
    targets = _targets(root)
    held = {name: set(_references(schema)) & targets.keys() for name, schema in targets.items()}
    recursive = sorted(name for name in targets if name in _reached(name, held))
    if not recursive:
        return root
    numbers = {name: number for number, name in enumerate(recursive)}
    copies = {
        _copy(numbers[name], level): _written(targets[name], numbers, level + 1)
        for name in recursive
        for level in range(1, MOST_LEVELS + 1)
    }
    rest = _written(root, numbers, 1)
    return {**rest, "$defs": {**rest.get("$defs", {}), **copies}}


def _targets(root: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas that can be referred to, by their references."""
    named = {
        f"#/{place}/{name}": schema
        for place in _PLACES
        for name, schema in (root.get(place) or {}).items()
    }
    return {"#": _without_definitions(root), **named}


def _without_definitions(root: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in root.items() if key not in _PLACES}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for entry in value.values():
            yield from _references(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _references(entry)


def _reached(start: str, held: Mapping[str, set[str]]) -> set[str]:
    """Return what a schema holds, and what that holds."""
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        new = held[ahead.pop()] - reached
        reached |= new
        ahead += new
    return reached


def _written(value: Any, numbers: Mapping[str, int], level: int) -> Any:
    """Return a schema that refers to the copies of `level`; past the last one nothing fits."""
    if isinstance(value, Mapping):
        number = numbers.get(value["$ref"]) if isinstance(value.get("$ref"), str) else None
        if number is not None:
            return {"$ref": f"#/$defs/{_copy(number, level)}"} if level <= MOST_LEVELS else False
        return {key: _written(entry, numbers, level) for key, entry in value.items()}
    if isinstance(value, list):
        return [_written(entry, numbers, level) for entry in value]
    return value


def _copy(number: int, level: int) -> str:
    return f"level_{level}_of_{number}"
