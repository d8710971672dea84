"""The calculator: an arithmetic expression read by `ast`, an allow-list of nodes, bounded numbers.

Nothing of an expression is ever run by Python: its tree is walked, and a node that is not on the
list is an error. `arithmetic` has the operators and functions.
"""

import ast
import re
import unicodedata
from collections.abc import Iterable
from typing import Annotated

from openjarvis.core.errors import ToolError, nearest
from openjarvis.core.registry import ToolRegistry
from openjarvis.toolkit.typed import TypedTool
from openjarvis.tools.arithmetic import (
    BINARY_OPERATORS,
    CONSTANTS,
    FUNCTIONS,
    UNARY_OPERATORS,
    Number,
    bounded,
    call_function,
    within_bounds,
)

MAX_CHARACTERS = 2_000
MAX_DEPTH = 100

_FULL_WIDTH = {code + 0xFEE0: chr(code) for code in range(0x21, 0x7F)}
_SIGNS = {
    "×": "*", "∗": "*", "⋅": "*", "÷": "/", "∕": "/", "−": "-", "–": "-", "π": "pi",
    "٫": ".", "\u3000": " ", "\u00a0": " ", "\u2009": " ", "\u202f": " ",
    "\t": " ", "\r": " ", "\n": " ",
}  # fmt: skip
_AS_ASCII = {**_FULL_WIDTH, **str.maketrans(_SIGNS)}

# A backslash would make the parser warn, and a comment would end the expression unseen.
_FOREIGN = re.compile(r"[^ -~]|[\\#]")
_NUMBER_LIKE = re.compile(r"(?<![\w.])\.?\d(?:[eE][-+](?=\d)|[\w.])*")
_NUMBER = re.compile(r"(?!0[\d_]+\Z)(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?[\d_]+)?")
_GLUED_PERCENT = re.compile(r"[\d.)]%\s*[-+]")

_FOREIGN_HINTS = {
    "²": "write powers with **: 3**2",
    "³": "write powers with **: 3**3",
    "√": "write sqrt(x)",
    "°": "angles are in radians: multiply degrees by pi/180",
}
_PERCENT_HINT = "% is the remainder here: write 15% of 340 as 15/100*340"
_SYNTAX_HINTS = {
    "%": _PERCENT_HINT,
    " x ": "write products with *: 3 * 4",
    "=": "leave out the equals sign",
}
_REFUSED: dict[type[ast.AST], str] = {
    ast.BitXor: "'^' is not the power sign here, use ** (2**3)",
    ast.Tuple: "a comma only separates a function's arguments, write 1234 and not 1,234",
    ast.Constant: "text and truth values are no numbers",
    ast.Compare: "comparisons are no arithmetic",
    ast.LShift: "shifts are no arithmetic, use * 2**n",
    ast.RShift: "shifts are no arithmetic, use // 2**n",
    ast.Starred: "arguments are written one by one, without a star",
}
_TOO_DEEP = f"The expression is nested too deeply: at most {MAX_DEPTH} levels are calculated."


def safe_eval(expression: str) -> Number:
    """Return the value of an arithmetic expression: an `int` where it is exact, else a `float`.

    Raises:
        ValueError: when it is not arithmetic, has no real value, or goes past the bounds; the text
            says what was wrong and what to write.
    """
    text = _as_ascii(expression)
    try:
        return _value(ast.parse(text, mode="eval").body, 0)
    except SyntaxError as error:
        raise ValueError(_syntax_sentence(error, text)) from error
    except (MemoryError, RecursionError) as error:  # the parser's limits, or little stack was left
        raise ValueError(_TOO_DEEP) from error


def _as_ascii(expression: str) -> str:
    """Return the expression in ASCII: other scripts' digits and full-width signs are translated."""
    if len(expression) > MAX_CHARACTERS:
        raise ValueError(
            f"The expression is too long: {len(expression):,} characters, at most "
            f"{MAX_CHARACTERS:,} are calculated."
        )
    text = expression.translate(_AS_ASCII).strip()
    if not text.isascii():
        text = "".join(map(_ascii_digit, text))
    if not text:
        raise ValueError('No expression: give one, e.g. "15/100*340".')
    _refuse_what_the_parser_should_not_see(text)
    return text


def _ascii_digit(character: str) -> str:
    return str(unicodedata.decimal(character)) if character.isdecimal() else character


def _refuse_what_the_parser_should_not_see(text: str) -> None:
    if foreign := _FOREIGN.search(text):
        hint = _FOREIGN_HINTS.get(foreign[0], "use digits, operators, ( ) and function names")
        place = f"{foreign[0]!r} at position {foreign.start() + 1}"
        raise ValueError(f"{place} is not calculated: {hint}.")
    for number in _NUMBER_LIKE.finditer(text):
        if not _NUMBER.fullmatch(number[0]):
            place = f"{number[0][:40]!r} at position {number.start() + 1}"
            raise ValueError(f"{place} is not a decimal number; write a product with *: 2*pi.")
    if _GLUED_PERCENT.search(text):
        raise ValueError(f"{_PERCENT_HINT}, and the remainder by a signed number as 7 % (-3).")


def _syntax_sentence(error: SyntaxError, text: str) -> str:
    if "nested parentheses" in error.msg:
        return _TOO_DEEP
    # At the end of the text the parser names no place in it.
    position = error.offset or len(text) + 1
    hint = next((f" ({hint})" for sign, hint in _SYNTAX_HINTS.items() if sign in text), "")
    return f"Syntax error at position {position}: {error.msg[:120]}{hint}."


def _value(node: ast.expr, depth: int) -> Number:
    if depth > MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
    match node:
        case ast.BinOp():
            return _chain(node, depth)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY_OPERATORS:
            return bounded(UNARY_OPERATORS[type(op)], _value(operand, depth + 1))
        case ast.Constant(value=value) if type(value) in (int, float):
            return within_bounds(value)
        case ast.Name(id=name):
            return _constant(name)
        case ast.Call():
            return _call(node, depth)
    raise _refused(node)


def _chain(node: ast.BinOp, depth: int) -> Number:
    """Return the value of `a + b + c …`, whose tree is as deep as the chain is long."""
    links: list[ast.BinOp] = []
    first: ast.expr = node
    while isinstance(first, ast.BinOp):
        links.append(first)
        first = first.left
    value = _value(first, depth + 1)
    for link in reversed(links):
        operation = BINARY_OPERATORS.get(type(link.op))
        if operation is None:
            raise _refused(link.op)
        value = bounded(operation, value, _value(link.right, depth + 1))
    return value


def _constant(name: str) -> Number:
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name in FUNCTIONS:
        raise ValueError(f"{name} is a function: write {name}(…).")
    raise ValueError(f"The expression has an unknown variable {_named(name, CONSTANTS)}")


def _call(node: ast.Call, depth: int) -> Number:
    if not isinstance(node.func, ast.Name):
        raise ValueError("Only named functions can be called; write a product with *: 2*(3+4).")
    name = node.func.id
    if name not in FUNCTIONS:
        raise ValueError(f"Unknown function {_named(name, FUNCTIONS)}")
    if node.keywords:
        raise ValueError(f"{name} takes its arguments by position, without names.")
    return call_function(name, [_value(argument, depth + 1) for argument in node.args])


def _named(name: str, known: Iterable[str]) -> str:
    """Return the name with what may have been meant, as the end of a sentence."""
    names = list(known)
    near = nearest(name, names)
    return f"{name[:40]!r}. " + (
        f"Did you mean {near!r}?" if near else f"Known: {', '.join(names)}."
    )


def _refused(node: ast.AST) -> ValueError:
    kind = f"{type(node).__name__} is no arithmetic, use numbers, + - * / // % **, ( ), functions"
    return ValueError(f"Not calculated: {_REFUSED.get(type(node), kind)}.")


@ToolRegistry.register("calculator")
class CalculatorTool(TypedTool):
    """Calculate an arithmetic expression exactly.

    Call it for every sum, product, percentage, power, root, logarithm or angle that the user asks
    about, instead of working it out yourself.
    """

    name = "calculator"
    category = "math"
    read_only = True
    idempotent = True
    open_world = False
    required = ("expression",)
    examples = (
        ("What is 15% of 340?", {"expression": "15/100*340"}),
        ("Calculate the square root of 144 plus 3 squared", {"expression": "sqrt(144) + 3**2"}),
        "How much is 1250 divided by 8?",
    )

    def run(
        self,
        expression: Annotated[
            str,
            "The expression, e.g. 15/100*340. Operators: + - * / // % ** and parentheses; "
            "functions: abs round min max sqrt log log10 log2 sin cos tan ceil floor (angles in "
            "radians); constants: pi e. No thousands separators.",
        ] = "",
    ) -> str:
        try:
            return str(safe_eval(expression))
        except ValueError as error:
            raise ToolError(str(error)) from error
