"""Types that JSON does not have (models, dataclasses, enums, dates …), described by pydantic."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import PydanticSerializationError, to_jsonable_python

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.toolkit.check import ArgumentsError, Quotes

Convert = Callable[[Any], Any]

_SUBSCHEMAS = ("items", "additionalProperties", "not", "contains", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs")


def describe_by_pydantic(annotation: Any) -> tuple[dict[str, Any], Convert]:
    """Return the JSON Schema of `annotation` and the function that makes values of it.

    Raises:
        ToolDefinitionError: when pydantic knows no schema for it.
    """
    try:
        return _described_once(annotation)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return _described(annotation)


def _described(annotation: Any) -> tuple[dict[str, Any], Convert]:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        schema = adapter.json_schema()
    except (PydanticUserError, PydanticInvalidForJsonSchema, NameError) as error:
        name = getattr(annotation, "__name__", None) or str(annotation)
        raise ToolDefinitionError(
            f"no JSON Schema can describe {name!r}; use a builtin, a dataclass, a TypedDict, a "
            "pydantic model, or give it `__get_pydantic_core_schema__`."
        ) from error
    return tidy(schema), _converter(adapter)


_described_once = lru_cache(maxsize=1024)(_described)


def _converter(adapter: TypeAdapter[Any]) -> Convert:
    def convert(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            raise ArgumentsError(_faults(error)) from None

    return convert


def _faults(error: ValidationError) -> list[str]:
    quotes = Quotes()
    return [
        "".join(f".{quotes.text(str(step))}" for step in fault["loc"])
        + f"': {fault['msg'][:120]}, got {quotes.of(fault['input'])}"
        for fault in error.errors(include_url=False, include_context=False)
    ]


def tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` without generated titles, and with its objects closed to unknown members.

    A name nobody declared is a mistake that a model should hear of, not a value to drop in silence.
    """
    tidied = {key: value for key, value in schema.items() if key != "title"}
    for key in _SUBSCHEMAS:
        if isinstance(tidied.get(key), dict):
            tidied[key] = tidy(tidied[key])
    for key in _LISTS:
        if key in tidied:
            tidied[key] = [tidy(branch) for branch in tidied[key]]
    for key in _MAPS:
        if key in tidied:
            tidied[key] = {name: tidy(value) for name, value in tidied[key].items()}
    if "properties" in tidied:
        tidied.setdefault("additionalProperties", False)
    return tidied


def jsonable(value: Any) -> Any:
    """Return `value` as what JSON can hold.

    Raises:
        ValueError: when it holds something that JSON has no place for.
    """
    try:
        return to_jsonable_python(value, inf_nan_mode="strings")
    except (PydanticSerializationError, ValueError) as error:
        raise ValueError(str(error)[:200]) from error
