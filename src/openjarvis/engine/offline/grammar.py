"""The grammar of spoken and written arithmetic: tokens in, an expression for a calculator out.

Percentages read as people mean them: 15% of 340 is `15/100*340`, 340 + 15% is 15% more than 340.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from openjarvis.engine.offline.arithmetic_words import Token
from openjarvis.engine.offline.numbers import literal_of

_MAX_DEPTH = 30
_ATOM, _POWER, _UNARY, _PRODUCT, _SUM = range(5)
_VERBS = {
    "add": ("and", "to"),
    "multiply": ("by", "and"),
    "divide": ("by",),
    "subtract": ("from",),
}


class NoArithmeticError(Exception):
    """The tokens at this place are no arithmetic."""


class Node(NamedTuple):
    """A piece of the expression; `level` says how tightly it binds, `percent` what is per cent."""

    text: str
    level: int
    percent: str = ""

    def within(self, level: int) -> str:
        """Return the text as an operand of an operator that binds as `level` does."""
        return self.text if self.level <= level else f"({self.text})"


class Parser:
    """Reads one expression from `position` on, and leaves `position` where it ends."""

    def __init__(self, found: Sequence[Token], position: int) -> None:
        self._tokens = found
        self.position = position
        self._depth = 0

    def sum(self) -> Node:
        """Return the expression.

        Raises:
            NoArithmeticError: when none begins here.
        """
        left = self._product()
        while operator := self._operator("+", "-"):
            right = self._operand(self._product)
            if right is None:
                break
            if right.percent and not left.percent:  # 340 + 15% is 15% more than 340
                left = Node(f"{left.within(_PRODUCT)}*(1{operator}{right.percent}/100)", _PRODUCT)
            else:
                tight = _PRODUCT if operator == "-" else _SUM
                left = Node(f"{left.within(_SUM)}{operator}{right.within(tight)}", _SUM)
        return left

    def _product(self) -> Node:
        left = self._share()
        while operator := self._operator("*", "/", "//", "mod", "%"):
            right = self._operand(self._share)
            if right is None:
                break
            sign = "%" if operator == "mod" else operator
            left = Node(f"{left.within(_PRODUCT)}{sign}{right.within(_UNARY)}", _PRODUCT)
        return left

    def _share(self) -> Node:
        """Read "15% of 340", and "340的15%", which says the same the other way round."""
        left = self._power()
        before = self.position
        word = self._operator("of", "on")
        right = self._operand(self._power) if word else None
        if word and right and left.percent and not right.percent:
            return Node(f"{left.within(_PRODUCT)}*{right.within(_UNARY)}", _PRODUCT)
        if word and right and right.percent and not left.percent:
            return Node(f"{right.within(_PRODUCT)}*{left.within(_UNARY)}", _PRODUCT)
        if word and right and self._operator("power mark"):  # 2的10次方
            return Node(f"{left.within(_ATOM)}**{right.within(_POWER)}", _POWER)
        self.position = before
        return left

    def _power(self) -> Node:
        if self._operator("-"):
            return Node(f"-{self._nested(self._power).within(_POWER)}", _UNARY)
        if self._operator("+"):
            return self._nested(self._power)
        return self._unsigned()

    def _unsigned(self) -> Node:
        """Read a power; "half plus one" is no half of +1."""
        base = self._postfixed(self._primary())
        if self._operator("**"):
            exponent = self._operand(self._power)
            if exponent is not None:
                return Node(f"{base.within(_ATOM)}**{exponent.within(_UNARY)}", _POWER)
        return base

    def _postfixed(self, node: Node) -> Node:
        while True:
            if self._operator("squared"):
                node = Node(f"{node.within(_ATOM)}**2", _POWER)
            elif self._operator("cubed"):
                node = Node(f"{node.within(_ATOM)}**3", _POWER)
            elif self._operator("rooted"):
                node = Node(f"sqrt({node.text})", _ATOM)
            elif self._kind() == "%" and self._kind(1) not in ("number", "("):
                self.position += 1
                node = Node(f"{node.within(_PRODUCT)}/100", _PRODUCT, node.within(_PRODUCT))
            else:
                return node

    def _primary(self) -> Node:
        token = self._next()
        if token.kind == "number":
            literal = literal_of(token.text)
            if literal is None:
                raise NoArithmeticError
            return Node(literal, _ATOM)
        if token.kind == "(":
            inner = self._nested(self.sum)
            self._expect(")")
            return Node(f"({inner.text})", _ATOM)
        if token.kind == "pi":
            return Node("pi", _ATOM)
        return self._applied(token)

    def _applied(self, token: Token) -> Node:
        """Read what a word in front does to what follows it."""
        if token.kind == "call":
            self._expect("(")
            node = Node(f"{token.text}({','.join(self._list())})", _ATOM)
            self._expect(")")
            return node
        if token.kind == "sqrt":
            return Node(f"sqrt({_bare(self._nested(self._unsigned).text)})", _ATOM)
        if token.kind == "per hundred":
            share = self._nested(self._unsigned)
            return Node(f"{share.within(_PRODUCT)}/100", _PRODUCT, share.within(_PRODUCT))
        if token.kind == "half":
            return Node(f"{self._nested(self._unsigned).within(_PRODUCT)}/2", _PRODUCT)
        if token.kind == "double":
            return Node(f"2*{self._nested(self._unsigned).within(_UNARY)}", _PRODUCT)
        if token.kind in _VERBS:
            return self._told(token.kind)
        return self._of_a_list(token.kind)

    def _told(self, verb: str) -> Node:
        """Read "add 5 to 7" and "subtract 4 from 10", whose numbers come the other way round."""
        first = self._nested(self._share)
        if not self._operator(*_VERBS[verb]):
            raise NoArithmeticError
        second = self._nested(self._share)
        if verb == "subtract":
            first, second = second, first
        operator = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}[verb]
        level = _SUM if operator in "+-" else _PRODUCT
        return Node(f"{first.within(_UNARY)}{operator}{second.within(_UNARY)}", level)

    def _of_a_list(self, kind: str) -> Node:
        if kind not in ("sum", "product", "difference", "average", "max", "min"):
            raise NoArithmeticError
        members = self._list()
        if len(members) < 2:
            raise NoArithmeticError
        if kind in ("max", "min"):
            return Node(f"{kind}({','.join(members)})", _ATOM)
        operator = {"product": "*", "difference": "-"}.get(kind, "+")
        joined = operator.join(
            member if re.fullmatch(r"[\w.]+", member) else f"({member})" for member in members
        )
        if kind == "average":
            return Node(f"({joined})/{len(members)}", _PRODUCT)
        return Node(f"({joined})", _ATOM)

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

    def _operand(self, read: Callable[[], Node]) -> Node | None:
        """Read the operand after an operator; without one the operator is given back."""
        before = self.position
        try:
            return self._nested(read)
        except NoArithmeticError:
            self.position = before - 1
            return None

    def _nested(self, read: Callable[[], Node]) -> Node:
        if self._depth == _MAX_DEPTH:
            raise NoArithmeticError
        self._depth += 1
        try:
            return read()
        finally:
            self._depth -= 1

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
            raise NoArithmeticError
        self.position += 1
        return self._tokens[self.position - 1]

    def _expect(self, kind: str) -> None:
        if self._next().kind != kind:
            raise NoArithmeticError


def _bare(text: str) -> str:
    """Return `(16+9)` without its parentheses when they are one pair."""
    inner = text[1:-1]
    return inner if text == f"({inner})" and not re.search(r"[()]", inner) else text
