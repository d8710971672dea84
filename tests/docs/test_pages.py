"""Every example of the README and the docs runs, and prints what the page says.

A page is run from top to bottom in a folder of its own. A `python` block shares its names with the
page's earlier ones; a `text` block is what the block before it prints. In a `console` block the
lines after `$ ` are commands, and the lines that follow what they print; commands that print
something else each time stand without it. A `toml` block must be a configuration.
"""

import io
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import openjarvis.system  # noqa: F401 - announces tools and engines before a page adds its own
from openjarvis.config import load_config
from openjarvis.core.registry import EngineRegistry, ToolRegistry

ROOT = Path(__file__).parents[2]
TESTED_ON_THEIR_OWN = {"dropins.md"}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in PAGES if page.name not in TESTED_ON_THEIR_OWN]
INSTALLS = ("make ", "python3 -m venv", ".venv/bin/pip")
"""What the setup itself does: `.ci/run` runs these commands."""


class Block(NamedTuple):
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    # A longer fence may hold others.
    fenced = re.compile(r"^(```+)(\w+)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
    for _, language, text in fenced.findall(page.read_text("utf-8")):
        yield Block(language, text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "notes.txt").write_text("Buy milk.\n")
    (tmp_path / "typo.toml").write_text('[engine]\nmodle = "x"\n')
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    with ToolRegistry.isolated(), EngineRegistry.isolated():  # pages register theirs
        yield tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_does_what_it_says(page: Path, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    printed = ""
    for block in blocks(page):
        if block.language == "python":
            printed = run_python(block.text, names, page)
        elif block.language == "text":
            assert printed == block.text
        elif block.language == "console":
            run_console(block.text)
        elif block.language == "toml":
            check_toml(block.text, folder)


def run_python(code: str, names: dict[str, Any], page: Path) -> str:
    with redirect_stdout(io.StringIO()) as output:
        exec(compile(code, page.name, "exec", dont_inherit=True), names)
    return output.getvalue()


def run_console(text: str) -> None:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        if command.startswith(INSTALLS):
            continue
        done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
        if expected:
            assert expected in (done.stdout, done.stderr), done
        else:
            assert done.returncode == 0, done


def check_toml(text: str, folder: Path) -> None:
    assert tomllib.loads(text)
    (folder / "page.toml").write_text(text)
    load_config(folder / "page.toml")


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")

    missing = [page.name for page in (ROOT / "docs").glob("*.md") if page.name not in readme]

    assert missing == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs" / "dropins.md"], ids=lambda page: page.name)
def test_no_link_leads_nowhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []
