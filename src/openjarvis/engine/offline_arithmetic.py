"""Arithmetic in a request, as an expression: "What is 15% of 340?" is `15/100*340`.

The longest stretch of tokens that computes something is the expression. Word problems, unknowns
and unfinished sums are left alone: nothing is guessed.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from openjarvis.engine.offline_arithmetic_words import COMPUTING, Token, tokens
from openjarvis.engine.offline_numbers import literal_of
from openjarvis.engine.offline_script import is_unspaced

_MAX_DEPTH = 30
_ATOM, _POWER, _UNARY, _PRODUCT, _SUM = range(5)
_SIGNS = ("+", "-")
_VERBS = {
    "add": ("and", "to"),
    "multiply": ("by", "and"),
    "divide": ("by",),
    "subtract": ("from",),
}
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
    parser = _Parser(found, position)
    try:
        node = parser.sum()
    except _NoArithmeticError:
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
    is_unfinished = any(token.kind in COMPUTING or token.kind in "()" for token in neighbours)
    # "5 km + 300": a sign apart from its number wants something before it.
    is_tail = first > 0 and found[first].kind in _SIGNS and folded[start + 1].isspace()
    touches = _is_foreign(folded, start - 1, _FOREIGN) or _is_foreign(folded, end, _CONTINUED)
    return not (is_unfinished or is_tail or touches)


def _is_foreign(folded: str, at: int, pattern: re.Pattern[str]) -> bool:
    is_inside = 0 <= at < len(folded) and not is_unspaced(folded[at])
    return is_inside and pattern.match(folded, at) is not None


class _NoArithmeticError(Exception):
    """The tokens at this place are no arithmetic."""


class _Node(NamedTuple):
    text: str
    level: int
    percent: str = ""

    def within(self, level: int) -> str:
        """Return the text as an operand of an operator that binds as `level` does."""
        return self.text if self.level <= level else f"({self.text})"


class _Parser:
    """Reads one expression from `position` on, and stops where it ends."""

    def __init__(self, found: Sequence[Token], position: int) -> None:
        self._tokens = found
        self.position = position
        self._depth = 0

    def sum(self) -> _Node:
        left = self._product()
        while operator := self._operator("+", "-"):
            right = self._operand(self._product)
            if right is None:
                break
            if right.percent:  # 340 + 15% is 15% more than 340
                left = _Node(f"{left.within(_PRODUCT)}*(1{operator}{right.percent}/100)", _PRODUCT)
            else:
                tight = _PRODUCT if operator == "-" else _SUM
                left = _Node(f"{left.within(_SUM)}{operator}{right.within(tight)}", _SUM)
        return left

    def _product(self) -> _Node:
        left = self._share()
        while operator := self._operator("*", "/", "//", "mod", "%"):
            right = self._operand(self._share)
            if right is None:
                break
            sign = "%" if operator == "mod" else operator
            left = _Node(f"{left.within(_PRODUCT)}{sign}{right.within(_UNARY)}", _PRODUCT)
        return left

    def _share(self) -> _Node:
        """Read "15% of 340", and "340的15%", which says the same the other way round."""
        left = self._power()
        before = self.position
        word = self._operator("of", "on")
        right = self._operand(self._power) if word else None
        if word and right and left.percent and not right.percent:
            return _Node(f"{left.within(_PRODUCT)}*{right.within(_UNARY)}", _PRODUCT)
        if word and right and right.percent and not left.percent:
            return _Node(f"{right.within(_PRODUCT)}*{left.within(_UNARY)}", _PRODUCT)
        if word and right and self._operator("power mark"):  # 2的10次方
            return _Node(f"{left.within(_ATOM)}**{right.within(_POWER)}", _POWER)
        self.position = before
        return left

    def _power(self) -> _Node:
        if self._operator("-"):
            return _Node(f"-{self._nested(self._power).within(_POWER)}", _UNARY)
        if self._operator("+"):
            return self._nested(self._power)
        base = self._postfixed(self._primary())
        if self._operator("**"):
            exponent = self._operand(self._power)
            if exponent is not None:
                return _Node(f"{base.within(_ATOM)}**{exponent.within(_UNARY)}", _POWER)
        return base

    def _postfixed(self, node: _Node) -> _Node:
        while True:
            if self._operator("squared"):
                node = _Node(f"{node.within(_ATOM)}**2", _POWER)
            elif self._operator("cubed"):
                node = _Node(f"{node.within(_ATOM)}**3", _POWER)
            elif self._operator("rooted"):
                node = _Node(f"sqrt({node.text})", _ATOM)
            elif self._kind() == "%" and self._kind(1) not in ("number", "("):
                self.position += 1
                node = _Node(f"{node.within(_PRODUCT)}/100", _PRODUCT, node.within(_PRODUCT))
            else:
                return node

    def _primary(self) -> _Node:
        token = self._next()
        if token.kind == "number":
            literal = literal_of(token.text)
            if literal is None:
                raise _NoArithmeticError
            return _Node(literal, _ATOM)
        if token.kind == "(":
            inner = self._nested(self.sum)
            self._expect(")")
            return _Node(f"({inner.text})", _ATOM)
        if token.kind == "pi":
            return _Node("pi", _ATOM)
        return self._applied(token)

    def _applied(self, token: Token) -> _Node:
        """Read what a word in front does to what follows it."""
        if token.kind == "call":
            self._expect("(")
            node = _Node(f"{token.text}({','.join(self._list())})", _ATOM)
            self._expect(")")
            return node
        if token.kind == "sqrt":
            return _Node(f"sqrt({_bare(self._nested(self._power).text)})", _ATOM)
        if token.kind == "per hundred":
            share = self._nested(self._power)
            return _Node(f"{share.within(_PRODUCT)}/100", _PRODUCT, share.within(_PRODUCT))
        if token.kind == "half":
            return _Node(f"{self._nested(self._power).within(_PRODUCT)}/2", _PRODUCT)
        if token.kind == "double":
            return _Node(f"2*{self._nested(self._power).within(_UNARY)}", _PRODUCT)
        if token.kind in _VERBS:
            return self._told(token.kind)
        return self._of_a_list(token.kind)

    def _told(self, verb: str) -> _Node:
        """Read "add 5 to 7" and "subtract 4 from 10", whose numbers come the other way round."""
        first = self._nested(self._share)
        if not self._operator(*_VERBS[verb]):
            raise _NoArithmeticError
        second = self._nested(self._share)
        if verb == "subtract":
            first, second = second, first
        operator = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}[verb]
        return _Node(f"{first.within(_UNARY)}{operator}{second.within(_UNARY)}", _SUM)

    def _of_a_list(self, kind: str) -> _Node:
        if kind not in ("sum", "product", "difference", "average", "max", "min"):
            raise _NoArithmeticError
        members = self._list()
        if len(members) < 2:
            raise _NoArithmeticError
        if kind in ("max", "min"):
            return _Node(f"{kind}({','.join(members)})", _ATOM)
        operator = {"product": "*", "difference": "-"}.get(kind, "+")
        joined = operator.join(
            member if re.fullmatch(r"[\w.]+", member) else f"({member})" for member in members
        )
        if kind == "average":
            return _Node(f"({joined})/{len(members)}", _PRODUCT)
        return _Node(f"({joined})", _ATOM)

    def _list(self) -> list[str]:
        members = [self._nested(self.sum).text]
        while self._operator("and"):
            while self._operator("and"):
                pass  # "4, 8, and 15"
            member = self._operand(self.sum)
            if member is None:
                break
            members.append(member.text)
        return members

    def _operand(self, read: Callable[[], _Node]) -> _Node | None:
        """Read the operand after an operator; without one the operator is given back."""
        before = self.position
        try:
            return self._nested(read)
        except _NoArithmeticError:
            self.position = before - 1
            return None

    def _nested(self, read: Callable[[], _Node]) -> _Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _NoArithmeticError
        node = read()
        self._depth -= 1
        return node

    def _operator(self, *kinds: str) -> str:
        kind = self._kind()
        if kind not in kinds:
            return ""
        self.position += 1
        return kind

    def _kind(self, ahead: int = 0) -> str:
        index = self.position + ahead
        return self._tokens[index].kind if index < len(self._tokens) else ""

    def _next(self) -> Token:
        if self.position >= len(self._tokens):
            raise _NoArithmeticError
        self.position += 1
        return self._tokens[self.position - 1]

    def _expect(self, kind: str) -> None:
        if self._next().kind != kind:
            raise _NoArithmeticError


def _bare(text: str) -> str:
    """Return `(16+9)` without its parentheses when they are one pair."""
    inner = text[1:-1]
    return inner if text == f"({inner})" and not re.search(r"[()]", inner) else text
