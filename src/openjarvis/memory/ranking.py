"""Which of the texts that a database found comes first: one judgement for every database.

A database offers candidates by its own means; the order that a caller sees is made here, by BM25
over the segmenter's terms, with a rise for texts that hold a query's unspaced words as a whole.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from openjarvis.memory.segment import Query, characters_of, fold, terms_of_folded

SATURATION = 1.2
LENGTH_WEIGHT = 0.75
CANDIDATES = 40
"""How many texts a database offers for ranking, at least."""

MOST_SCORED = 5_000
"""How many matching texts a database weighs to choose its candidates, at most."""

_FUSION = 60  # the usual constant of reciprocal rank fusion


@dataclass(frozen=True, slots=True)
class Corpus:
    """What a score depends on beside the text: all texts together.

    `holding` tells in how many texts each term and each character of the query stands.
    """

    documents: int
    words: int
    holding: Mapping[str, int]

    @property
    def average_length(self) -> float:
        """The number of terms in a text, on average; never zero."""
        return max(self.words, 1) / max(self.documents, 1)

    def weight(self, term: str) -> float:
        """Return how much finding `term` says: more for a rare one, above zero for any."""
        holding = min(self.holding.get(term, 0), self.documents)
        return math.log(1 + (self.documents - holding + 0.5) / (holding + 0.5))


@dataclass(frozen=True, slots=True)
class Plan:
    """How to look for candidates: those with a word of `narrow`, weighed by the words of `terms`.

    Words that stand in many texts are left out of `narrow` when rarer ones can lead, so that a
    search does not weigh every text; those that stand in most are left out of `terms` too. Those
    that are `characters` stand for all terms that begin with them.
    """

    narrow: tuple[str, ...]
    terms: tuple[str, ...]
    characters: frozenset[str]


def plan(query: Query, corpus: Corpus) -> Plan | None:
    """Return how to search for `query`; None when no text has a word of it."""
    asked = (*query.terms, *query.characters)
    known = sorted(filter(corpus.holding.get, asked), key=corpus.holding.__getitem__)
    matching = list(accumulate(corpus.holding[term] for term in known))
    leading = max(bisect_right(matching, MOST_SCORED), 1)
    telling = [term for term in known if corpus.holding[term] <= corpus.documents / 2]
    terms = known[: max(leading, len(telling))]
    if not known:
        return None
    return Plan(tuple(known[:leading]), tuple(terms), frozenset(query.characters))


def score(query: Query, text: str, corpus: Corpus) -> float:
    """Return how well `text` answers `query`: zero when no word of it is there."""
    folded = fold(text)
    terms = terms_of_folded(folded)
    wanted = frozenset(query.terms)
    counts = Counter([term for term in terms if term in wanted])
    if query.characters:
        alone = frozenset(query.characters)
        counts.update(one for one in characters_of(folded) if one in alone)
    length = len(terms) / corpus.average_length
    damping = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length)
    total = sum(
        corpus.weight(term) * count * (SATURATION + 1) / (count + damping)
        for term, count in counts.items()
    )
    return total * (1 + _wholeness(query, folded)) if query.windows else total


def _wholeness(query: Query, folded: str) -> float:
    """Return which share of the query's windows stands in a folded text."""
    return sum(window in folded for window in query.windows) / len(query.windows)


def fused(rankings: Sequence[Sequence[int]]) -> dict[int, float]:
    """Return ids with their scores by reciprocal rank, the best first.

    An id that several rankings hold high up comes before one that a single ranking holds.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(ranking, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (_FUSION + rank)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))
