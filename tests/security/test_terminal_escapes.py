"""What code prints is data: it must not steer the terminal of whoever reads it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from openjarvis.cli import cli

HOSTILE = r"print('\x1b[2J\x1b]0;title\x07\x1b[31mred\x9b1A\u202etxt.exe\r\x08')"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path))


@pytest.mark.parametrize("tool", ["code_interpreter", "repl"])
def test_escapes_are_written_out_and_not_obeyed(tool: str) -> None:
    done = CliRunner().invoke(cli, ["tools", "run", tool, f"code={HOSTILE}"])

    assert done.exit_code == 0, done.output
    assert r"\x1b[31mred" in done.stdout
    assert not set("\x1b\x07\x9b\u202e\r\x08") & set(done.stdout)


def test_in_json_they_are_escaped_too() -> None:
    done = CliRunner().invoke(cli, ["tools", "run", "--json", "repl", f"code={HOSTILE}"])

    assert not set("\x1b\x07") & set(done.stdout)
    assert "\x1b[31mred" in json.loads(done.stdout)["content"]
