import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from dropin_files import GOOD, NAMES, WEATHER, tool_file, write_folder
from openjarvis.core.types import ToolResult
from openjarvis.dropins.loader import LoadReport, load_folder
from openjarvis.toolkit.base import BaseTool
from openjarvis.toolkit.function import FunctionTool
from openjarvis.toolkit.toolset import origin

SPEC_IMPORTS = """\
from openjarvis.core.types import ToolResult
from openjarvis.toolkit.base import BaseTool, ToolSpec
"""


def load(tmp_path: Path, files: dict[str, str], config: dict[str, Any] | None = None) -> LoadReport:
    return load_folder(write_folder(tmp_path / "tools", files), config)


def by_name(report: LoadReport) -> dict[str, BaseTool]:
    return {tool.spec.name: tool for tool in report.tools}


@pytest.mark.parametrize(
    ("name", "arguments", "content"),
    [
        ("agenda", {"day": "2030-01-02"}, '["dentist"]'),
        ("chatty", {}, "plain text"),
        ("convert_currency", {"amount": 10, "source": "USD"}, '{"value": 8.0, "currency": "EUR"}'),
        ("gold_price", {"ชนิด": "แท่ง"}, '{"ราคา": 40000}'),
        ("lamps", {}, '{"lamps": ["kitchen"]}'),
        ("lazy", {}, "3"),
        ("add_note", {"title": "milk", "text": "2 l"}, "kept"),
        ("reverse", {"text": "abc"}, "cba!"),
        ("roll_dice", {"sides": 1}, "1"),
        ("translate", {"text": "ฝน"}, '["en", "ฝน"]'),
        ("weather", {"city": "London"}, '{"sky": "rain"}'),
        ("word_count", {"text": "one two"}, "2"),
    ],
)
def test_tools_of_every_spelling_run(
    tmp_path: Path, name: str, arguments: dict[str, Any], content: str
) -> None:
    tools = by_name(load(tmp_path, GOOD, {"suffix": "!"}))

    result = tools[name].execute(**arguments)

    assert result == ToolResult(name, content)


def test_tools_of_one_file_share_its_state(tmp_path: Path) -> None:
    tools = by_name(load(tmp_path, GOOD))

    tools["add_note"].execute(title="milk", text="two litres")

    assert tools["read_note"].execute(title="milk").content == "two litres"
    assert tools["read_note"].execute(title="eggs") == ToolResult(
        "read_note", "no note 'eggs'", success=False
    )


def test_functions_of_a_file_stay_the_tools_that_they_were(tmp_path: Path) -> None:
    tools = by_name(load(tmp_path, GOOD))

    assert isinstance(tools["roll_dice"], FunctionTool)
    assert tools["coin"].execute().content in ("heads", "tails")


def test_every_tool_knows_its_file_and_line(tmp_path: Path) -> None:
    folder = (tmp_path / "tools").resolve()
    report = load(tmp_path, GOOD)

    origins = {tool.spec.name: origin(tool) for tool in report.tools}

    assert origins["weather"] == f"{folder}/weather.py:12"
    assert origins["read_note"] == f"{folder}/notes.py:28"
    assert origins["roll_dice"] == f"{folder}/dice.py:7"
    assert origins["word_count"] == f"{folder}/word_count.py:6"
    assert [entry.origin for entry in report.loaded] == list(origins.values())


@pytest.mark.parametrize(
    ("config", "expected"),
    [({}, ["weather"]), ({"tools": {"weather": {"enabled": False}}}, [])],
)
def test_a_tool_that_is_not_available_is_left_out(
    tmp_path: Path, config: dict[str, Any], expected: list[str]
) -> None:
    report = load(tmp_path, {"weather.py": WEATHER}, config)

    assert list(by_name(report)) == expected
    assert report.problems == []
    assert [left.reason for left in report.left_out] == (
        [] if expected else ["WeatherTool is not available: its is_available() is false"]
    )


CONSTRUCTORS = {
    "(self)": None,
    "(self, config)": {"key": [1]},
    "(self, config: dict)": {"key": [1]},
    "(self, cfg=None)": {"key": [1]},
    "(self, config={}, *, verbose=False)": {"key": [1]},
    "(self, config, /)": {"key": [1]},
    "(self, *config)": ({"key": [1]},),
    "(self, *, config=None)": None,
    "(self, **config)": {},
}


@pytest.mark.parametrize(("signature", "given"), CONSTRUCTORS.items())
def test_a_constructor_gets_the_configuration_or_nothing(
    tmp_path: Path, signature: str, given: Any
) -> None:
    seen = next((name for name in ("config", "cfg") if name in signature), "None")
    code = tool_file("x", body="return ToolResult(True, [self.seen])")
    code += f"    def __init__{signature}:\n        self.seen = {seen}\n"

    report = load(tmp_path, {"x.py": code}, {"key": [1]})

    assert report.problems == []
    assert json.loads(report.tools[0].execute().content) == json.loads(json.dumps([given]))


@pytest.mark.parametrize(
    ("signature", "given"),
    [
        ("(self, config)", {"key": [1]}),
        ("(self, settings)", {"key": [1]}),
        ("(self, config=None)", {"key": [1]}),
        ("(self, engine=None)", None),
        ("(self, *rest)", ()),
        ("(self)", None),
    ],
)
def test_optional_parts_of_a_spec_style_class_are_its_own_affair(
    tmp_path: Path, signature: str, given: Any
) -> None:
    parts = ("config", "settings", "engine", "rest")
    seen = next((name for name in parts if name in signature), "None")
    code = (
        f"{SPEC_IMPORTS}class X(BaseTool):\n"
        f"    def __init__{signature}:\n        self.seen = {seen}\n"
        "    spec = property(lambda self: ToolSpec('x', 'Use it.'))\n"
        "    def execute(self, **params):\n"
        "        return ToolResult('x', '', metadata={1: self.seen})\n"
    )

    report = load(tmp_path, {"x.py": code}, {"key": [1]})

    assert report.tools[0].execute().metadata == {1: given}


def test_one_tool_cannot_change_the_configuration_of_another(tmp_path: Path) -> None:
    config = {"keys": [1]}
    spoil = "    def __init__(self, config):\n        config['keys'].append(2)\n"
    show = tool_file("b", body="return ToolResult(True, self.config)")

    report = load(tmp_path, {"a.py": tool_file("a") + spoil, "b.py": show}, config)

    assert by_name(report)["b"].execute().content == '{"keys": [1]}'
    assert config == {"keys": [1]}


def test_only_what_a_file_defines_counts(tmp_path: Path) -> None:
    report = load(
        tmp_path,
        {
            "a.py": tool_file("a") + "@__import__('openjarvis').dropins.tool\n"
            "def f() -> str:\n    'Use it.'\n    return ''\n",
            "b.py": "from agent.tools.a import *\nfrom ._c import CTool\nfrom .a import f as g\n"
            "from openjarvis.toolkit.typed import TypedTool\n",
            "_c.py": tool_file("c"),
        },
    )

    assert report.problems == []
    assert list(by_name(report)) == ["a", "f"]


def test_a_tool_with_two_names_in_its_file_is_one(tmp_path: Path) -> None:
    report = load(tmp_path, {"a.py": tool_file("a") + "Alias = ATool\n"})

    assert list(by_name(report)) == ["a"]
    assert report.problems == []


def test_bases_are_no_tools(tmp_path: Path) -> None:
    report = load(
        tmp_path,
        {
            "a.py": "from agent.tools import BaseTool\nclass _Private(BaseTool):\n    pass\n"
            "class Shared(BaseTool):\n    def execute(self, params):\n        return 'shared'\n",
            "b.py": "from .a import Shared\nfrom agent.tools import ToolManifest\n"
            "class B(Shared):\n    def manifest(self):\n        return ToolManifest('b', 'B.')\n",
            "typed.py": "from openjarvis.toolkit.typed import TypedTool\n"
            "class Common(TypedTool):\n    category = 'x'\n"
            "class Good(Common):\n    'Use it.'\n    name = 'good'\n"
            "    def run(self) -> str:\n        return ''\n",
        },
    )

    assert report.problems == []
    assert list(by_name(report)) == ["b", "good"]


def test_an_unfinished_class_is_told_what_it_lacks(tmp_path: Path) -> None:
    report = load(
        tmp_path, {"a.py": "from agent.tools import BaseTool\n\nclass Half(BaseTool):\n    pass\n"}
    )

    (problem,) = report.problems
    assert problem.line == 3
    assert problem.reason.startswith("Half does not define execute, manifest; add it, or start ")


def test_a_spec_style_tool_may_be_unavailable_and_have_an_origin_of_its_own(tmp_path: Path) -> None:
    code = (
        f"{SPEC_IMPORTS}class {{0}}(BaseTool):\n    origin = 'Bangkok'\n"
        "    spec = property(lambda self: ToolSpec('{0}', 'Use it.'))\n"
        "    def execute(self, **params):\n        return ToolResult('{0}', self.origin)\n"
        "    def is_available(self):\n        return {1}\n"
    )

    report = load(tmp_path, {"a.py": code.format("a", True), "b.py": code.format("b", False)})

    assert by_name(report)["a"].execute().content == "Bangkok"
    assert [left.line for left in report.left_out] == [3]


def test_what_files_print_while_they_load_goes_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load(tmp_path, GOOD)

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "loading chatty tool...\nmade\n"


def test_loads_on_many_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", GOOD)
    stdout, barrier, reports = sys.stdout, threading.Barrier(8), list[LoadReport]()

    def work() -> None:
        barrier.wait()
        reports.append(load_folder(folder))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [list(by_name(report)) for report in reports] == [NAMES] * 8
    assert sys.stdout is stdout


def test_a_class_made_by_code_counts_and_has_some_line(tmp_path: Path) -> None:
    code = tool_file("a") + (
        'exec(\'class Made(ATool):\\n def manifest(self): return ToolManifest("made", "")\')\n'
    )

    report = load(tmp_path, {"a.py": code})

    assert [(entry.tool.spec.name, entry.line) for entry in report.loaded] == [
        ("a", 3),
        ("made", 1),
    ]


def test_two_loads_give_the_same_tools_in_the_same_order(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", GOOD)

    first, second = load_folder(folder), load_folder(folder)

    assert list(by_name(first)) == list(by_name(second))
    assert [entry.origin for entry in first.loaded] == [entry.origin for entry in second.loaded]
