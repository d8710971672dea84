"""The arguments of one tool, taken out of a request; nothing is made up.

Arguments that show what they are (a path, a date, a member of an enum) come first; names and texts
are what is left of the request after them and after the words that the tool knows.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from openjarvis.engine.offline_extract import Piece, is_path
from openjarvis.engine.offline_index import ToolIndex
from openjarvis.engine.offline_match import Match, Span
from openjarvis.engine.offline_request import Request
from openjarvis.engine.offline_schema import Kind, Parameter, name_words
from openjarvis.engine.offline_script import MARK, mark, stem, word_before
from openjarvis.engine.offline_values import may_be, member_in, number_in, value_of
from openjarvis.engine.offline_words import CONNECTORS, FUNCTION_WORDS, PREPOSITIONS, peel

_SHOWING = {
    Kind.EMAIL: ("email",),
    Kind.URL: ("url", "domain"),
    Kind.PATH: ("path",),
    Kind.CODE: ("code",),
    Kind.DATE: ("date",),
}
_STRONG, _WEAK = 0.6, 0.2
_CERTAIN_ARITHMETIC, _RISKY_ARITHMETIC = 0.9, 0.6
_PHRASE = 4
_NEW_THING = re.compile(r"\s*(?:me|us|a|an)\s")  # "write a poem": the poem is what is asked for
_QUESTION = re.compile(r"\b(?:what|which|who|when|where|why|how|did|does)\b")


class Filling:
    """The arguments found so far, the places they were taken from, and how sure they are.

    `evidence` weighs the arguments that show what they are; `loose` counts the words of those that
    could be anything; `doubt` counts the signs that these are not meant.
    """

    def __init__(self, request: Request, index: ToolIndex, match: Match) -> None:
        self.request = request
        self.index = index
        self.match = match
        self.arguments: dict[str, Any] = {}
        self.used: list[Span] = []
        self.evidence = 0.0
        self.loose = 0.0
        self.doubt = 0.0

    def put(self, parameter: Parameter, value: Any, start: int, end: int, sure: float) -> None:
        """Note an argument; `sure` is what it adds to the evidence."""
        self.arguments[parameter.name] = value
        self.used.append(Span(start, end, 0.0))
        self.evidence += sure

    def is_used(self, start: int, end: int) -> bool:
        """Tell whether a place was taken already."""
        return any(start < span.end and end > span.start for span in self.used)

    def free_pieces(self, *kinds: str) -> list[Piece]:
        """Return the pieces of these kinds that no argument was taken from."""
        return [
            piece
            for piece in self.request.pieces
            if piece.kind in kinds and not self.is_used(piece.start, piece.end)
        ]

    def is_missing(self, parameter: Parameter) -> bool:
        """Tell whether an argument is still to be found."""
        return parameter.name not in self.arguments


def fill(request: Request, index: ToolIndex, match: Match) -> Filling | None:
    """Return the arguments of a tool, or None when a required one is not in the request."""
    if index.unfillable:
        return None
    filling = Filling(request, index, match)
    required = [parameter for parameter in index.parameters if parameter.required]
    optional = [parameter for parameter in index.parameters if not parameter.required]
    for parameter in required:
        _fill_showing(filling, parameter)
    _fill_numbers(filling, required)
    for parameter in optional:
        _fill_showing(filling, parameter)
    _fill_numbers(filling, optional)
    missing = [parameter for parameter in required if filling.is_missing(parameter)]
    if any(parameter.kind not in (Kind.NAME, Kind.TEXT, Kind.PATH) for parameter in missing):
        return None
    for parameter in _in_example_order(index, missing):
        if not (_fill_quoted(filling, parameter) or _fill_rest(filling, parameter, missing)):
            return None
    return filling


def _in_example_order(index: ToolIndex, parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return names before texts, each in the order in which the examples have them."""
    order = [slot.parameter for lesson in index.lessons[:1] for slot in lesson.slots]

    def place(parameter: Parameter) -> tuple[bool, int]:
        known = parameter.name in order
        return parameter.kind is Kind.TEXT, order.index(parameter.name) if known else len(order)

    return sorted(parameters, key=place)


def _fill_showing(filling: Filling, parameter: Parameter) -> None:
    """Fill an argument whose value shows that it is one."""
    request, kind = filling.request, parameter.kind
    if kind is Kind.ENUM:
        found = member_in(request, parameter, filling.used)
        if found is not None:
            filling.put(
                parameter, found.value, found.start, found.end, _STRONG * parameter.required
            )
    elif kind is Kind.EXPRESSION and (expression := request.expression):
        sure = _CERTAIN_ARITHMETIC if expression.certain else _RISKY_ARITHMETIC
        filling.put(parameter, expression.text, expression.start, expression.end, sure)
    elif kind is Kind.BOOLEAN:
        _fill_boolean(filling, parameter)
    elif kind is Kind.LIST:
        _fill_list(filling, parameter)
    elif kind is Kind.PROGRAM:
        for piece in filling.free_pieces("quoted")[:1]:
            filling.put(parameter, piece.value, piece.start, piece.end, _WEAK)
    elif kind in _SHOWING:
        _fill_piece(filling, parameter)


def _fill_piece(filling: Filling, parameter: Parameter) -> None:
    for piece in filling.free_pieces(*_SHOWING[parameter.kind]):
        value = value_of(piece, parameter)
        if value is not None:
            sure = _STRONG if parameter.required else _WEAK
            if not _is_like(piece, parameter.sample):
                sure = _WEAK
            filling.put(parameter, value, piece.start, piece.end, sure)
            return
    if parameter.kind is Kind.PATH:
        for piece in filling.free_pieces("quoted"):
            if is_path(piece.value):
                filling.put(parameter, piece.value, piece.start, piece.end, _STRONG)
                return


def _is_like(piece: Piece, sample: str) -> bool:
    """Tell whether a code begins as the sample in its description does."""
    letters = re.match(r"[A-Za-z]*", sample)
    return piece.kind != "code" or not letters or piece.value.startswith(letters[0])


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


def _fill_numbers(filling: Filling, parameters: Iterable[Parameter]) -> None:
    """Give each number to the argument whose words stand beside it.

    Required arguments then take the numbers that are left.
    """
    wanting = [one for one in parameters if one.kind is Kind.NUMBER and filling.is_missing(one)]
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
            sure = _WEAK * parameter.required
            filling.put(parameter, number_in(piece, parameter), piece.start, end, sure)


def _nearness(filling: Filling, parameter: Parameter, piece: Piece) -> int:
    after = re.match(r"[\s-]*([^\W\d_]+)", filling.request.folded[piece.end :])
    before = word_before(filling.request.folded, piece.start)
    return (
        3 * bool(after and stem(after[1]) in parameter.words)
        + 2 * bool(stem(before) in parameter.words and before not in FUNCTION_WORDS)
        + bool(parameter.required and before in _left_cues(filling.index, parameter))
    )


def _unit_end(filling: Filling, parameter: Parameter, piece: Piece) -> int:
    after = re.match(r"[\s-]*([^\W\d_]+)", filling.request.folded[piece.end :])
    return piece.end + (after.end() if after and stem(after[1]) in parameter.words else 0)


def _left_cues(index: ToolIndex, parameter: Parameter) -> set[str]:
    """Return the words that stand before an argument in the examples."""
    cues: set[str] = set()
    for lesson in index.lessons:
        for slot in lesson.slots:
            if slot.parameter == parameter.name:
                cues.add(word_before(lesson.sentence.folded, slot.start))
    return cues - {""}


def _fill_quoted(filling: Filling, parameter: Parameter) -> bool:
    for piece in filling.free_pieces("quoted")[:1]:
        filling.put(parameter, piece.value, piece.start, piece.end, _WEAK)
        return True
    return False


def _fill_rest(filling: Filling, parameter: Parameter, missing: Sequence[Parameter]) -> bool:
    if parameter.kind is Kind.PATH:
        return _fill_plain_file_name(filling, parameter)
    if parameter.kind is Kind.TEXT:
        return _fill_text(filling, parameter)
    others = [one for one in missing if filling.is_missing(one) and one.kind is Kind.NAME]
    return _fill_name(filling, parameter, is_last=len(others) == 1)


def _fill_plain_file_name(filling: Filling, parameter: Parameter) -> bool:
    """Take "Makefile" out of "the file Makefile": a bare name right after what it names."""
    for span in filling.match.unknown:
        before = word_before(filling.request.folded, span.start)
        is_word = not re.search(r"\s", filling.request.text[span.start : span.end])
        if is_word and before not in FUNCTION_WORDS and stem(before) in parameter.words:
            filling.put(parameter, filling.request.text[span.start : span.end], *span[:2], _WEAK)
            return True
    return False


def _fill_name(filling: Filling, parameter: Parameter, *, is_last: bool) -> bool:
    """Take the stretch that stands where the name stands in the examples, or looks most like one.

    Of equals the last is taken, since what is asked about comes late; of several names the first.
    """
    request = filling.request
    spans = [span for span in filling.match.unknown if not filling.is_used(span.start, span.end)]
    spans = [span for span in spans if may_be(request.text[span.start : span.end], parameter)]
    if not spans:
        return False
    cues = _left_cues(filling.index, parameter)
    ordered = spans[::-1] if is_last else spans
    best = max(ordered, key=lambda span: _fitness(request, span, parameter, cues))
    filling.put(parameter, request.text[best.start : best.end], best.start, best.end, 0.0)
    filling.loose += min(best.weight, _PHRASE)
    filling.doubt += best.owned
    return True


def _fitness(request: Request, span: Span, parameter: Parameter, cues: set[str]) -> float:
    word = word_before(request.folded, span.start)
    return (
        2.0 * (word in cues)
        + 2.0 * (word in name_words(parameter.name))
        + 1.0 * span.capital
        + 0.5 * (word in PREPOSITIONS)
    )


def _fill_text(filling: Filling, parameter: Parameter) -> bool:
    """Take what a command is about: what comes after the words that the tool knows."""
    request = filling.request
    start = _text_start(filling)
    end = _text_end(filling, start)
    text = request.text[start:end].strip(" \t\n,;:")
    if end == len(request.text):
        text += request.rest
    text = re.sub(r"(?i)[\s,]*\bplease[.!?]*$|[?!.。？！]+$", "", text).strip()
    if not text:
        return False
    filling.doubt += bool(_NEW_THING.match(request.folded, start))
    filling.doubt += bool(_QUESTION.search(request.folded, 0, start))
    filling.put(parameter, text, start, end, 0.0)
    inside = [span for span in filling.match.unknown if span.start < end and span.end > start]
    filling.loose += min(sum(span.weight for span in inside), _PHRASE)
    return True


def _text_start(filling: Filling) -> int:
    """Return where the text after the opening words begins."""
    request = filling.request
    known = [*filling.match.hits, *filling.used]
    unknown = [span for span in filling.match.unknown if not filling.is_used(span.start, span.end)]
    first = min((span.start for span in unknown if span.weight), default=len(request.text))
    head = max((span.end for span in known if span.start < first), default=0)
    if head == 0:
        return 0
    if run := re.match(f"{MARK}+", mark(request.folded[head:])):
        return peel(request.folded, head, head + run.end(), opens=False)[0]
    for word in (one for one in request.words if one.start >= head):
        gap = request.folded[head : word.start]
        if word.kind == "run":
            return peel(request.folded, word.start, word.end, opens=False)[0]
        if re.search(r"[:\n]", gap):
            return word.start
        if word.text not in CONNECTORS or word.start > first:
            break
        head = word.end
    return head + len(re.match(r"[\s,:：;-]*", request.folded[head:])[0])  # type: ignore[index]


def _text_end(filling: Filling, start: int) -> int:
    """Return where the text ends: before the arguments that close the request."""
    request, end = filling.request, len(filling.request.text)
    for span in sorted(filling.used, reverse=True):
        if span.start >= start and not re.search(r"\w", request.folded[span.end : end]):
            end = span.start
            if link := re.search(r"\b(?:to|into|in|as|for|at|on)\s+$", request.folded[:end]):
                end = link.start()
    return end
