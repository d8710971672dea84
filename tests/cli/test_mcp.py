import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from openjarvis.cli import cli
from openjarvis.sdk import Jarvis
from openjarvis.testing import ScriptedEngine, calls, says

MISBEHAVING = Path(__file__).parents[1] / "misbehaving_server.py"


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(
        f"[mcp.servers.bad]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = [{json.dumps(str(MISBEHAVING))}]\n"
        '[mcp.servers.gone]\ncommand = "/no/such/command"\n'
    )
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return path


def jarvis(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_list_shows_tools_with_their_pins_and_servers_that_are_away(configured: Path) -> None:
    shown = jarvis("mcp", "list")

    assert shown.exit_code == 1
    assert "bad__echo\tnew\tWhat it says." in shown.stdout
    assert "gone (stdio, [mcp.servers])" in shown.stderr
    assert "No such file" in shown.stderr


def test_list_as_json_has_what_scripts_need(configured: Path) -> None:
    statuses = json.loads(jarvis("mcp", "list", "--json").stdout)

    assert [(one["name"], one["available"]) for one in statuses] == [("bad", True), ("gone", False)]
    assert statuses[0]["tools"][0]["name"] == "bad__echo"
    assert statuses[0]["problems"]


def test_a_changed_definition_is_shown_and_can_be_accepted(configured: Path) -> None:
    pins = configured.parent / "mcp" / "pins.json"
    pins.parent.mkdir()
    pins.write_text('{"bad": {"echo": "other"}}')

    assert "bad__echo\tchanged" in jarvis("mcp", "list").stdout
    accepted = jarvis("mcp", "list", "--accept", "bad__echo")
    assert "bad__echo\tpinned" in accepted.stdout


def test_without_servers_list_says_how_to_add_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path))

    shown = jarvis("mcp", "list")

    assert (shown.exit_code, shown.stdout) == (0, "")
    assert "[mcp.servers.NAME]" in shown.stderr


def test_login_names_the_servers_that_can_be_logged_in_to(configured: Path) -> None:
    shown = jarvis("mcp", "login", "bad")

    assert shown.exit_code == 2
    assert "those are none" in shown.stderr


def test_a_tool_of_a_server_runs_by_hand(configured: Path) -> None:
    assert jarvis("tools", "run", "bad__echo", "text=hi").stdout == "echo: hi\n"


def test_a_tool_of_a_server_that_is_away_asks_nobody_and_is_warned_of_once(
    configured: Path,
) -> None:
    whole = [sys.executable, "-m", "openjarvis", "tools", "run", "gone__x"]
    ran = subprocess.run(whole, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    warning, answer = ran.stderr.splitlines()
    assert ran.returncode == 1
    assert "The tools of the MCP server gone are not there: " in warning
    assert answer.startswith("unavailable: the MCP server 'gone'")


def test_a_tool_of_a_server_is_shown_as_a_model_gets_it(configured: Path) -> None:
    shown = json.loads(jarvis("tools", "show", "bad__echo").stdout)

    assert shown["function"]["name"] == "bad__echo"


def test_a_mistyped_tool_of_a_server_names_the_nearest(configured: Path) -> None:
    shown = jarvis("tools", "run", "bad__ehco")

    assert shown.exit_code == 2
    assert "Did you mean 'bad__echo'" in shown.stderr


@pytest.mark.parametrize("name", ["bda__echo", "bda__*"])
def test_a_mistyped_server_names_the_nearest(configured: Path, name: str) -> None:
    shown = jarvis("ask", "--tools", name, "hello")

    assert shown.exit_code == 2
    assert f"Unknown tool '{name}'. Did you mean '{name.replace('bda', 'bad')}'?" in shown.stderr


def test_an_agent_uses_servers_beside_built_in_tools_and_a_dead_one_stops_nothing(
    configured: Path,
) -> None:
    engine = ScriptedEngine(
        [
            [calls("bad__echo", text="hi"), calls("calculator", expression="2+2")],
            calls("gone__x"),
            says("done"),
        ]
    )
    with Jarvis(configured, engine=engine, model="scripted") as made:
        answer: dict[str, Any] = made.ask_full(
            "Go", tools=["calculator", "bad__*", "gone__x"], approve=lambda request: True
        )

    assert answer["content"] == "done"
    said = [one["content"] for one in answer["tool_results"]]
    assert said[:2] == ["echo: hi", "4"]
    assert said[2].startswith("unavailable: the MCP server 'gone'")
