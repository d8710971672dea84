import json
from pathlib import Path

import pytest

from cli_words import Jarvis


def test_a_good_installation_is_exit_code_0(jarvis: Jarvis, tmp_path: Path) -> None:
    done = jarvis("doctor")

    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert [line[:4] for line in lines] == ["ok  "] * 8
    assert [line[6:].split(":")[0] for line in lines] == [
        "python",
        "config",
        "engine",
        "tools",
        "sandbox",
        "mcp",
        "channels",
        "audit",
    ]
    assert str(tmp_path / "openjarvis-home" / "config.toml") in lines[1]


def test_a_wrong_configuration_is_told_once_with_its_line(jarvis: Jarvis, tmp_path: Path) -> None:
    (tmp_path / "openjarvis-home" / "config.toml").write_text("[agent]\nmax_turn = 3\n")

    done = jarvis("doctor", "--json")

    checks = json.loads(done.stdout)
    assert done.exit_code == 1
    assert [(check["name"], check["passed"]) for check in checks] == [
        ("python", True),
        ("config", False),
    ]
    assert (
        "config.toml:2: agent.max_turn: unknown key; did you mean 'max_turns'?"
        in (checks[1]["detail"])
    )


def test_tool_files_that_cannot_be_used_need_mending(jarvis: Jarvis, tool_folder: Path) -> None:
    done = jarvis("doctor")

    assert done.exit_code == 1
    assert "MEND  tools: " in done.stdout
    assert f"5 dropped in. {tool_folder / 'broken.py'}:2: ValueError" in done.stdout


def test_an_audit_trail_that_cannot_be_opened_needs_mending(jarvis: Jarvis, tmp_path: Path) -> None:
    (tmp_path / "openjarvis-home" / "audit.db").mkdir()

    done = jarvis("doctor")

    assert done.exit_code == 1
    assert "MEND  audit: The audit trail " in done.stdout


@pytest.mark.parametrize("text", ["", "[audit]\nenabled = false\n"])
def test_an_audit_trail_that_is_switched_off_is_said(
    jarvis: Jarvis, tmp_path: Path, text: str
) -> None:
    (tmp_path / "openjarvis-home" / "config.toml").write_text(text)

    done = jarvis("doctor")

    assert ("switched off in [audit]" in done.stdout) == bool(text)
    assert (tmp_path / "openjarvis-home" / "audit.db").exists() != bool(text)
