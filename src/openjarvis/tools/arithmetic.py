"""Numbers under bounds: the operators and functions of the calculator.

Whatever the operands, a call ends at once with an integer of at most `MAX_BITS` bits, with a finite
float, or with a `ValueError` whose text is a sentence for the model.
"""

import ast
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Number = int | float

MAX_BITS = 10_000
"""About 3,000 digits: more than anybody reads, and nothing that costs time."""
MAX_ROUND_DIGITS = 400
"""Floats have fewer than 330 digits on either side of the point."""

_TOO_LARGE = (
    "The number is too large: integers may have about 3,000 digits, decimals go to 1.8e308."
)
_NOT_REAL = "The result is not a real number: a negative number has no fractional power."


class Function(NamedTuple):
    """A function that an expression may call, with how many arguments it takes (None: any)."""

    call: Callable[..., Any]
    least: int = 1
    most: int | None = 1


def _power(base: Number, exponent: Number) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0 and abs(base) > 1:
        # One bit less than the base has: the result is never smaller than this says.
        _refuse_past_limit((base.bit_length() - 1) * exponent)
    return base**exponent


def _times(left: Number, right: Number) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        _refuse_past_limit(left.bit_length() + right.bit_length() - 2)
    return left * right


def _round(number: Number, digits: Number | None = None) -> Any:
    if digits is None:
        return round(number)
    if not isinstance(digits, int) or abs(digits) > MAX_ROUND_DIGITS:
        raise ValueError(
            f"round(x, digits): digits must be a whole number from -{MAX_ROUND_DIGITS} to "
            f"{MAX_ROUND_DIGITS}."
        )
    return round(number, digits)


def _least(*numbers: Number) -> Number:
    return min(numbers)


def _greatest(*numbers: Number) -> Number:
    return max(numbers)


def _defined_for(domain: str, function: Callable[..., float]) -> Callable[..., float]:
    """Return `function` with a sentence in place of Python's "math domain error"."""

    def call(*numbers: Number) -> float:
        try:
            return function(*numbers)
        except (ValueError, ZeroDivisionError) as error:
            raise ValueError(f"{function.__name__} is defined for {domain} only.") from error

    return call


BINARY_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _times,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
UNARY_OPERATORS: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
CONSTANTS = {"pi": math.pi, "e": math.e}
FUNCTIONS = {
    "abs": Function(abs),
    "round": Function(_round, most=2),
    "min": Function(_least, most=None),
    "max": Function(_greatest, most=None),
    "sqrt": Function(_defined_for("numbers of 0 or more", math.sqrt)),
    "log": Function(_defined_for("numbers above 0 (and a base other than 1)", math.log), most=2),
    "log10": Function(_defined_for("numbers above 0", math.log10)),
    "log2": Function(_defined_for("numbers above 0", math.log2)),
    "sin": Function(math.sin),
    "cos": Function(math.cos),
    "tan": Function(math.tan),
    "ceil": Function(math.ceil),
    "floor": Function(math.floor),
}


def call_function(name: str, arguments: Sequence[Number]) -> Number:
    """Return what the function `name` of `FUNCTIONS` gives for `arguments`.

    Raises:
        ValueError: for a wrong number of arguments, a value outside the function's domain, or a
            result past the bounds.
    """
    function = FUNCTIONS[name]
    too_many = function.most is not None and len(arguments) > function.most
    if len(arguments) < function.least or too_many:
        raise ValueError(
            f"{name} takes {_arity(function)}, got {len(arguments)}; a comma separates "
            "arguments, so write 1234, not 1,234."
        )
    return bounded(function.call, *arguments)


def bounded(operation: Callable[..., Any], *operands: Number) -> Number:
    """Return the result of `operation` when it is a number within the bounds.

    Raises:
        ValueError: for every arithmetic error and every result past the bounds.
    """
    try:
        return within_bounds(operation(*operands))
    except ZeroDivisionError as error:
        raise ValueError("Division by zero has no result.") from error
    except OverflowError as error:
        raise ValueError(_TOO_LARGE) from error


def within_bounds(value: Any) -> Number:
    """Return `value` when it is an integer of at most `MAX_BITS` bits or a finite float.

    Raises:
        ValueError: otherwise.
    """
    if isinstance(value, complex):
        raise ValueError(_NOT_REAL)
    if isinstance(value, int):
        _refuse_past_limit(value.bit_length())
    elif not math.isfinite(value):
        raise ValueError(_TOO_LARGE)
    number: Number = value
    return number


def _refuse_past_limit(bits: int) -> None:
    if bits > MAX_BITS:
        raise ValueError(_TOO_LARGE)


def _arity(function: Function) -> str:
    if function.most is None:
        return f"{function.least} or more arguments"
    if function.least == function.most:
        return f"{function.least} argument"
    return f"{function.least} or {function.most} arguments"
