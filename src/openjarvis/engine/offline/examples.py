"""What the example sentences of a tool teach: where its arguments stand among which words."""

import re
from collections.abc import Container, Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple

from openjarvis.engine.offline.request import Request, read_request
from openjarvis.engine.offline.schema import Kind, Parameter
from openjarvis.engine.offline.script import Word, fold, gram_size, stem, word_before
from openjarvis.engine.offline.words import PREPOSITIONS, is_content, peel

_ANY_DAY = date(2000, 1, 1)
_LONGEST_SLOT = 60
_LEAST_LITERAL = 2
_MOST_SLOTS = 3  # each multiplies the time that a request which does not fit can take
_LONGEST_NAME = 2  # in n-grams; a longer stretch holds more than a name
_PIECE_OF = {
    Kind.CODE: "code",
    Kind.PATH: "path",
    Kind.URL: "url",
    Kind.EMAIL: "email",
    Kind.NUMBER: "number",
    Kind.DATE: "date",
    Kind.NAME: "quoted",
    Kind.TEXT: "quoted",
}
_AUXILIARIES = ("do", "does", "did", "will", "can")
_PLACES = ("ที่", "ใน", "在")
_OPENING = r"\s*(?:please\s+|(?:can|could|would|will) you\s+(?:please\s+)?|ช่วย|กรุณา|请)?"
_CLOSING = r"(?:[\s,]*please)?(?:ครับ|ค่ะ|คะ|หน่อย|นะ|呢|啊|吗|了)*[\s?!.。？！…]*"


class Slot(NamedTuple):
    """The place of an argument in an example."""

    parameter: str
    start: int
    end: int


class Lesson(NamedTuple):
    """An example with the places of its arguments, and the pattern of the sentences like it.

    `says_something` tells that a word of the pattern is more than grammar.
    """

    sentence: Request
    slots: list[Slot]
    pattern: re.Pattern[str] | None
    says_something: bool

    def own_words(self) -> Iterator[Word]:
        """Yield the words that belong to no argument; runs are cut where an argument stands."""
        for word in self.sentence.words:
            yield from cut(word, self.slots)


def cut(word: Word, spans: Sequence[Any]) -> list[Word]:
    """Return the parts of a word that lie in none of the spans."""
    parts, start = [], word.start
    inside = sorted(
        (span.start, span.end) for span in spans if span.start < word.end and span.end > word.start
    )
    for span_start, span_end in [*inside, (word.end, word.end)]:
        if span_start > start:
            text = word.text[start - word.start : span_start - word.start]
            parts.append(Word(word.kind, text, start, span_start))
        start = max(start, span_end)
    return parts


def lesson_of(
    example: Any, parameters: Sequence[Parameter], known: Container[str]
) -> Lesson | None:
    """Return what an example teaches, or None for one that is no example.

    `known` are the stems and n-grams of the tool's description: they are no argument.
    """
    sentence, arguments = (
        (example[0], example[1])
        if isinstance(example, list | tuple) and len(example) == 2
        else (example, None)
    )
    if not isinstance(sentence, str) or not sentence.strip():
        return None
    request = read_request(sentence, _ANY_DAY)
    if isinstance(arguments, dict):
        slots = _told_slots(request, arguments)
    else:
        slots = _guessed_slots(request, parameters, known)
    slots.sort(key=lambda slot: slot.start)
    kinds = {parameter.name: parameter.kind for parameter in parameters}
    lesson = Lesson(request, slots, _pattern(request.folded, slots, kinds), False)
    says = any(is_content(word) for word in lesson.own_words())
    return lesson._replace(says_something=says)


def _told_slots(request: Request, arguments: dict[str, Any]) -> list[Slot]:
    slots: list[Slot] = []
    for name, value in arguments.items():
        written = fold(str(value)).strip(" ?!.")
        for form in dict.fromkeys((written, written.replace("_", " "))):
            places = re.finditer(_whole(form), request.folded) if form.strip() else ()
            free = (
                place
                for place in places
                if not any(place.start() < slot.end and place.end() > slot.start for slot in slots)
            )
            if place := next(free, None):
                slots.append(Slot(name, place.start(), place.end()))
                break
    return slots


def _whole(form: str) -> str:
    """Return the pattern of a value that no Latin letter or digit goes on."""
    before = r"(?<![a-z0-9])" if re.match(r"[a-z0-9]", form) else ""
    after = r"(?![a-z0-9])" if re.search(r"[a-z0-9]$", form) else ""
    return before + re.escape(form) + after


def _guessed_slots(
    request: Request, parameters: Sequence[Parameter], known: Container[str]
) -> list[Slot]:
    slots: list[Slot] = []
    open_ones: list[Parameter] = []
    for parameter in (one for one in parameters if one.required):
        kind = _PIECE_OF.get(parameter.kind)
        piece = next((piece for piece in request.pieces if piece.kind == kind), None)
        if piece is not None:
            slots.append(Slot(parameter.name, piece.start, piece.end))
        elif parameter.kind in (Kind.NAME, Kind.TEXT):
            open_ones.append(parameter)
    if len(open_ones) == 1 and (span := _guessed_span(request, known)):
        slots.append(Slot(open_ones[0].name, *span))
    return slots


def _guessed_span(request: Request, known: Container[str]) -> tuple[int, int] | None:
    """Return the only stretch of an example that can be its argument."""
    latin = [word for word in request.words if word.kind == "word"]
    names = _groups([word for word in latin if request.is_capital(word)], request.folded)
    if len(names) == 1:
        return names[0]
    unknown = [word for word in latin if is_content(word) and stem(word.text) not in known]
    groups = _groups(unknown, request.folded)
    if groups:
        start, end = groups[-1]
        before = word_before(request.folded, start)
        last = max(word.start for word in unknown if word.end <= end)
        if before in _AUXILIARIES and last > start:  # "What does serendipity mean?"
            return start, start + len(request.folded[start:last].rstrip())
        return (start if before in PREPOSITIONS else last), end
    return _unspaced_span(request, known)


def _groups(words: Sequence[Word], folded: str) -> list[tuple[int, int]]:
    groups: list[tuple[int, int]] = []
    for word in words:
        if groups and re.fullmatch(r"[\s'-]+", folded[groups[-1][1] : word.start]):
            groups[-1] = (groups[-1][0], word.end)
        else:
            groups.append((word.start, word.end))
    return groups


def _unspaced_span(request: Request, known: Container[str]) -> tuple[int, int] | None:
    spans: list[tuple[int, int]] = []
    for run in (word for word in request.words if word.kind == "run"):
        covered = [*request.glosses, *known_grams(run, known)]
        for part in cut(run, covered):
            span = peel(request.folded, part.start, part.end, opens=part.start == run.start)
            if span[1] > span[0]:
                spans.append(span)
    placed = [span for span in spans if request.folded[: span[0]].endswith(_PLACES)]
    if len(placed) == 1:
        return placed[0]
    return _owner(request.folded, *spans[0]) if len(spans) == 1 else None


def _owner(folded: str, start: int, end: int) -> tuple[int, int] | None:
    """Return whose thing a stretch names (北京 in 北京的空气), or all of it when it is short."""
    stretch = folded[start:end]
    if owned := re.match(r"(.{2,}?)[的の].", stretch):
        return start, start + len(owned[1])
    if owner := re.search(r".(?:ของ|ที่|ใน)(.{2,})$", stretch):
        return end - len(owner[1]), end
    longest = _LONGEST_NAME * gram_size(stretch)
    return (start, end) if len(stretch) <= longest else None


def known_grams(run: Word, known: Container[str]) -> list[Word]:
    """Return the n-grams of a run that are known, at their places."""
    size = min(gram_size(run.text), len(run.text))
    return [
        Word("run", run.text[at : at + size], run.start + at, run.start + at + size)
        for at in range(len(run.text) - size + 1)
        if run.text[at : at + size] in known
    ]


def _pattern(folded: str, slots: Sequence[Slot], kinds: dict[str, Kind]) -> re.Pattern[str] | None:
    body = folded.rstrip(" ?!.。？！…")
    source = literal = ""
    position = 0
    for index, slot in enumerate(slots):
        value = (
            r"[\d.,]*\d"
            if kinds.get(slot.parameter) is Kind.NUMBER
            else rf".{{1,{_LONGEST_SLOT}}}?"
        )
        literal += body[position : slot.start]
        source += f"{_spaced(body[position : slot.start])}(?P<s{index}>{value})"
        position = slot.end
    literal += body[position:]
    if len(slots) > _MOST_SLOTS or len(re.findall(r"\w", literal)) < _LEAST_LITERAL:
        return None
    return re.compile(_OPENING + source + _spaced(body[position:]) + _CLOSING)


def _spaced(literal: str) -> str:
    return re.sub(r"(?:\\\s|\s)+", r"\\s+", re.escape(literal))
