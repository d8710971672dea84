import cmath
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from openjarvis.core.registry import ToolRegistry
from openjarvis.toolkit.check import Checker
from openjarvis.tools.arithmetic import FUNCTIONS, MAX_BITS
from openjarvis.tools.calculator import MAX_CHARACTERS, CalculatorTool, safe_eval


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("2+2", "4"),
        ("sqrt(144) + 3**2", "21.0"),
        ("15/100*340", "51.0"),
        ("2**100", "1267650600228229401496703205376"),
        ("2**3**2", "512"),
        ("-2**2", "-4"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("7 % -3", "-2"),
        ("10%3", "1"),
        ("+-+5", "-5"),
        ("1_000 * 2", "2000"),
        (".5 + 5.", "5.5"),
        ("1e3", "1000.0"),
        ("2e-3*1E+3", "2.0"),
        ("1/3", "0.3333333333333333"),
        ("round(2.567, 2)", "2.57"),
        ("round(1234, -2)", "1200"),
        ("round(2.5)", "2"),
        ("max(1, 2.5, -3)", "2.5"),
        ("min(4)", "4"),
        ("abs(-3)", "3"),
        ("ceil(1.2) + floor(1.8)", "3"),
        ("log(8, 2)", "3.0"),
        ("log10(1000)", "2.9999999999999996" if math.log10(1000) != 3 else "3.0"),
        ("log2(8)", "3.0"),
        ("log(e)", "1.0"),
        ("cos(pi)", "-1.0"),
        ("2\n+\t2\r\n", "4"),
        ("1+" * 900 + "1", "901"),
        ("1**99999999999999999999", "1"),
        ("(-1)**99999999999999999999", "-1"),
        ("2**9999 - 2**9999", "0"),
    ],
)
def test_an_expression_is_answered_with_its_value(expression: str, answer: str) -> None:
    result = CalculatorTool().execute(expression=expression)

    assert (result.content, result.success) == (answer, True)


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("７×（８−３）", "35"),
        ("１２÷４", "3.0"),
        ("๑๒ + ๓", "15"),
        ("٣٫٥ * 2", "7.0"),
        ("２　＋　２", "4"),
        ("ｓｑｒｔ（１６）", "4.0"),
        ("5 – 3", "2"),
        ("2*π - 2*pi", "0.0"),
        ("ｍａｘ（１，２）", "2"),
    ],
)
def test_signs_and_digits_of_other_scripts_are_understood(expression: str, answer: str) -> None:
    assert str(safe_eval(expression)) == answer


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("", "No expression"),
        ("   ", "No expression"),
        ("foo(1)", "Unknown function 'foo'"),
        ("sqr(4)", "Did you mean 'sqrt'?"),
        ("x + 1", "unknown variable 'x'"),
        ("PI", "Did you mean 'pi'?"),
        ("sqrt", r"write sqrt\(…\)"),
        ("pi(2)", "Unknown function 'pi'"),
        ("2^3", r"use \*\*"),
        ("1/0", "Division by zero"),
        ("1//0", "Division by zero"),
        ("1%0", "Division by zero"),
        ("0**-1", "Division by zero"),
        ("1.0 // 0", "Division by zero"),
        ("sqrt(-1)", "sqrt is defined for numbers of 0 or more"),
        ("log(0)", "log is defined for numbers above 0"),
        ("log(8, 1)", "a base other than 1"),
        ("log10(-5)", "log10 is defined"),
        ("(-8)**(1/3)", "not a real number"),
        ("9**9**9", "too large"),
        ("10.0**400", "too large"),
        ("1e999", "too large"),
        ("1e308*10", "too large"),
        ("10**400 * 1.5", "too large"),
        ("sqrt(10**400)", "too large"),
        ("round(1.5, 401)", "digits must be a whole number"),
        ("round(1.5, 2.0)", "digits must be a whole number"),
        ("sqrt(1, 2)", "sqrt takes 1 argument, got 2"),
        ("sqrt()", "sqrt takes 1 argument, got 0"),
        ("max()", "max takes 1 or more arguments"),
        ("round(1, 2, 3)", "round takes 1 or 2 arguments"),
        ("round(1, ndigits=2)", "by position"),
        ("15% of 340", r"write 15% of 340 as 15/100\*340"),
        ("340 * 15%", "remainder"),
        ("50% + 10", "remainder"),
        ("(50)%-10", "remainder"),
        ("1,234 + 1", "write 1234 and not 1,234"),
        ("3 x 4", r"write products with \*"),
        ("2+2=", "leave out the equals sign"),
        ("2x", "'2x' at position 1 is not a decimal number"),
        ("0xff", "not a decimal number"),
        ("1.2.3", "not a decimal number"),
        ("3j", "not a decimal number"),
        ("007", "not a decimal number"),
        ("2(3)", "Only named functions can be called"),
        ("1 +", "Syntax error at position 4"),
        ("(1", "Syntax error at position 1"),
        ("3²", r"'²' at position 2 is not calculated: write powers with \*\*"),
        ("√16", r"write sqrt\(x\)"),
        ("sin(90°)", "angles are in radians"),
        ("𝐬𝐪𝐫𝐭(4)", "not calculated"),
        ("True", "truth values are no numbers"),
        ("None + 1", "no numbers"),
        ("'a' * 3", "text and truth values"),
        ("1 < 2", "comparisons are no arithmetic"),
        ("1 and 2", "BoolOp is no arithmetic"),
        ("1 << 2", r"use \* 2\*\*n"),
        ("~1", "no arithmetic"),
        ("not 1", "no arithmetic"),
        ("max(*[1])", "without a star"),
        ("1" * (MAX_CHARACTERS + 1), "too long: 2,001 characters"),
        ("-" * 101 + "1", "nested too deeply"),
        ("(" * 300 + "1" + ")" * 300, "nested too deeply"),
        ("abs(" * 101 + "1" + ")" * 101, "nested too deeply"),
    ],
)
def test_what_cannot_be_calculated_is_answered_with_a_sentence(expression: str, told: str) -> None:
    with pytest.raises(ValueError, match=told) as caught:
        safe_eval(expression)

    assert len(str(caught.value)) < 250
    assert str(caught.value)[-1] in ".?"


def test_a_failure_is_a_result_with_the_sentence_alone() -> None:
    result = CalculatorTool().execute(expression="1/0")

    assert result.success is False
    assert result.content == "Division by zero has no result."


def test_a_missing_expression_fails_with_an_example() -> None:
    result = CalculatorTool().execute()

    assert result.success is False
    assert result.content == 'No expression: give one, e.g. "15/100*340".'


def test_the_largest_integer_can_be_shown_and_one_bit_more_is_refused() -> None:
    largest = safe_eval(f"2**{MAX_BITS - 1} + (2**{MAX_BITS - 1} - 1)")

    assert largest == 2**MAX_BITS - 1
    assert CalculatorTool().execute(expression=f"2**{MAX_BITS - 1}").success
    with pytest.raises(ValueError, match="too large"):
        safe_eval(f"2**{MAX_BITS}")


def test_the_tool_is_registered_and_described_for_a_model() -> None:
    spec = ToolRegistry.get("calculator")().spec
    checker = Checker(spec.parameters)

    assert (spec.name, spec.category) == ("calculator", "math")
    assert spec.parameters["required"] == ["expression"]
    assert "Call it" in spec.description
    assert all(name in str(spec.parameters) for name in FUNCTIONS)
    for example_of_spec in spec.examples:
        if not isinstance(example_of_spec, str):
            sentence, arguments = example_of_spec
            assert checker.check(arguments) == arguments, sentence
            assert CalculatorTool().execute(**arguments).success


_integers = st.integers(-(10**6), 10**6)
_floats = st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: float(f"{number:.6g}"))


def _joined(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from([" + ", "-", "*", " / ", "//", " % "])
    wrapped = children.map(lambda text: f"({text})")
    return st.one_of(
        st.tuples(wrapped, operators, wrapped).map("".join),
        st.tuples(wrapped, st.integers(-6, 6)).map(lambda pair: f"{pair[0]}**({pair[1]})"),
        st.tuples(children, operators, _integers.map(lambda n: f"({n})")).map("".join),
        wrapped.map(lambda text: f"-{text}"),
        st.tuples(st.sampled_from(sorted(FUNCTIONS)), children).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(children, children).map(lambda pair: f"max({pair[0]}, {pair[1]})"),
    )


_expressions = st.recursive(
    st.one_of(_integers.map(str), _floats.map(repr), st.sampled_from(["pi", "e"])),
    _joined,
    max_leaves=12,
)
_PYTHON = {name: getattr(math, name, None) or function.call for name, function in FUNCTIONS.items()}
_PYTHON |= {"pi": math.pi, "e": math.e, "__builtins__": {}}  # type: ignore[dict-item]


@settings(max_examples=400, deadline=None)
@given(_expressions)
@example("2 ** 0.5")
def test_a_value_is_the_one_that_python_gives(expression: str) -> None:
    try:
        expected = eval(expression, dict(_PYTHON))
    except (ArithmeticError, ValueError):
        expected = math.nan
    is_real = not isinstance(expected, complex) and cmath.isfinite(expected)

    try:
        value: object = safe_eval(expression)
    except ValueError as error:
        value = error

    if isinstance(value, ValueError):
        assert not is_real or "too large" in str(value)
    else:
        assert is_real
        assert (value, type(value)) == (expected, type(expected))


_PIECES = "9 99 ** * ( ) - round max log , 1e308 % // lambda if else True e pi for [ ] ."
_hostile_texts = st.one_of(
    st.text(max_size=200),
    st.text("0123456789.+-*/%()eE, ^_xj'\"[]{}<>=!&|~@:;\\#\n", max_size=60),
    st.lists(st.sampled_from(_PIECES.split()), max_size=40).map("".join),
    st.lists(st.sampled_from(_PIECES.split()), max_size=40).map(" ".join),
)


@settings(max_examples=600, deadline=None)
@given(_hostile_texts)
def test_no_text_raises_anything_but_value_error(text: str) -> None:
    try:
        answer = f"{safe_eval(text)}."
    except ValueError as error:
        answer = str(error)

    assert answer[-1] in ".?"
    assert len(answer.encode()) < 4_000
