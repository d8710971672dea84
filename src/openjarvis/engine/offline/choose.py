"""The one tool that a request is for, with its arguments, or none.

A tool scores by the share of the request that it accounts for: the words it knows, weighed by how
few other tools know them, and the arguments that show what they are, against the words it ignores.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from openjarvis.engine.offline.examples import cut
from openjarvis.engine.offline.fill import fill
from openjarvis.engine.offline.filling import Filling
from openjarvis.engine.offline.follow import follow
from openjarvis.engine.offline.index import ToolIndex, index_of
from openjarvis.engine.offline.match import Match, Rarity, Span, match
from openjarvis.engine.offline.request import Request
from openjarvis.engine.offline.schema import Kind
from openjarvis.engine.offline.script import Word
from openjarvis.engine.offline.words import peel
from openjarvis.toolkit.base import ToolSpec

THRESHOLD = 0.5
"""The share of a request that a tool must account for."""
_LEAST = 0.45
_FOLLOWS_AN_EXAMPLE, _FOLLOWS_ITS_GRAMMAR = 1.5, 0.6
_PER_LOOSE_WORD = 0.2
_INSIDE_A_TEXT = 0.5
_STRAY = {"date": 0.0, "number": 0.3}


class Choice(NamedTuple):
    """A tool, the arguments to call it with, and how well it fits.

    `is_named` tells that the request has a word of the tool, not only something it could take.
    """

    tool: str
    arguments: dict[str, Any]
    score: float
    is_named: bool


def choose(request: Request, specs: Sequence[ToolSpec]) -> list[Choice]:
    """Return the tools that fit a request, the best first; ties keep the order of the offer."""
    if request.forbids:
        return []
    indexes = [index_of(spec) for spec in specs]
    rarity = Rarity(indexes)
    fitting = [choice for index in indexes if (choice := _choice(request, index, rarity))]
    fitting.sort(key=lambda choice: -choice.score)
    best = fitting[:2]
    if len(best) == 2 and best[0].score == best[1].score and not best[0].is_named:
        return []  # a path alone does not say whether to read the file or to delete it
    return fitting


def _choice(request: Request, index: ToolIndex, rarity: Rarity) -> Choice | None:
    if followed := follow(request, index):
        score = _FOLLOWS_AN_EXAMPLE if followed.says_something else _FOLLOWS_ITS_GRAMMAR
        return Choice(index.name, followed.arguments, score, is_named=True)
    known = match(request, index, rarity)
    filling = fill(request, index, known)
    if filling is None:
        return None
    score = _score(filling, known)
    if score < THRESHOLD:
        return None
    return Choice(index.name, filling.arguments, score, is_named=bool(known.hits))


def _score(filling: Filling, known: Match) -> float:
    """Return the share of the request that a tool accounts for."""
    found = filling.evidence + _weight_of_hits(filling, known)
    if found < _LEAST:
        return 0.0
    missed = sum(_left_over(filling, span) for span in known.unknown)
    # A number beside an expression says that the expression is not all that is to be computed.
    computes = any(parameter.kind is Kind.EXPRESSION for parameter in filling.index.parameters)
    stray = sum(
        1.0 if computes and piece.kind == "number" else _STRAY.get(piece.kind, 1.0)
        for piece in filling.request.pieces
        if not filling.is_used(piece.start, piece.end)
    )
    vague = _PER_LOOSE_WORD * filling.loose + filling.doubt
    return found / (found + missed + stray + vague)


def _weight_of_hits(filling: Filling, known: Match) -> float:
    """Return what the known words weigh; those of a text count, less, when there are no others."""
    inside = {hit for hit in known.hits if filling.is_used(hit.start, hit.end)}
    outside = sum(hit.weight for hit in known.hits if hit not in inside)
    return outside or _INSIDE_A_TEXT * sum(hit.weight for hit in inside)


def _left_over(filling: Filling, span: Span) -> float:
    """Return the weight of what no argument was taken from in a stretch that the tool ignores."""
    whole = Word("run", filling.request.folded[span.start : span.end], span.start, span.end)
    parts = [
        peel(filling.request.folded, part.start, part.end, opens=part.start == 0)
        for part in cut(whole, filling.used)
    ]
    letters = sum(len(re.findall(r"\w", filling.request.folded[start:end])) for start, end in parts)
    return span.weight * letters / max(1, len(re.findall(r"\w", whole.text)))
