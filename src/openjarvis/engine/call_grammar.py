"""The grammar in which a model can write nothing but text or a valid call of an offered tool.

In llguidance's Lark, which llama.cpp follows while it generates. Pure.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from openjarvis.engine.recursion import unrolled
from openjarvis.toolkit.check import closed

# No white space between the tokens of JSON: small models would write it without end. What the
# grammar cannot keep to (some formats) is checked when the call arrives.
MOST, FINEST, MOST_ITEMS = 10**12, 0.000001, 64
"""Bounds of numbers and lists that have none of their own: a small model would never end them."""
_HOW = {"whitespace_flexible": False, "coerce_one_of": True, "lenient": True}


def call_grammar(tools: Sequence[Mapping[str, Any]], *, must_call: bool = False) -> str:
    """Return the grammar for these function definitions; `must_call` leaves text out."""
    call = '"<tool_call>" call "</tool_call>"'
    lines = ["%llguidance {}", f"start: {call}" if must_call else f"start: {call} | TEXT"]
    if not must_call:
        lines.append(r"TEXT: /[^<](.|\n)*/")
    lines.append("call: " + " | ".join(f"call_{number}" for number in range(len(tools))))
    for number, definition in enumerate(tools):
        function = definition["function"]
        opening = f'{{"name": {json.dumps(function["name"])}, "arguments": '
        lines.append(f'call_{number}: {json.dumps(opening)} arguments_{number} "}}"')
        schema = {"type": "object", **(function.get("parameters") or {"properties": {}})}
        said = json.dumps(
            {**bounded(unrolled(closed(schema))), "x-guidance": _HOW}, ensure_ascii=False
        )
        lines.append(f"arguments_{number}: %json {said}")
    return "\n".join(lines)


def bounded(schema: Any) -> Any:
    """Return a schema whose numbers and lists come to an end."""
    if not isinstance(schema, Mapping):
        return schema
    result = dict(schema)
    kind = result.get("type")
    if kind in ("integer", "number"):
        if not result.keys() & {"minimum", "exclusiveMinimum"}:
            result["minimum"] = -MOST
        if not result.keys() & {"maximum", "exclusiveMaximum"}:
            result["maximum"] = MOST
    if kind == "number":
        result.setdefault("multipleOf", FINEST)
    if kind == "array":
        result.setdefault("maxItems", max(MOST_ITEMS, result.get("minItems", 0)))
    for keyword in ("properties", "$defs", "definitions"):
        inner = result.get(keyword)
        if isinstance(inner, Mapping):
            result[keyword] = {name: bounded(entry) for name, entry in inner.items()}
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if isinstance(result.get(keyword), list):
            result[keyword] = [bounded(entry) for entry in result[keyword]]
    for keyword in ("items", "additionalProperties"):
        if keyword in result:
            result[keyword] = bounded(result[keyword])
    return result
