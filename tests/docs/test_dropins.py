"""Every example of docs/dropins.md runs, in the folder that the page describes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dropin_files import write_folder
from openjarvis.core.types import ToolResult
from openjarvis.dropins.check import judge
from openjarvis.dropins.loader import load_folder
from openjarvis.toolkit.base import BaseTool

PAGE = (Path(__file__).parents[2] / "docs" / "dropins.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"(?:`(agent/tools/\w+\.py)`:\n\n)?```(\w+)\n(.*?)```", re.DOTALL)
BLOCKS = _BLOCK.findall(PAGE)
FILES = {name: code for name, language, code in BLOCKS if name}
SCRIPTS = [code for name, language, code in BLOCKS if language == "python" and not name]
OUTPUTS = [code for name, language, code in BLOCKS if language == "text"]
CONFIG = {"tools": {"stocks": {"key": "demo"}}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write_folder(tmp_path, FILES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tools(project: Path) -> dict[str, BaseTool]:
    report = load_folder(project / "agent/tools", CONFIG)
    assert report.problems == []
    return {tool.spec.name: tool for tool in report.tools}


def test_every_block_of_python_is_a_file_or_the_script() -> None:
    assert sorted(Path(name).name for name in FILES) == [
        "_rates.py",
        "currency.py",
        "small.py",
        "stocks.py",
        "weather.py",
    ]
    assert (len(SCRIPTS), len(OUTPUTS)) == (1, 1)


def test_the_script_prints_what_the_page_says(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(SCRIPTS[0], "docs/dropins.md", "exec"), {})

    assert capsys.readouterr().out == OUTPUTS[0]


@pytest.mark.parametrize(
    ("name", "arguments", "content", "success"),
    [
        ("weather", {"city": "London"}, '{"sky": "rain"}', True),
        ("weather", {"city": "Oslo"}, "No weather is known for Oslo.", False),
        ("convert_currency", {"amount": 100, "source": "THB"}, '{"EUR": 2.5}', True),
        ("shout", {"text": "rain"}, "RAIN", True),
        ("word_count", {"text": "one two"}, "2", True),
        ("stock_price", {"symbol": "AAPL"}, "AAPL: 100 USD", True),
    ],
)
def test_the_tools_of_the_page_run(
    project: Path, name: str, arguments: dict[str, object], content: str, success: bool
) -> None:
    result = tools(project)[name].execute(**arguments)

    assert result == ToolResult(name, content, success)


def test_the_run_that_the_page_shows_gives_what_it_shows(project: Path) -> None:
    shown = re.search(r"jarvis tools run (\w+) (\w+)=(\w+)\n(.*)\n", PAGE)
    assert shown is not None
    name, parameter, value, output = shown.groups()

    result = tools(project)[name].execute(**{parameter: value})

    assert result.content == output
    assert ast.literal_eval(output) == {"sky": "rain"}


def test_a_tool_without_its_key_is_left_out(project: Path) -> None:
    report = load_folder(project / "agent/tools", {})

    assert "stock_price" not in [tool.spec.name for tool in report.tools]
    assert [left.file.name for left in report.left_out] == ["stocks.py"]


def test_the_files_of_the_page_have_nothing_to_mend_but_examples(project: Path) -> None:
    found = judge(project / "agent/tools", CONFIG)

    assert {item.file.name for item in found} == {"small.py"}
    assert all("examples" in item.message for item in found)
