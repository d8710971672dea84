"""A request that follows an example sentence word for word, with other arguments in its slots."""

import re
from typing import Any, NamedTuple

from openjarvis.engine.offline.examples import Lesson, Slot
from openjarvis.engine.offline.index import ToolIndex
from openjarvis.engine.offline.request import Request
from openjarvis.engine.offline.schema import Kind, Parameter
from openjarvis.engine.offline.script import fold
from openjarvis.engine.offline.values import may_be, members_of, number_in, value_of

_LONGEST_REQUEST = 300
_LONGEST_NAME = 5
_SHOWN_BY_PIECES = (Kind.NUMBER, Kind.EMAIL, Kind.URL, Kind.PATH, Kind.CODE, Kind.DATE)


class Followed(NamedTuple):
    """The arguments of a request that follows an example; `says_something` is the example's."""

    arguments: dict[str, Any]
    says_something: bool


def follow(request: Request, index: ToolIndex) -> Followed | None:
    """Return the arguments as the first example that the request follows has them."""
    if len(request.folded) > _LONGEST_REQUEST:
        return None
    required = {parameter.name for parameter in index.parameters if parameter.required}
    for lesson in index.lessons:
        if lesson.pattern is None or not required <= {slot.parameter for slot in lesson.slots}:
            continue
        place = lesson.pattern.fullmatch(request.folded)
        arguments = _arguments(request, index, lesson, place) if place else None
        if arguments is not None:
            return Followed(arguments, lesson.says_something)
    return None


def _arguments(
    request: Request, index: ToolIndex, lesson: Lesson, place: re.Match[str]
) -> dict[str, Any] | None:
    by_name = {parameter.name: parameter for parameter in index.parameters}
    arguments: dict[str, Any] = {}
    for number, slot in enumerate(lesson.slots):
        parameter = by_name.get(slot.parameter)
        here = Slot(slot.parameter, *place.span(f"s{number}"))
        value = _value(request, parameter, here) if parameter else None
        if value is None:
            return None
        arguments[slot.parameter] = value
    return arguments


def _value(request: Request, parameter: Parameter, slot: Slot) -> Any:
    """Return what stands in a slot as the argument wants it, or None."""
    text = request.text[slot.start : slot.end].strip()
    inside = [piece for piece in request.pieces if slot.start <= piece.start < slot.end]
    if parameter.kind is Kind.ENUM:
        return next((one for one in members_of(parameter) if _same(str(one), text)), None)
    if parameter.kind in _SHOWN_BY_PIECES:
        if len(inside) != 1 or (inside[0].start, inside[0].end) != (slot.start, slot.end):
            return None
        if parameter.kind is Kind.NUMBER:
            return number_in(inside[0], parameter) if inside[0].kind == "number" else None
        return value_of(inside[0], parameter)
    quoted = [piece.value for piece in inside if piece.kind == "quoted"]
    if quoted:
        return quoted[0] if len(quoted) == 1 else None
    if parameter.kind is Kind.TEXT:
        return text
    is_name = not inside and len(text.split()) <= _LONGEST_NAME and not re.search(r"[,;!?。]", text)
    return text if parameter.kind is Kind.NAME and is_name and may_be(text, parameter) else None


def _same(member: str, text: str) -> bool:
    return fold(member).replace("_", " ") == fold(text).replace("_", " ")
