"""A manifest's `parameters` as the JSON Schema of a tool's arguments."""

from collections.abc import Mapping
from typing import Any

from openjarvis.core.errors import ToolDefinitionError

_PYTHON_TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "None": "null",
}


def schema_of(parameters: Any, owner: str) -> dict[str, Any]:
    """Return the JSON Schema that a manifest's `parameters` stand for.

    Raises:
        ToolDefinitionError: when they are of no known form; the text names `owner` and the
            parameter.
    """
    if not isinstance(parameters, Mapping):
        raise ToolDefinitionError(
            f"{owner}: `parameters` must map each name to its meaning or to a JSON Schema, "
            f"got {type(parameters).__name__}."
        )
    if parameters.get("type") == "object" and not isinstance(parameters.get("properties", {}), str):
        return {**parameters, "properties": parameters.get("properties", {})}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, meaning in parameters.items():
        properties[name], needed = _property(name, meaning, owner)
        if needed:
            required.append(name)
    whole: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        whole["required"] = required
    return whole


def _property(name: Any, meaning: Any, owner: str) -> tuple[dict[str, Any], bool]:
    """Return the schema of one parameter, and whether it is required."""
    if not isinstance(name, str):
        raise ToolDefinitionError(f"{owner}: the parameter name {name!r} must be text.")
    if isinstance(meaning, str):
        return {"type": "string", "description": meaning}, True
    if not isinstance(meaning, Mapping):
        raise ToolDefinitionError(
            f"{owner}: the parameter {name!r} must be given its meaning as text or a JSON Schema "
            f"as a dict, got {type(meaning).__name__}."
        )
    schema = dict(meaning)
    marker = schema.get("required")
    # In JSON Schema `required` is a list of members; as true or false it is the manifest's own.
    if isinstance(marker, bool):
        del schema["required"]
    else:
        marker = "default" not in schema
    _refuse_python_type(name, schema.get("type"), owner)
    return schema, marker


def _refuse_python_type(name: str, named: Any, owner: str) -> None:
    if isinstance(named, str) and named in _PYTHON_TYPES:
        raise ToolDefinitionError(
            f"{owner}: the parameter {name!r} has the type {named!r}; JSON Schema writes "
            f"{_PYTHON_TYPES[named]!r}."
        )
