"""What a server promises of a tool's structured content, and whether it keeps it.

The SDK would check it with Python's regular expressions, which a server can make endless while no
other thread of the process runs. Here the steps are counted first, and patterns are bounded.
"""

from typing import Any, NoReturn

import jsonschema_rs

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.toolkit.effort import Effort


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
            self._validator = jsonschema_rs.validator_for(
                schema, mask="the value", retriever=_refuse_to_fetch
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
            self._effort.check(content)
            error = next(self._validator.iter_errors(content), None)
        except (ValueError, RecursionError) as refused:
            return f"its structured content cannot be checked: {refused}"
        return f"its structured content is not as promised: {error.message}" if error else ""


def _refuse_to_fetch(uri: str) -> NoReturn:
    raise ValueError(f"the reference {uri[:80]!r} leaves the schema, and nothing is fetched")
