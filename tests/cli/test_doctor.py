import json
from pathlib import Path

import pytest

from cli_words import Jarvis
from openjarvis.sandbox import command


def test_a_good_installation_is_exit_code_0(jarvis: Jarvis, tmp_path: Path) -> None:
    done = jarvis("doctor")

    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert [line[:4] for line in lines] == ["ok  "] * 11
    assert [line[6:].split(":")[0] for line in lines] == [
        "python",
        "config",
        "engine",
        "agent",
        "tools",
        "sandbox",
        "memory",
        "scheduler",
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "[engine]\ndefault = 'ofline'\n",
            "engine: Unknown engine 'ofline'. Did you mean 'offline'",
        ),
        (
            "[engine]\ndefault = 'openai'\n",
            "engine: 'openai', configured, is not ready: no API key",
        ),
        ("[agent]\ndefault = 'simpel'\n", "agent: Unknown agent 'simpel'. Did you mean 'simple'"),
        ("[agent]\nmode = 'struct'\n", "agent: Unknown mode 'struct'. Did you mean 'structured'"),
        (
            "[agent]\ndefault = 'simple'\nmode = 'structured'\n",
            "agent: The agent 'simple' has no modes",
        ),
        ("[tools.web_search]\nprovidr = 'x'\n", "[tools.web_search] providr: unknown key"),
        ("[memory]\nbackend = 'sqlight'\n", "memory: [memory] backend = 'sqlight'"),
        ("[memory]\npath = 'text'\n", "memory: The memory "),
        (
            "[scheduler]\npath = 'text'\n",
            "scheduler: The scheduler's database text cannot be opened",
        ),
    ],
)
def test_what_is_configured_and_does_not_work_needs_mending(
    jarvis: Jarvis, tmp_path: Path, text: str, says: str
) -> None:
    (tmp_path / "openjarvis-home" / "config.toml").write_text(text)
    Path("text").write_text("This is no database. " * 100)

    done = jarvis("doctor")

    (line,) = [line for line in done.stdout.splitlines() if line.startswith("MEND")]
    assert done.exit_code == 1
    assert says in line


def test_stores_that_are_not_there_yet_are_not_made(jarvis: Jarvis, tmp_path: Path) -> None:
    done = jarvis("doctor")

    assert "memory: nothing was stored yet" in done.stdout
    assert "scheduler: nothing was scheduled yet" in done.stdout
    assert not list((tmp_path / "openjarvis-home").glob("[ms]*.db"))


def test_stores_that_are_there_are_opened(jarvis: Jarvis) -> None:
    jarvis("memory", "add", "Tea is green.")
    jarvis("schedule", "add", "Say hello.", "--every", "1d")

    done = jarvis("doctor")

    assert "ok    memory: 1 texts (sqlite)" in done.stdout
    assert "ok    scheduler: 1 tasks" in done.stdout


def test_a_sandbox_that_does_not_start_needs_mending(
    jarvis: Jarvis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_BOOT", "import sys; sys.exit('no such thing {home}')")

    done = jarvis("doctor")

    (line,) = [line for line in done.stdout.splitlines() if line.startswith("MEND")]
    assert "sandbox: The sandbox could not be set up, so no code was run: no such thing" in line
    assert "'jarvis doctor --sandbox' shows which walls stand here." in line
