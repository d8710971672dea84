"""Which words of a request a tool knows, and which stretches of it the tool does not."""

import re
from collections.abc import Sequence
from math import log2
from typing import NamedTuple

from openjarvis.engine.offline.examples import cut, known_grams
from openjarvis.engine.offline.index import ToolIndex
from openjarvis.engine.offline.request import Request
from openjarvis.engine.offline.script import Word, gram_size, stem
from openjarvis.engine.offline.words import is_content, peel

_OWN = 1.0
_NAME_WORD = 1.5  # a name that is not understood changes the question more than another word
_LINKS = re.compile(r"[\s'’.-]{1,2}")


class Span(NamedTuple):
    """A stretch of the request; `weight` counts words, `capital` marks what is written as a name.

    `owned` counts the words that are another tool's own.
    """

    start: int
    end: int
    weight: float
    capital: bool = False
    owned: int = 0


class Match(NamedTuple):
    """The words that a tool knows, weighed, and the stretches it does not know, in order."""

    hits: list[Span]
    unknown: list[Span]


class Rarity:
    """Weighs a word by how few of the offered tools know it: 1 for one tool, less for more."""

    def __init__(self, indexes: Sequence[ToolIndex]) -> None:
        self._indexes = indexes
        self._known: dict[str, float] = {}

    def of(self, feature: str) -> float:
        """Return the weight of a stem or n-gram."""
        weight = self._known.get(feature)
        if weight is None:
            count = sum(feature in index.vocabulary for index in self._indexes)
            weight = self._known[feature] = 1 / (1 + log2(max(count, 1)) / 2)
        return weight

    def is_owned(self, feature: str) -> bool:
        """Tell whether a stem is in the name or the examples of a tool."""
        return any(index.vocabulary.get(feature, 0.0) >= _OWN for index in self._indexes)


def match(request: Request, index: ToolIndex, rarity: Rarity) -> Match:
    """Return what of a request a tool knows."""
    hits: list[Span] = []
    unknown: list[Span] = []
    counted: set[str] = set()
    for word in request.words:
        if word.kind == "run":
            _match_run(request, word, index, rarity, hits, unknown)
            continue
        capital = request.is_capital(word)
        feature = stem(word.text)
        is_name = capital and bool(unknown) and _goes_on(unknown[-1], word, request.folded)
        if is_content(word) and feature in index.vocabulary and not is_name:
            weight = 0.0 if feature in counted else index.vocabulary[feature] * rarity.of(feature)
            hits.append(Span(word.start, word.end, weight, capital))
            counted.add(feature)
        elif is_content(word) or (capital and len(word.text) > 1):
            weight = _NAME_WORD if capital else 1.0
            owned = not capital and rarity.is_owned(feature)
            unknown.append(Span(word.start, word.end, weight * is_content(word), capital, owned))
    return Match(hits, _joined(unknown, request.folded))


def _goes_on(name: Span, word: Word, folded: str) -> bool:
    """Tell whether a word goes on with a name, as the second one of "Mexico City" does."""
    return name.capital and folded[name.end : word.start] == " "


def _match_run(
    request: Request,
    run: Word,
    index: ToolIndex,
    rarity: Rarity,
    hits: list[Span],
    unknown: list[Span],
) -> None:
    vocabulary = index.vocabulary
    covered: list[Word | Span] = list(known_grams(run, vocabulary))
    for gloss in request.glosses:
        weights = [vocabulary[one] * rarity.of(one) for one in gloss.stems if one in vocabulary]
        if weights and run.start <= gloss.start < run.end:
            hits.append(Span(gloss.start, gloss.end, max(weights)))
            covered.append(hits[-1])
    size = gram_size(run.text)
    for gram in [one for one in covered if isinstance(one, Word)]:
        share = (gram.end - gram.start) / size / size  # each character is in `size` n-grams
        weight = vocabulary[gram.text] * rarity.of(gram.text) * share
        hits.append(Span(gram.start, gram.end, weight))
    for part in cut(run, covered):
        start, end = peel(request.folded, part.start, part.end, opens=part.start == run.start)
        if end > start:
            unknown.append(Span(start, end, max(0.5, (end - start) / size)))


def _joined(spans: Sequence[Span], folded: str) -> list[Span]:
    """Return the stretches with neighbours of one stretch put together: `new york`, `The Ivy`."""
    joined: list[Span] = []
    for span in spans:
        last = joined[-1] if joined else None
        if last and _LINKS.fullmatch(folded[last.end : span.start]):
            weight, owned = last.weight + span.weight, last.owned + span.owned
            capital = last.capital or span.capital
            joined[-1] = Span(last.start, span.end, weight, capital, owned)
        else:
            joined.append(span)
    return joined
