"""Types that JSON does not have (models, dataclasses, enums, dates …), described by pydantic."""

import logging
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from openjarvis.core import strict_json
from openjarvis.core.errors import ToolDefinitionError
from openjarvis.toolkit.check import MAX_FAULTS, Fault, UnfitValue
from openjarvis.toolkit.typed_dicts import rebuilt

_log = logging.getLogger("openjarvis.toolkit")

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
        hash(annotation)
    except TypeError:
        return _described(annotation)
    return _described_once(annotation, str(annotation))


def _described(annotation: Any) -> tuple[dict[str, Any], Convert]:
    try:
        adapter = _adapter(annotation)
        schema = adapter.json_schema()
    except Exception as error:  # a foreign type describes itself, and may raise anything
        name = annotation.__name__ if isinstance(annotation, type) else str(annotation)
        reason = " ".join(str(error).split())[:200]
        raise ToolDefinitionError(
            f"no JSON Schema can describe {name!r}; use a builtin, a dataclass, a TypedDict, a "
            "pydantic model, or give it `__get_pydantic_core_schema__`. "
            f"({type(error).__name__}: {reason})"
        ) from error
    return tidy(schema), _converter(adapter)


@lru_cache(maxsize=1024)
def _described_once(annotation: Any, _spelling: str) -> tuple[dict[str, Any], Convert]:
    # Unions are equal whatever their order, but the order decides which member a value becomes.
    return _described(annotation)


def _adapter(annotation: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(annotation)
    except PydanticUserError as error:
        if error.code != "typed-dict-version":
            raise
        try:
            return TypeAdapter(rebuilt(annotation))
        except RecursionError:
            raise error from None  # its text names the way out


def _converter(adapter: TypeAdapter[Any]) -> Convert:
    def convert(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except Exception:  # noqa: BLE001, S110 - told below, if it comes again
            pass
        # A strict model takes a date or an enum from JSON text, not from a str.
        try:
            return adapter.validate_json(strict_json.dumps(value))
        except ValidationError as error:
            raise UnfitValue(_faults(error)) from None
        except Exception as error:  # a validator is foreign code, and may raise anything
            _log.exception("A validator raised")
            reason = f"cannot be converted ({type(error).__name__})"
            raise UnfitValue([Fault((), reason, value)]) from error

    return convert


def _faults(error: ValidationError) -> list[Fault]:
    found = error.errors(include_url=False, include_context=False)[:MAX_FAULTS]
    return [Fault(fault["loc"], fault["msg"][:120], fault["input"]) for fault in found]


def tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` without generated titles, and with its objects closed to unknown members.

    A name nobody declared is a mistake that a model should hear of, not a value to drop in silence.
    """
    tidied = {key: value for key, value in schema.items() if key != "title"}
    if isinstance(tidied.get("default"), float) and not math.isfinite(tidied["default"]):
        del tidied["default"]  # JSON has no infinity, and the schema is sent as JSON
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
        # By way of text, since `to_jsonable_python` leaves infinities as they are.
        return from_json(to_json(value, inf_nan_mode="strings"))
    except (PydanticSerializationError, ValueError) as error:
        raise ValueError(str(error)[:200]) from error
