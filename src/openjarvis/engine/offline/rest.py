"""Names and texts: what is left of a request after the words that the tool knows.

"Is it raining in Cape Town?" leaves a name; "Remember that the door sticks" leaves a text.
"""

import re
from collections.abc import Sequence

from openjarvis.engine.offline.filling import WEAK, Filling
from openjarvis.engine.offline.index import ToolIndex, left_cues
from openjarvis.engine.offline.match import Span
from openjarvis.engine.offline.request import Request
from openjarvis.engine.offline.schema import Kind, Parameter
from openjarvis.engine.offline.script import MARK, Word, mark, stem, word_before
from openjarvis.engine.offline.values import may_be
from openjarvis.engine.offline.words import CONNECTORS, FUNCTION_WORDS, PREPOSITIONS, peel

_PHRASE = 4
_NEW_THING = re.compile(r"\s*(?:me|us|a|an)\s")  # "write a poem": the poem is what is asked for
_QUESTION = re.compile(r"\b(?:what|which|who|when|where|why|how|did|does)\b")


def fill_rest(filling: Filling, missing: Sequence[Parameter]) -> bool:
    """Fill the missing names and texts; False when one is not in the request."""
    for text in (one for one in missing if one.kind is Kind.TEXT):
        _fill_quoted(filling, text)
    ordered = _in_example_order(filling.index, [one for one in missing if filling.is_missing(one)])
    return all(
        _fill_quoted(filling, parameter) or _fill_plain(filling, parameter, missing)
        for parameter in ordered
    )


def _in_example_order(index: ToolIndex, parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return names before texts, each in the order in which the examples have them."""
    order = [slot.parameter for lesson in index.lessons[:1] for slot in lesson.slots]

    def place(parameter: Parameter) -> tuple[bool, int]:
        known = parameter.name in order
        return parameter.kind is Kind.TEXT, order.index(parameter.name) if known else len(order)

    return sorted(parameters, key=place)


def _fill_quoted(filling: Filling, parameter: Parameter) -> bool:
    for piece in filling.free_pieces("quoted")[:1]:
        filling.put(parameter, piece.value, piece.start, piece.end, WEAK)
        return True
    return False


def _fill_plain(filling: Filling, parameter: Parameter, missing: Sequence[Parameter]) -> bool:
    if parameter.kind is Kind.PATH:
        return _fill_plain_file_name(filling, parameter)
    if parameter.kind is Kind.TEXT:
        return _fill_text(filling, parameter)
    others = [one for one in missing if filling.is_missing(one) and one.kind is Kind.NAME]
    return _fill_name(filling, parameter, is_last=len(others) == 1)


def _fill_plain_file_name(filling: Filling, parameter: Parameter) -> bool:
    """Take "Makefile" out of "the file Makefile", and README anywhere."""
    for span in filling.match.unknown:
        name = filling.request.text[span.start : span.end]
        before = word_before(filling.request.folded, span.start)
        is_said = before not in FUNCTION_WORDS and stem(before) in parameter.words
        if (is_said or name.isupper()) and not re.search(r"\s", name):
            filling.put(parameter, name, span.start, span.end, WEAK)
            return True
    return False


def _fill_name(filling: Filling, parameter: Parameter, *, is_last: bool) -> bool:
    """Take the stretch that stands where the name stands in the examples, or looks most like one.

    Of equals the last is taken, since what is asked about comes late; of several names the first.
    """
    request = filling.request
    names = [hit for hit in filling.match.hits if hit.capital]
    spans = [
        span
        for span in (filling.match.unknown or names)
        if not filling.is_used(span.start, span.end)
    ]
    spans = [span for span in spans if may_be(request.text[span.start : span.end], parameter)]
    if not spans:
        return False
    cues = left_cues(filling.index, parameter)
    ordered = spans[::-1] if is_last else spans
    best = max(ordered, key=lambda span: _fitness(request, span, parameter, cues))
    filling.put(parameter, request.text[best.start : best.end], best.start, best.end, 0.0)
    filling.loose += min(best.weight, _PHRASE)
    filling.doubt += best.owned
    return True


def _fitness(request: Request, span: Span, parameter: Parameter, cues: set[str]) -> float:
    word = word_before(request.folded, span.start)
    return (
        2.0 * (word in cues or word in parameter.cues)
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
    if word_before(request.folded, start) not in CONNECTORS:
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
        if not _connects(request.folded, word) or word.start > first:
            break
        head = word.end
    text = request.folded[head:]
    return head + len(text) - len(text.lstrip(" \t\n,:：;-"))


def _connects(folded: str, word: Word) -> bool:
    """Tell whether a word only leads over to the text, as in "remind me to call Ann"."""
    after = re.match(r"\s+(?:to|that|about|of)\s", folded[word.end : word.end + 9])
    return word.text in CONNECTORS or (word.text in ("me", "us") and after is not None)


def _text_end(filling: Filling, start: int) -> int:
    """Return where the text ends: before the arguments that close the request."""
    request, end = filling.request, len(filling.request.text)
    for span in sorted(filling.used, reverse=True):
        if span.start >= start and not re.search(r"\w", request.folded[span.end : end]):
            end = span.start
            if link := re.search(r"\b(?:to|into|in|as|for|at|on)\s+$", request.folded[:end]):
                end = link.start()
    return end
