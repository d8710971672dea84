import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openjarvis.cli import ask as ask_module
from openjarvis.cli import cli
from openjarvis.testing import ScriptedEngine, says


@pytest.fixture
def answering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    engine = ScriptedEngine([says("```repl\nFINAL(context.split()[-1])\n```")])
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(ask_module, "get_engine", lambda *_: ("scripted", engine))
    (tmp_path / "long.txt").write_text("words " * 1000 + "end")
    monkeypatch.chdir(tmp_path)
    return engine


def ask(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["ask", *arguments])


def test_a_file_is_worked_on_by_the_agent_for_long_texts(answering: ScriptedEngine) -> None:
    done = ask("--file", "long.txt", "--json", "The last word?")

    answer = json.loads(done.stdout)
    assert (answer["content"], answer["agent"]) == ("end", "rlm")
    assert [result["tool_name"] for result in answer["tool_results"]] == ["rlm_repl"]
    assert "words words" not in answering.requests[0].messages[0].text


def test_another_agent_refuses_a_file(answering: ScriptedEngine) -> None:
    done = ask("--file", "long.txt", "--agent", "simple", "The last word?")

    assert done.exit_code == 2
    assert "works on no --file; use --agent rlm" in done.stderr


def test_a_file_that_is_not_there_is_told(answering: ScriptedEngine) -> None:
    done = ask("--file", "nope.txt", "The last word?")

    assert done.exit_code == 2
    assert "nope.txt" in done.stderr


def test_calls_of_the_agents_own_tool_are_audited(
    answering: ScriptedEngine, tmp_path: Path
) -> None:
    ask("--file", "long.txt", "The last word?")

    listed = CliRunner().invoke(cli, ["audit", "list"])
    assert "rlm_repl" in listed.stdout
