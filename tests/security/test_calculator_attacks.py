"""Hostile expressions, each with its own budget of CPU time and memory in a process apart."""

import inspect
import json
import math
import subprocess
import sys

import pytest

from openjarvis.tools.calculator import safe_eval

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX timers and limits")

REFUSED = [
    # numbers that eat time or memory
    "9**9**9",
    "9**9**9**9**9",
    "9**99999999999999999999",
    "(9**999)**999",
    "((2**9999)**9999)**9999",
    "-9**9**9",
    "2**-9**9**9",
    "2**(10**1000)",
    "(2**9999)*(2**9999)",
    "*".join(["9**999"] * 40),
    "9**3000*9**3000",
    "10**4000",
    "10**400/1.0",
    "10**400*1.0",
    "10.0**309",
    "1e308*1e308",
    "1e308+1e308",
    "-1e308-1e308",
    "1e309",
    "1e99999999999999999999",
    "1e308//1e-308",
    "9" * 5_000,
    "9" * 5_000_000,
    "(" * 5_000_000,
    " " * 5_000_000 + "1",
    "round(1, 10**9)",
    "round(5, -10**9)",
    "round(5, -9**9**9)",
    "round(1.5, 9**999)",
    "round(2**9999, -10000)",
    "round(1.5, -1e9)",
    "1 << 10**9",
    "1 << (1 << 62)",
    "2 >> -1",
    "sqrt(10**3000)",
    "sin(10**3000)",
    "ceil(1e308*10)",
    "abs(-9**9**9)",
    "max(9**9**9, 1)",
    "log(2**9999, 1)",
    "log(1, 0)",
    "0**-1",
    "0.0**-(10**1000)",
    "(-1)**0.5",
    "(-2.5)**(10**300+0.5)",
    "5 % 0.0",
    # trees that eat the stack
    "(" * 1_000,
    "(" * 201 + "1" + ")" * 201,
    "-" * 1_999 + "1",
    "+-" * 999 + "1",
    "1**" * 660 + "1",
    "abs(" * 400 + "1" + ")" * 400,
    "[" * 1_999,
    "lambda:" * 280 + "1",
    "not " * 499 + "1",
    "1 if 1 else " * 160 + "1",
    "a." * 999 + "a",
    "a()" + "()" * 990,
    "a" + "[0]" * 660,
    "f'{" * 600,
    "await " * 330 + "1",
    # ways into Python
    "__import__('os').system('id')",
    "().__class__.__bases__[0].__subclasses__()",
    "(1).__class__",
    "pi.__class__",
    "abs.__self__",
    "sqrt.__globals__",
    "open('/etc/passwd')",
    "eval('1')",
    "exec('1')",
    "getattr(pi, 'real')",
    "globals()",
    "__builtins__",
    "_value",
    "abs(*range(10))",
    "max(**{'key': abs})",
    "max(1, 2, key=abs)",
    "round(number=1)",
    "min([1, 2])",
    "min({1: 2})",
    "[x for x in (1, 2)]",
    "{1, 2}",
    "{**{}}",
    "(x for x in y)",
    "(x := 9)",
    "lambda: 1",
    "(lambda: 1)()",
    "print(1)",
    "1; 2",
    "1\n2",
    "import os",
    "x = 1",
    "del pi",
    "yield 1",
    "await pi",
    "pi[0]",
    "pi.real",
    "...",
    "`1`",
    "1 @ 2",
    "~1",
    "1 & 2",
    "1 | 2",
    "1 ^ 2",
    "1 == 1",
    "1 < 2 < 3",
    "1 is 1",
    "1 in (1,)",
    "1 and 2",
    "not 0",
    "1 if 1 else 2",
    "True",
    "True + True",
    "None",
    "Ellipsis",
    "'a' * 10**9",
    "b'a'",
    "f'{9**9}'",
    "'%s' % 1",
    "'%0999999999d' % 1",
    "1j * 1j",
    "1_j",
    "abs(3+4j)",
    "0x1p3",
    "0b11",
    "0o17",
    "1__0",
    "1if 2else 3",
    # text that hides something
    "1 # 2",
    "1 \\\n + 1",
    "1\x00",
    "\x001",
    "1\x1b[2J",
    "1\ud800",
    "1\u202e+2",
    "1\u200b2",
    "\ufeff1",
    "1\x0c+1",
    "ａｂｓ．＿＿ｓｅｌｆ＿＿",
    "ﬁ(1)",
    "ª",
    "pı",
    "ρi",
    "² + ³",
    "½",
    "Ⅷ",
    "①",
    "九",
]
ANSWERED = {
    "2**9999 % 7": str(pow(2, 9999, 7)),
    "0**99999999999999999999": "0",
    "1**(2**9999)": "1",
    "+".join(["2**9900"] * 200) + " - 200*2**9900": "0",
    "*".join(["1.0000001"] * 180): repr(eval("*".join(["1.0000001"] * 180))),
    "1e308 % 1e-308": repr(1e308 % 1e-308),
    "round(1e308, -400)": "0.0",
    "log(2**9999)": repr(math.log(2**9999)),
    "tan(1e308)": repr(math.tan(1e308)),
    "9" * 1_999: "9" * 1_999,
    "(" * 150 + "1" + ")" * 150: "1",
    "-" * 100 + "1": "1",
}
_CHILD = """
import json, resource, signal, sys
from openjarvis.tools.calculator import CalculatorTool
tool = CalculatorTool()
tool.execute(expression="1+1")
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
for expression in json.load(sys.stdin):
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.5)  # of CPU time; the signal ends the process
    result = tool.execute(expression=expression)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    print(json.dumps([result.success, result.content]), flush=True)
"""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[bool, str]]:
    """What each expression gave; those from the first that broke its budget on are missing."""
    expressions = [*REFUSED, *ANSWERED]
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", _CHILD],
        input=json.dumps(expressions),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    answers = [json.loads(line) for line in child.stdout.splitlines()]
    assert child.stderr == ""
    return {
        text: (answer[0], answer[1]) for text, answer in zip(expressions, answers, strict=False)
    }


@pytest.mark.parametrize("expression", REFUSED, ids=lambda text: ascii(text)[:40])
def test_a_hostile_expression_is_refused_within_its_budget(
    expression: str, outcomes: dict[str, tuple[bool, str]]
) -> None:
    assert expression in outcomes, "the expression took more than half a second of CPU time"

    success, content = outcomes[expression]

    assert not success
    assert len(content) < 250
    assert content[-1] in ".?"
    assert "Error:" not in content


@pytest.mark.parametrize(("expression", "answer"), ANSWERED.items(), ids=lambda text: text[:40])
def test_hard_but_honest_arithmetic_is_answered_within_its_budget(
    expression: str, answer: str, outcomes: dict[str, tuple[bool, str]]
) -> None:
    assert outcomes.get(expression) == (True, answer)


@pytest.mark.parametrize(
    "expression", ["(-" * 45 + "1" + ")" * 45, "1+" * 900 + "1", "-" * 90 + "1"]
)
def test_little_stack_left_refuses_and_never_raises_anything_else(expression: str) -> None:
    def from_depth(levels: int) -> str:
        if levels:
            return from_depth(levels - 1)
        try:
            return str(safe_eval(expression))
        except ValueError as error:
            return str(error)

    left = sys.getrecursionlimit() - len(inspect.stack())

    answers = {from_depth(left - frames)[:22] for frames in range(20, 300, 5)}

    assert answers <= {"1", "-1", "901", "The expression is nest"}
    assert "The expression is nest" in answers
