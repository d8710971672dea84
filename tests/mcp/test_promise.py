"""What a server promised of structured content is checked where that takes no time."""

from typing import Any

import pytest
from mcp.types import CallToolResult

from openjarvis.mcp.promise import Promise


def fault(schema: dict[str, Any], content: Any) -> str:
    answer = CallToolResult(content=[], structured_content=content)
    return Promise(schema, owner="s__t").fault(answer)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"n": 1}, ""),
        ({"n": "one"}, "its structured content is not as promised: "),
        ({}, "its structured content is not as promised: "),
    ],
)
def test_a_promise_is_kept_or_not(content: dict[str, Any], words: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    told = fault(schema, content)

    assert told.startswith(words) if words else told == ""


def test_no_more_faults_are_looked_for_than_can_be_told() -> None:
    many = {"type": "object", "required": [f"a{n}" for n in range(900)]}

    told = fault({"properties": {"x": {"items": many}}}, {"x": [{} for _ in range(3_000)]})

    assert told == "its structured content is not as promised"
