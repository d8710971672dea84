"""A piece of a request as the value that an argument's schema wants, or None."""

import re
from collections.abc import Container, Iterable
from typing import Any, NamedTuple

from openjarvis.engine.offline.dates import FoundDate
from openjarvis.engine.offline.extract import Piece
from openjarvis.engine.offline.match import Span
from openjarvis.engine.offline.request import Request
from openjarvis.engine.offline.schema import Parameter
from openjarvis.engine.offline.script import fold, word_before


class Member(NamedTuple):
    """A member of an enum at its place in the request."""

    value: Any
    start: int
    end: int


def members_of(parameter: Parameter) -> list[Any]:
    """Return the values of an enum that a request can name."""
    schema = parameter.schema
    members = schema["enum"] if isinstance(schema.get("enum"), list) else [schema.get("const")]
    return [one for one in members if one is not None and not isinstance(one, bool)]


def member_in(
    request: Request, parameter: Parameter, used: Iterable[Span], foreign_cues: Container[str]
) -> Member | None:
    """Return the member that a request names.

    Of several the one after a cue of the argument is meant, and none after a cue of another one;
    then the first, and at one place the longest.
    """
    taken = [*used, *(Span(p.start, p.end, 0) for p in request.pieces if p.kind == "quoted")]
    found = [
        Member(value, start, end)
        for value in members_of(parameter)
        for start, end in _places(request, str(value), exact=not parameter.required)
        if not any(start < span.end and end > span.start for span in taken)
    ]
    return min(
        found,
        key=lambda member: (
            _strangeness(request, member, parameter, foreign_cues),
            member.start,
            -member.end,
        ),
        default=None,
    )


def _places(request: Request, value: str, *, exact: bool) -> Iterable[tuple[int, int]]:
    """Yield where a request says `value`; an optional GET is only meant when it is written so."""
    form = re.sub(r"[_-]", " ", fold(value))
    pattern = rf"(?<![a-z0-9]){re.escape(form)}(?![a-z0-9])".replace(r"\ ", r"[\s_-]")
    places = [match.span() for match in re.finditer(pattern, request.folded)] if form else []
    if exact and value.isupper():
        return [place for place in places if request.text[slice(*place)].isupper()]
    return places


def _strangeness(
    request: Request, member: Member, parameter: Parameter, foreign_cues: Container[str]
) -> int:
    before = word_before(request.folded, member.start)
    return 0 if before in parameter.cues else 2 if before in foreign_cues else 1


def may_be(text: str, parameter: Parameter) -> bool:
    """Tell whether a name can be meant, where the schema shows a code like `USD`."""
    is_code = parameter.sample.isupper() and len(parameter.sample) > 1 and text.isascii()
    return not is_code or (text.isupper() and len(text) == len(parameter.sample))


def number_in(piece: Piece, parameter: Parameter) -> int | float | None:
    """Return a number that keeps to the type and the bounds of an argument."""
    value: int | float = piece.value
    schema = parameter.schema
    if schema.get("type") == "integer" and not isinstance(value, int):
        return None
    low, high = schema.get("minimum"), schema.get("maximum")
    if isinstance(low, int | float) and value < low:
        return None
    if isinstance(high, int | float) and value > high:
        return None
    return value


def value_of(piece: Piece, parameter: Parameter) -> Any:
    """Return what an argument gets from a piece, or None when it cannot take it."""
    if isinstance(piece.value, FoundDate):
        return _date(piece.value, parameter)
    if piece.kind == "domain":
        return f"https://{piece.value}"
    return piece.value


def _date(found: FoundDate, parameter: Parameter) -> str | None:
    if parameter.schema.get("format") == "date-time":
        return f"{found.day.isoformat()}{found.time}" if found.time else None
    return found.day.isoformat()
