"""The tool section of a prompt, for agents that call tools in text."""

from collections.abc import Iterable
from typing import Any

from openjarvis.toolkit.base import Tool, ToolSpec


def build_tool_descriptions(
    tools: Iterable[Tool], include_category: bool = True, include_cost: bool = False
) -> str:
    """Return the Markdown that tells a model which tools there are and how to fill them."""
    sections = [
        "\n".join(_lines(tool.spec, include_category=include_category, include_cost=include_cost))
        for tool in tools
    ]
    return "\n\n".join(sections) or "No tools available."


def _lines(spec: ToolSpec, *, include_category: bool, include_cost: bool) -> list[str]:
    lines = [f"### {spec.name}", spec.description]
    if include_category and spec.category:
        lines.append(f"Category: {spec.category}")
    if include_cost and spec.cost_estimate:
        lines.append(f"Cost estimate: ${spec.cost_estimate:.4f}")
    if include_cost and spec.latency_estimate:
        lines.append(f"Latency estimate: {spec.latency_estimate:.1f}s")
    properties = spec.parameters.get("properties") or {}
    required = spec.parameters.get("required") or ()
    if properties:
        lines.append("Parameters:")
        lines.extend(
            _parameter(
                name, schema, required=name in required, definitions=spec.parameters.get("$defs")
            )
            for name, schema in properties.items()
        )
    if spec.examples:
        lines.append("Examples:")
        lines.extend(
            f"  - {example if isinstance(example, str) else example[0]}"
            for example in spec.examples
        )
    return lines


def _parameter(name: str, schema: Any, *, required: bool, definitions: Any) -> str:
    kind = type_name(schema, definitions)
    detail = f"{kind}, required" if required else kind
    description = schema.get("description", "") if isinstance(schema, dict) else ""
    return f"  - {name} ({detail})" + (f": {description}" if description else "")


def type_name(schema: Any, definitions: Any = None) -> str:
    """Return the types that a JSON Schema admits, in words: `integer`, `string or null`, `any`.

    `definitions` are the `$defs` that its references point to.
    """
    if not isinstance(schema, dict):
        return "any"
    named = schema.get("type")
    if isinstance(named, str):
        return named
    if isinstance(named, list):
        return " or ".join(named)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return " or ".join(dict.fromkeys(type_name(branch, definitions) for branch in branches))
    if "$ref" in schema:
        target = (definitions or {}).get(str(schema["$ref"]).removeprefix("#/$defs/"), {})
        named = isinstance(target, dict) and ("type" in target or "enum" in target)
        return type_name(target) if named else "object"
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(dict.fromkeys(json_type(value) for value in values))
    return "any"


def json_type(value: Any) -> str:
    """Return the JSON Schema name of a value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list | tuple) else "object"
