"""The grammar in which a model can write nothing but text or a valid call of an offered tool.

In llguidance's Lark, which llama.cpp follows while it generates. Pure.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from openjarvis.toolkit.check import closed

# No white space between the tokens of JSON: small models would write it without end. What the
# grammar cannot keep to (some formats) is checked when the call arrives.
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
        said = json.dumps({**closed(schema), "x-guidance": _HOW}, ensure_ascii=False)
        lines.append(f"arguments_{number}: %json {said}")
    return "\n".join(lines)
