"""The arguments of one tool, taken out of a request; nothing is made up.

Arguments that show what they are (a path, a date, a member of an enum) come first; names and texts
are what is left of the request after them and after the words that the tool knows.
"""

import re
from string import ascii_letters

from openjarvis.engine.offline.extract import Piece, is_path
from openjarvis.engine.offline.filling import WEAK, Filling
from openjarvis.engine.offline.index import ToolIndex, left_cues
from openjarvis.engine.offline.match import Match
from openjarvis.engine.offline.request import Request
from openjarvis.engine.offline.rest import fill_rest
from openjarvis.engine.offline.schema import Kind, Parameter, name_words
from openjarvis.engine.offline.script import stem, word_before
from openjarvis.engine.offline.values import member_in, number_in, value_of
from openjarvis.engine.offline.words import FUNCTION_WORDS

_SHOWING = {
    Kind.EMAIL: ("email",),
    Kind.URL: ("url", "domain"),
    Kind.PATH: ("path",),
    Kind.CODE: ("code",),
    Kind.DATE: ("date",),
}
_STRONG = 0.6
_CERTAIN_ARITHMETIC, _RISKY_ARITHMETIC = 0.9, 0.6


def fill(request: Request, index: ToolIndex, match: Match) -> Filling | None:
    """Return the arguments of a tool, or None when a required one is not in the request."""
    if index.unfillable:
        return None
    filling = Filling(request, index, match)
    required = [parameter for parameter in index.parameters if parameter.required]
    optional = [parameter for parameter in index.parameters if not parameter.required]
    for parameter in [*required, *optional]:
        _fill_showing(filling, parameter)
    _fill_numbers(filling)
    missing = [parameter for parameter in required if filling.is_missing(parameter)]
    if any(parameter.kind not in (Kind.NAME, Kind.TEXT, Kind.PATH) for parameter in missing):
        return None
    return filling if fill_rest(filling, missing) else None


def _foreign_cues(filling: Filling, parameter: Parameter) -> set[str]:
    """Return the words that introduce another argument of the tool."""
    others = [one for one in filling.index.parameters if one.name != parameter.name]
    return {cue for one in others for cue in one.cues} - parameter.cues


def _fill_showing(filling: Filling, parameter: Parameter) -> None:
    """Fill an argument whose value shows that it is one."""
    request, kind = filling.request, parameter.kind
    if kind is Kind.ENUM:
        found = member_in(request, parameter, filling.used, _foreign_cues(filling, parameter))
        if found is not None:
            says = WEAK if request.folded[found.start : found.end] in FUNCTION_WORDS else _STRONG
            filling.put(parameter, found.value, *found[1:], says * parameter.required)
    elif kind is Kind.EXPRESSION and (expression := request.expression):
        sure = _CERTAIN_ARITHMETIC if expression.certain else _RISKY_ARITHMETIC
        filling.put(parameter, expression.text, expression.start, expression.end, sure)
    elif kind is Kind.BOOLEAN:
        _fill_boolean(filling, parameter)
    elif kind is Kind.LIST:
        _fill_list(filling, parameter)
    elif kind is Kind.PROGRAM:
        for piece in filling.free_pieces("quoted")[:1]:
            filling.put(parameter, piece.value, piece.start, piece.end, WEAK)
    elif kind in _SHOWING:
        _fill_piece(filling, parameter)


def _fill_piece(filling: Filling, parameter: Parameter) -> None:
    for piece in filling.free_pieces(*_SHOWING[parameter.kind]):
        value = value_of(piece, parameter)
        if value is not None:
            sure = _STRONG if parameter.required else WEAK
            if not _is_like(piece, parameter.sample):
                sure = WEAK
            filling.put(parameter, value, piece.start, piece.end, sure)
            return
    if parameter.kind is Kind.PATH:
        for piece in filling.free_pieces("quoted"):
            if is_path(piece.value):
                filling.put(parameter, piece.value, piece.start, piece.end, _STRONG)
                return


def _is_like(piece: Piece, sample: str) -> bool:
    """Tell whether a code begins as the sample in its description does."""
    letters = sample[: len(sample) - len(sample.lstrip(ascii_letters))]
    return piece.kind != "code" or bool(piece.value.startswith(letters))


def _fill_boolean(filling: Filling, parameter: Parameter) -> None:
    wanted = {stem(word) for word in name_words(parameter.name)}
    stems = {stem(word.text) for word in filling.request.words}
    if wanted <= stems:
        places = [word for word in filling.request.words if stem(word.text) in wanted]
        before = filling.request.folded[: places[0].start]
        denied = re.search(r"\b(?:no|not|without|don't)\W+(?:\w+\W+)?$", before)
        filling.put(parameter, not denied, places[0].start, places[-1].end, 0.0)


def _fill_list(filling: Filling, parameter: Parameter) -> None:
    items = parameter.schema.get("items")
    kind = items.get("type") if isinstance(items, dict) else None
    pieces = filling.free_pieces("number" if kind in ("integer", "number") else "quoted")
    values = [value_of(piece, parameter) for piece in pieces]
    if kind == "integer" and any(not isinstance(value, int) for value in values):
        return
    if values and parameter.required:
        filling.put(parameter, values, pieces[0].start, pieces[-1].end, _STRONG)


def _fill_numbers(filling: Filling) -> None:
    """Give each number to the argument whose words stand beside it.

    Required arguments then take the numbers that are left.
    """
    numbers = [one for one in filling.index.parameters if one.kind is Kind.NUMBER]
    wanting = [one for one in numbers if filling.is_missing(one)]
    pairs = [
        (_nearness(filling, parameter, piece), parameter, piece)
        for parameter in wanting
        for piece in filling.free_pieces("number")
        if number_in(piece, parameter) is not None
    ]
    for nearness, parameter, piece in sorted(pairs, key=lambda pair: -pair[0]):
        is_free = filling.is_missing(parameter) and not filling.is_used(piece.start, piece.end)
        if is_free and (nearness > 0 or parameter.required):
            end = _unit_end(filling, parameter, piece)
            sure = WEAK * parameter.required
            filling.put(parameter, number_in(piece, parameter), piece.start, end, sure)


def _nearness(filling: Filling, parameter: Parameter, piece: Piece) -> int:
    after = re.match(r"[\s-]*([^\W\d_]+)", filling.request.folded[piece.end :])
    before = word_before(filling.request.folded, piece.start)
    return (
        3 * bool(after and stem(after[1]) in parameter.words)
        + 2 * bool(stem(before) in parameter.words and before not in FUNCTION_WORDS)
        + bool(parameter.required and before in left_cues(filling.index, parameter))
    )


def _unit_end(filling: Filling, parameter: Parameter, piece: Piece) -> int:
    after = re.match(r"[\s-]*([^\W\d_]+)", filling.request.folded[piece.end :])
    return piece.end + (after.end() if after and stem(after[1]) in parameter.words else 0)
