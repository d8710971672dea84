from pathlib import Path

import pytest

from dropin_files import tool_file, write_folder
from openjarvis.dropins.loader import load_folder
from openjarvis.dropins.report import Problem

MADE = "    def {0}(self{1}):\n        {2}\n"

FAULTS = {
    "syntax": ("import os\nx = (\n", 2, "SyntaxError: '(' was never closed (bad.py, line 2)"),
    "indentation": ("def f():\nreturn 1\n", 2, "IndentationError: expected an indented block"),
    "undecodable": (b"x = 1\ny = '\xff'\n", 2, "SyntaxError: (unicode error) 'utf-8' codec"),
    "unknown encoding": (b"# coding: klingon\nx = 1\n", 1, "SyntaxError: unknown encoding: kl"),
    "nul": (b"y = 1\nx = 1\0\n", 2, "SyntaxError: source code cannot contain null bytes"),
    "utf-16": ("x = 1\n".encode("utf-16"), 1, "SyntaxError: "),
    "missing package": ("\nimport yfinance_x\n", 2, "ModuleNotFoundError: No module named 'yfi"),
    "exception": ("x = 1\n\n1 / 0\n", 3, "ZeroDivisionError: division by zero"),
    "in a function": ("def f():\n    1 / 0\n\nf()\n", 2, "ZeroDivisionError"),
    "exit": ("import sys\nsys.exit('bye')\n", 2, "SystemExit: bye"),
    "silent exit": ("exit()\n", 1, "SystemExit"),
    "generator exit": ("raise GeneratorExit\n", 1, "GeneratorExit"),
    "stop iteration": ("next(iter([]))\n", 1, "StopIteration"),
    "base exception": ("class E(BaseException): pass\nraise E('x')\n", 2, "E: x"),
    "cancelled": ("import asyncio\nraise asyncio.CancelledError\n", 2, "CancelledError"),
    "recursion": ("def f(): f()\nf()\n", 1, "RecursionError: maximum recursion depth"),
    "group": ("raise ExceptionGroup('many', [ValueError('x')])\n", 1, "ExceptionGroup: many (1 su"),
    "speechless": ("class E(Exception):\n    def __str__(self): 1 / 0\nraise E\n", 3, "E"),
    "secret": ("raise OSError('https://me:hunter22@x.org is down')\n", 1, "OSError: https://[sec"),
    "untyped": (
        "from agent.tools import tool\n@tool\ndef f(city) -> str: ...\n",
        2,
        "agent.tools.bad.f: the parameter 'city' has no annotation",
    ),
    "constructor": (
        tool_file("bad") + MADE.format("__init__", "", "self.key = config['key']"),
        9,
        "NameError: name 'config' is not defined",
    ),
    "exiting constructor": (
        tool_file("bad") + MADE.format("__init__", ", config", "raise SystemExit(3)"),
        9,
        "SystemExit: 3",
    ),
    "keyword-only constructor": (
        tool_file("bad") + MADE.format("__init__", ", *, config", "pass"),
        3,
        "TypeError: BadTool.__init__() missing 1 required keyword-only argument: 'config'",
    ),
    "manifest": (
        tool_file("bad") + MADE.format("manifest", "", "return ToolManifest(nam='bad')"),
        9,
        "TypeError: ",
    ),
    "no manifest": (
        tool_file("bad") + MADE.format("manifest", "", "pass"),
        3,
        "BadTool.manifest() must return a ToolManifest, got NoneType.",
    ),
    "name": (
        tool_file("bad").replace("'bad'", "'bad name'"),
        3,
        "BadTool: the tool name 'bad name' must be 1 to 64",
    ),
    "availability": (
        tool_file("bad") + MADE.format("is_available", "", "return self.config['tools']"),
        9,
        "KeyError: 'tools'",
    ),
    "async availability": (
        tool_file("bad") + "    async def is_available(self): return False\n",
        3,
        "BadTool.is_available must not be async; remove `async`.",
    ),
    "itself replaced": ("import sys\nsys.modules[__name__] = 3\n", 0, "TypeError"),
}


@pytest.mark.parametrize(("code", "line", "reason"), FAULTS.values(), ids=FAULTS)
def test_a_file_with_a_fault_stops_only_itself_and_is_told_with_its_line(
    tmp_path: Path, code: str | bytes, line: int, reason: str
) -> None:
    files = {"aaa.py": tool_file("first"), "bad.py": code, "zzz.py": tool_file("last")}
    folder = write_folder(tmp_path / "tools", files)

    report = load_folder(folder)

    assert [tool.spec.name for tool in report.tools] == ["first", "last"]
    (problem,) = report.problems
    assert (problem.file, problem.line) == (folder.resolve() / "bad.py", line or problem.line)
    assert reason in problem.reason
    assert "openjarvis_dropins" not in problem.reason


def test_one_tool_of_a_file_may_fail_and_the_others_live(tmp_path: Path) -> None:
    code = tool_file("bad") + "    def __init__(self):\n        1 / 0\n" + tool_file("good")

    report = load_folder(write_folder(tmp_path / "tools", {"both.py": code}))

    assert [tool.spec.name for tool in report.tools] == ["good"]
    assert [problem.line for problem in report.problems] == [9]


@pytest.mark.parametrize(
    ("sibling", "place"), [("\n1 / 0\n", "_x.py:2"), ("x = 1\ny = (\n", "_x.py:2")]
)
def test_the_fault_of_a_sibling_is_told_with_both_places(
    tmp_path: Path, sibling: str, place: str
) -> None:
    code = "import os\nfrom agent.tools import _x\n"
    files = {"a.py": code, "b.py": code, "_x.py": sibling}

    report = load_folder(write_folder(tmp_path / "tools", files))

    assert [(problem.file.name, problem.line) for problem in report.problems] == [
        ("a.py", 2),
        ("b.py", 2),
    ]
    assert all(problem.reason.endswith(f"(at {place})") for problem in report.problems)


def test_a_keyboard_interrupt_passes(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {"a.py": "raise KeyboardInterrupt\n"})

    with pytest.raises(KeyboardInterrupt):
        load_folder(folder)


def test_a_keyboard_interrupt_in_a_constructor_passes(tmp_path: Path) -> None:
    code = tool_file("a") + "    def __init__(self):\n        raise KeyboardInterrupt\n"
    folder = write_folder(tmp_path / "tools", {"a.py": code})

    with pytest.raises(KeyboardInterrupt):
        load_folder(folder)


def test_a_problem_reads_as_place_and_reason() -> None:
    assert str(Problem(Path("tools/a.py"), 3, "why")) == "tools/a.py:3: why"
    assert str(Problem(Path("tools"), 0, "why")) == "tools: why"
