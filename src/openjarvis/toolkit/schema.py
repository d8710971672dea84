"""A function's signature as a JSON Schema, with what turns JSON values into the types it wants.

The plain annotations that most tools use are described here; everything else is described, and
later converted, by pydantic, which is loaded only then.
"""

import inspect
import logging
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.toolkit.check import ArgumentsError, Fault, Quotes, UnfitValue
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.definitions import hoisted

_log = logging.getLogger("openjarvis.toolkit")

Convert = Callable[[Any], Any]
"""Turns a checked JSON value into the annotated type, or raises `UnfitValue`."""

_FIELD_DEFAULT = object()
_PLAIN = {str: "string", bool: "boolean", NoneType: "null"}
_SECTION = re.compile(
    r"^\s*(?:(Args|Arguments|Params|Parameters):\s*$|:param\s|Parameters\n\s*-{3,})", re.MULTILINE
)


class Described(NamedTuple):
    """A type as JSON Schema; `convert` is None where a JSON value already is of the type."""

    schema: dict[str, Any]
    convert: Convert | None


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes: the JSON Schema of its arguments, and how to turn them into Python's.

    `context_parameter` is the name of the parameter that receives the `ToolContext`, if any.
    """

    schema: dict[str, Any]
    converters: Mapping[str, Convert]
    field_defaults: Mapping[str, Callable[[], Any]]
    context_parameter: str | None
    description: str

    def convert(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return checked `arguments` as the types of the signature, in a new dict.

        Raises:
            ArgumentsError: where a value is of the right JSON type but of no use (a date that is
                none, say), naming each.
        """
        values = dict(arguments)
        unfit: dict[str, UnfitValue] = {}
        for name, convert in self.converters.items():
            if name in values:
                try:
                    values[name] = convert(values[name])
                except UnfitValue as error:
                    unfit[name] = error
        if unfit:
            quotes = Quotes()
            raise ArgumentsError(
                [fault for name, error in unfit.items() for fault in error.told(name, quotes)]
            )
        for name, default in self.field_defaults.items():
            if name not in values:
                values[name] = _made(name, default)
        return values


def _made(name: str, default: Callable[[], Any]) -> Any:
    try:
        return default()
    except Exception as error:  # a factory is foreign code, and may raise anything
        _log.exception("The default factory of %r raised", name)
        raise ArgumentsError(
            [f"'{name}' must be given: its default cannot be made ({type(error).__name__})"]
        ) from error


def signature_of(function: Callable[..., Any], owner: str) -> Signature:
    """Return the signature of `function`, read from its annotations and docstring.

    Raises:
        ToolDefinitionError: when a parameter has no annotation or one that no schema can describe;
            the text names `owner` and the parameter.
    """
    description, meanings = read_docstring(inspect.getdoc(function) or "")
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    converters: dict[str, Convert] = {}
    field_defaults: dict[str, Callable[[], Any]] = {}
    required: list[str] = []
    context_parameter: str | None = None
    for parameter in _parameters(function, owner):
        annotation = _annotation(parameter, function, owner)
        if annotation is ToolContext:
            if context_parameter is not None:
                raise ToolDefinitionError(
                    f"{owner}: both {context_parameter!r} and {parameter.name!r} are annotated "
                    "ToolContext; a tool has one."
                )
            context_parameter = parameter.name
            continue
        annotation, field = _with_field(parameter, annotation)
        default = parameter.default
        if field is not None:
            default = _field_default(parameter.name, field, owner)
        if default is _FIELD_DEFAULT:
            field_defaults[parameter.name] = partial(field.get_default, call_default_factory=True)
        described = _described(parameter.name, annotation, owner)
        schema = hoisted(described.schema, definitions)
        if parameter.name in meanings and "description" not in schema:
            schema["description"] = meanings[parameter.name]
        if default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif _is_json_scalar(default):
            schema["default"] = default
        properties[parameter.name] = schema
        if described.convert is not None:
            converters[parameter.name] = described.convert
    whole: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        whole["required"] = required
    whole["additionalProperties"] = False
    if definitions:
        whole["$defs"] = definitions
    return Signature(whole, converters, field_defaults, context_parameter, description)


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the description in a docstring, and the meanings of the parameters it lists.

    Google, NumPy and Sphinx sections are understood.
    """
    marker = _SECTION.search(text)
    if marker is None:
        return text.strip(), {}
    # griffe is loaded only for the docstrings that have a section to parse: it costs 60 ms.
    from openjarvis.toolkit.docstring import parse_sections

    style: Literal["google", "numpy", "sphinx"] = (
        "google" if marker[1] else "sphinx" if ":param" in marker[0] else "numpy"
    )
    return parse_sections(text, style)


def _parameters(function: Callable[..., Any], owner: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError as error:
        raise ToolDefinitionError(f"{owner}: its signature cannot be read: {error}") from error


def _annotation(parameter: inspect.Parameter, function: Callable[..., Any], owner: str) -> Any:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise ToolDefinitionError(
            f"{owner}: the parameter {str(parameter)!r} takes any arguments, which no model can be "
            "told; name each parameter."
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise ToolDefinitionError(
            f"{owner}: the parameter {parameter.name!r} is positional-only, but tools are "
            "called by name; remove the '/' from the signature."
        )
    if parameter.annotation is inspect.Parameter.empty:
        raise ToolDefinitionError(
            f"{owner}: the parameter {parameter.name!r} has no annotation; write its type, "
            f"e.g. {parameter.name}: str."
        )
    return _evaluated(parameter, function, owner)


def _evaluated(parameter: inspect.Parameter, function: Callable[..., Any], owner: str) -> Any:
    """Return the annotation of one parameter; what the function returns is nobody's concern here.

    A name that only a type checker imports is then fine there.
    """
    alone = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    names = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        return get_type_hints(alone, globalns=names, include_extras=True)[parameter.name]
    except Exception as error:  # an annotation is an expression, and may raise anything
        raise ToolDefinitionError(
            f"{owner}: the parameter {parameter.name!r}: its annotation "
            f"{parameter.annotation!r} cannot be read: {error}"
        ) from error


def _with_field(parameter: inspect.Parameter, annotation: Any) -> tuple[Any, Any]:
    """Return the annotation with the pydantic `Field` that rules the parameter, and that field."""
    if _is_field(parameter.default):  # `city: str = Field("Oslo", description="…")`
        return Annotated[annotation, parameter.default], parameter.default
    if get_origin(annotation) is Annotated and parameter.default is inspect.Parameter.empty:
        return annotation, next(filter(_is_field, annotation.__metadata__), None)
    return annotation, None


def _field_default(name: str, field: Any, owner: str) -> Any:
    if field.is_required():
        return inspect.Parameter.empty
    if field.default_factory_takes_validated_data:
        raise ToolDefinitionError(
            f"{owner}: the parameter {name!r}: its default_factory wants the other values; "
            "a parameter's takes nothing."
        )
    return _FIELD_DEFAULT


def _described(name: str, annotation: Any, owner: str) -> Described:
    try:
        return describe(annotation)
    except ToolDefinitionError as error:
        raise ToolDefinitionError(f"{owner}: the parameter {name!r}: {error}") from error


def describe(annotation: Any) -> Described:
    """Return `annotation` as JSON Schema with its conversion.

    Raises:
        ToolDefinitionError: when no schema can describe it.
    """
    if get_origin(annotation) is Annotated:
        inner, *extras = get_args(annotation)
        description = _only_description(extras)
        if description is not None:
            described = describe(inner)
            return Described({**described.schema, "description": description}, described.convert)
        # pydantic knows every annotation but a bare text, which is ours
        extras = [_field_with(extra) if isinstance(extra, str) else extra for extra in extras]
        return _by_pydantic(Annotated[(inner, *extras)])
    if get_origin(annotation) in (Union, UnionType):
        explained = _explained_as_a_whole(annotation)
        if explained is not annotation:
            return describe(explained)
    return _plain(annotation) or _by_pydantic(annotation)


def _explained_as_a_whole(union: Any) -> Any:
    """Return `Annotated[str, "text"] | None` as `Annotated[str | None, "text"]`."""
    members: list[Any] = []
    texts: list[str] = []
    for member in get_args(union):
        inner, *extras = get_args(member) if get_origin(member) is Annotated else (member,)
        texts.extend(extra for extra in extras if isinstance(extra, str))
        kept = [extra for extra in extras if not isinstance(extra, str)]
        members.append(Annotated[(inner, *kept)] if kept else inner)
    return Annotated[Union[tuple(members)], "; ".join(texts)] if texts else union  # noqa: UP007


def _plain(annotation: Any) -> Described | None:
    """Return the description of an annotation that JSON has a type for, or None."""
    if annotation in (int, float):
        kind = "integer" if annotation is int else "number"
        return Described({"type": kind}, _to_int if annotation is int else _to_float)
    if isinstance(annotation, type) and annotation in _PLAIN:
        return Described({"type": _PLAIN[annotation]}, None)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal and all(isinstance(value, str) for value in arguments):
        return Described({"enum": list(arguments), "type": "string"}, None)
    if origin is list and arguments == (str,):
        return Described({"type": "array", "items": {"type": "string"}}, None)
    if origin in (Union, UnionType) and len(arguments) == 2 and NoneType in arguments:
        inner = _plain(next(argument for argument in arguments if argument is not NoneType))
        if inner is not None and inner.schema.keys() == {"type"}:
            return Described({"anyOf": [inner.schema, {"type": "null"}]}, inner.convert)
    return None


def _to_int(value: Any) -> Any:
    return int(value) if isinstance(value, float) else value  # 3.0 is an integer to JSON Schema


def _to_float(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, int) else value
    except OverflowError:
        raise UnfitValue([Fault((), "too large for a double", value)]) from None


def _by_pydantic(annotation: Any) -> Described:
    # pydantic is loaded only for the annotations that need it: it costs 120 ms.
    from openjarvis.toolkit.pydantic_types import describe_by_pydantic

    return Described(*describe_by_pydantic(annotation))


def _is_field(value: Any) -> bool:
    # The type is told by its name, since pydantic may not have been loaded.
    return type(value).__name__ == "FieldInfo" and type(value).__module__.startswith("pydantic")


def _field_with(description: str) -> Any:
    from pydantic import Field

    return Field(description=description)


def _only_description(extras: list[Any]) -> str | None:
    """Return the description, when that is all that the extras of an `Annotated` say."""
    if len(extras) != 1:
        return None
    extra = extras[0]
    if isinstance(extra, str):
        return extra
    if _is_field(extra) and extra.description and not extra.metadata and extra.is_required():
        plain = type(extra)(description=extra.description)
        return str(extra.description) if repr(plain) == repr(extra) else None
    return None


def _is_json_scalar(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    return type(value) in (str, int, bool)
