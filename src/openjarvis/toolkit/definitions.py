"""The `$defs` of a tool, gathered from the schemas of its parameters."""

from itertools import count
from typing import Any

_REFERENCE = "#/$defs/"


def hoisted(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` with its `$defs` moved to those of the whole tool.

    They move together: where one name is taken by another definition, all get a number, since equal
    definitions may still refer to different ones.
    """
    own = schema.get("$defs")
    if not own:
        return dict(schema)
    for number in count(1):
        renamed = {name: name if number == 1 else f"{name}_{number}" for name in own}
        moved = {renamed[name]: _with_references(own[name], renamed) for name in own}
        if all(definitions.get(name, moved[name]) == moved[name] for name in moved):
            break
    definitions.update(moved)
    rest = {key: value for key, value in schema.items() if key != "$defs"}
    return dict(_with_references(rest, renamed))


def _with_references(schema: Any, renamed: dict[str, str]) -> Any:
    if isinstance(schema, str):
        name = schema.removeprefix(_REFERENCE)
        return _REFERENCE + renamed[name] if name != schema and name in renamed else schema
    if isinstance(schema, list):
        return [_with_references(item, renamed) for item in schema]
    if isinstance(schema, dict):
        return {key: _with_references(value, renamed) for key, value in schema.items()}
    return schema
