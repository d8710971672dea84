"""What a server promises of a tool's structured content, and whether it keeps it.

No other thread of the process runs during a check, and the server has written both sides of it: a
schema of a few kilobytes and an answer of a few more can take for hours. So only small promises are
checked, without patterns and of answers of a bounded size; a server that would deceive keeps its
promises anyway.
"""

from collections.abc import Iterator
from typing import Any, NoReturn

import jsonschema_rs

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.core.strict_json import dumps
from openjarvis.toolkit.effort import Effort, TooMuchEffort

MAX_CHECKED = 100_000
"""How many characters of structured content are checked."""

_MOST_STEPS = 5_000
"""How many steps a check may take that tells what is wrong."""

_COSTLY = frozenset({"pattern", "patternProperties", "uniqueItems"})
"""Keywords whose check takes longer than their value."""


class Promise:
    """The output schema of a tool. Immutable once made; any thread may use it."""

    def __init__(self, schema: dict[str, Any], *, owner: str) -> None:
        """Compile `schema`.

        Raises:
            ToolDefinitionError: when it is no JSON Schema, or takes too long to check against;
                `owner` names the tool.
        """
        try:
            self._effort = Effort(schema)
            self._is_checked = self._effort.is_small and _COSTLY.isdisjoint(_keys(schema))
            self._validator = jsonschema_rs.validator_for(
                schema, mask="the value", retriever=_refuse_to_fetch, validate_formats=False
            )
        except ValueError as error:
            reason = str(error).split("\n", 1)[0]
            raise ToolDefinitionError(
                f"{owner}: its output schema is no JSON Schema: {reason}"
            ) from error

    def fault(self, answer: Any) -> str:
        """Return what is wrong with the structured content of the SDK's result, "" if nothing."""
        content = answer.structured_content
        if content is None and "structured_content" not in answer.model_fields_set:
            return "the structured content that the tool promises is missing"
        try:
            if not self._is_checked or len(dumps(content)) > MAX_CHECKED:
                return ""
            if self._validator.is_valid(content):
                return ""
            self._effort.check_faults(content, most=_MOST_STEPS)
            error = next(self._validator.iter_errors(content))
        except TooMuchEffort:
            return "its structured content is not as promised"
        except (ValueError, RecursionError) as refused:
            return f"its structured content cannot be checked: {refused}"
        return f"its structured content is not as promised: {error.message}"


def _keys(value: Any) -> Iterator[str]:
    """Yield all keys in a schema, those that only name properties too."""
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, dict | list):
            yield from _keys(part)


def _refuse_to_fetch(uri: str) -> NoReturn:
    raise ValueError(f"the reference {uri[:80]!r} leaves the schema, and nothing is fetched")
