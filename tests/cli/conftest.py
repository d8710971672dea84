from pathlib import Path

import pytest
from click.testing import CliRunner

from cli_words import Jarvis
from jarvis_process import write_tools
from openjarvis.cli import cli


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and a configuration that names the offline engine."""
    home = tmp_path / "openjarvis-home"
    home.mkdir()
    (home / "config.toml").write_text('[engine]\ndefault = "offline"\n')
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def tool_folder(workplace: Path) -> Path:
    """The tool files of `jarvis_process`, where they are found without being named."""
    return write_tools(workplace / "agent" / "tools")


@pytest.fixture
def jarvis() -> Jarvis:
    """Runs `jarvis` in this process."""
    return lambda *arguments, **options: CliRunner().invoke(cli, arguments, **options)
