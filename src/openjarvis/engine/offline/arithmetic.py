"""Arithmetic in a request, as an expression: "What is 15% of 340?" is `15/100*340`.

The longest stretch of tokens that computes something is the expression. Word problems, unknowns
and unfinished sums are left alone: nothing is guessed.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from openjarvis.engine.offline.arithmetic_words import COMPUTING, Token, tokens
from openjarvis.engine.offline.grammar import NoArithmeticError, Parser
from openjarvis.engine.offline.script import is_unspaced

_SIGNS = ("+", "-")
_FOREIGN = re.compile(r"[\w:#@.,]")
_CONTINUED = re.compile(r"\w|[.,:]\d")
_ONLY_A_SHARE = re.compile(r"[\d.]+/100")  # "50% off" asks for nothing
_RISKY = re.compile(r"\d+([-/])\d+(?:\1\d+)?")


class Expression(NamedTuple):
    """An expression for a calculator, and its place in the folded text.

    What looks like `1/2` or `5-3`, without spaces, may be a date, a score or a range as well; then
    it is not `certain`.
    """

    text: str
    start: int
    end: int
    certain: bool


def find_expression(folded: str) -> Expression | None:
    """Return the arithmetic in a folded text, or None when there is none that can be computed."""
    found = _without_named_percents(tokens(folded))
    if not any(token.kind in COMPUTING for token in found):
        return None
    best: Expression | None = None
    position = 0
    while position < len(found):
        expression, after = _expression_at(found, position, folded)
        if expression and (
            best is None or expression.end - expression.start > best.end - best.start
        ):
            best = expression
        position = max(after, position + 1)
    return best


def _without_named_percents(found: list[Token]) -> list[Token]:
    """Return tokens in which "20% tip on 45" reads as "20% on 45"."""
    kept: list[Token] = []
    for index, token in enumerate(found):
        ahead = [other.kind for other in found[index + 1 : index + 3]]
        names = (
            bool(kept) and kept[-1].kind == "%" and token.kind == "other" and token.text.isalpha()
        )
        if not (names and ahead in (["on", "number"], ["of", "number"])):
            kept.append(token)
    return kept


def _expression_at(
    found: Sequence[Token], position: int, folded: str
) -> tuple[Expression | None, int]:
    parser = Parser(found, position)
    try:
        node = parser.sum()
    except NoArithmeticError:
        return None, position + 1
    used = found[position : parser.position]
    start, end = used[0].start, used[-1].end
    computes = any(token.kind in COMPUTING for token in used[used[0].kind in _SIGNS :])
    if not computes or not _stands_alone(found, position, parser.position, folded):
        return None, parser.position
    if _ONLY_A_SHARE.fullmatch(node.text):
        return None, parser.position
    certain = not _RISKY.fullmatch(folded[start:end])
    return Expression(node.text, start, end, certain), parser.position


def _stands_alone(found: Sequence[Token], first: int, after: int, folded: str) -> bool:
    """Tell whether nothing before or after makes the tokens a part of something else."""
    neighbours = [*found[max(0, first - 1) : first], *found[after : after + 1]]
    start, end = found[first].start, found[after - 1].end
    is_unfinished = any(
        token.kind in COMPUTING or token.kind in ("(", ")", "number") for token in neighbours
    )
    # "5 km + 300": a sign apart from its number wants something before it.
    is_tail = first > 0 and found[first].kind in _SIGNS and folded[start + 1].isspace()
    touches = _is_foreign(folded, start - 1, _FOREIGN) or _is_foreign(folded, end, _CONTINUED)
    return not (is_unfinished or is_tail or touches)


def _is_foreign(folded: str, at: int, pattern: re.Pattern[str]) -> bool:
    is_inside = 0 <= at < len(folded) and not is_unspaced(folded[at])
    return is_inside and pattern.match(folded, at) is not None
