"""Specs of dropped-in tools, checked for what would fail later, at somebody else's place."""

import json
import math
from typing import Any, NoReturn

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.toolkit.base import ToolSpec, check_name
from openjarvis.toolkit.check import Checker


def check_spec(spec: Any, owner: str) -> None:
    """Accept a spec that models and the executor can work with.

    Raises:
        ToolDefinitionError: naming `owner` and what is wrong.
    """
    if not isinstance(spec, ToolSpec):
        raise ToolDefinitionError(f"{owner}.spec must be a ToolSpec, got {type(spec).__name__}.")
    check_name(spec.name, owner)
    if not isinstance(spec.description, str):
        _refuse(owner, "the description must be text", spec.description)
    seconds = spec.timeout_seconds
    if type(seconds) not in (int, float) or not 0 <= seconds < math.inf:
        _refuse(owner, "timeout_seconds must be a number of seconds, 0 or more", seconds)
    _check_examples(spec.examples, owner)
    _check_can_be_sent(spec, owner)
    _check_parameters(spec.parameters, owner)


def _refuse(owner: str, rule: str, value: Any) -> NoReturn:
    shown = value if isinstance(value, int | float) else type(value).__name__
    raise ToolDefinitionError(f"{owner}: {rule}, got {shown}.")


def _check_examples(examples: Any, owner: str) -> None:
    if not isinstance(examples, list | tuple) or not all(map(_is_example, examples)):
        raise ToolDefinitionError(
            f"{owner}: `examples` must be a list of sentences, or of (sentence, arguments) pairs."
        )


def _is_example(item: Any) -> bool:
    if isinstance(item, tuple):
        return len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], dict)
    return isinstance(item, str)


def _check_parameters(schema: Any, owner: str) -> None:
    if not isinstance(schema, dict):
        _refuse(owner, "the parameters must be a JSON Schema as a dict", schema)
    if schema and schema.get("type") != "object":
        raise ToolDefinitionError(
            f"{owner}: the parameters must be the JSON Schema of an object, "
            '{"type": "object", "properties": …}.'
        )
    Checker(schema, owner=owner)


def _check_can_be_sent(spec: ToolSpec, owner: str) -> None:
    # What JSON cannot hold would fail the whole request, and with it every other tool.
    try:
        json.dumps(
            [spec.description, spec.parameters, spec.examples], ensure_ascii=False, allow_nan=False
        ).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolDefinitionError(
            f"{owner}: the description, parameters and examples must be JSON values: {error}."
        ) from error
