"""`typing.TypedDict` on Python 3.11, which pydantic takes only from `typing_extensions`."""

from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import typing_extensions


def rebuilt(annotation: Any) -> Any:
    """Return `annotation` with each `typing.TypedDict` in it made one of `typing_extensions`.

    Raises:
        RecursionError: for one that holds itself.
        NameError: for a member whose annotation names nothing.
    """
    if is_typeddict(annotation):
        return _rebuilt_dict(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not arguments or origin is Literal:
        return annotation
    if origin is Annotated:
        return Annotated[(rebuilt(arguments[0]), *arguments[1:])]
    inner = tuple(rebuilt(argument) for argument in arguments)
    if inner == arguments:
        return annotation
    return reduce(or_, inner) if origin is UnionType else origin[inner]


@cache
def _rebuilt_dict(typed_dict: Any) -> Any:
    members = {
        name: _member(hint, required=name in typed_dict.__required_keys__)
        for name, hint in get_type_hints(typed_dict, include_extras=True).items()
    }
    made: Any = typing_extensions.TypedDict(typed_dict.__name__, members)  # type: ignore[misc]
    made.__doc__, made.__module__ = typed_dict.__doc__, typed_dict.__module__
    return made


def _member(hint: Any, *, required: bool) -> Any:
    if get_origin(hint) in (Required, NotRequired):
        return get_origin(hint)[rebuilt(get_args(hint)[0])]
    return (Required if required else NotRequired)[rebuilt(hint)]
