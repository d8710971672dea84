"""The examples of docs/scheduler.md run."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from openjarvis.cli import cli
from openjarvis.config import load_config

PAGE = (Path(__file__).parents[2] / "docs" / "scheduler.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
SCRIPTS = [code for language, code in BLOCKS if language == "python"]
OUTPUTS = [code for language, code in BLOCKS if language == "text"]
COMMANDS = [line[2:] for line in dict(BLOCKS)["console"].splitlines()]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path))
    monkeypatch.delenv("OPENJARVIS_CONFIG", raising=False)
    (tmp_path / "config.toml").write_text('[engine]\ndefault = "offline"\n')
    return tmp_path


@pytest.mark.parametrize(("script", "output"), list(zip(SCRIPTS, OUTPUTS, strict=True)))
def test_the_scripts_print_what_the_page_says(
    script: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(script, "docs/scheduler.md", "exec"), {})

    assert capsys.readouterr().out == output


def test_the_commands_are_there() -> None:
    add, listed, run = COMMANDS
    done = CliRunner().invoke(
        cli, [*shlex.split(add.replace("web_search", "think"))[1:], "--dry-run"]
    )

    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(cli, shlex.split(listed)[1:]).exit_code == 0
    assert CliRunner().invoke(cli, [*shlex.split(run)[1:], "--once"]).exit_code == 0


def test_the_configuration_is_one(home: Path) -> None:
    (home / "config.toml").write_text(dict(BLOCKS)["toml"])

    settings = load_config().scheduler

    assert settings.database.startswith("postgresql://")
    assert "secret" not in repr(settings)
