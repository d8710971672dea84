import json
import os
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openjarvis.cli import cli
from postgres_server import PostgresServer
from scheduler.daemon import start_daemon

pytest.importorskip("dbos", reason="dbos is not installed (extra 'distributed')")

SLOW_TOOL = """
    import os, time
    from openjarvis import tool

    @tool("take_note", "Take a note of a word. Call it when the user wants a word noted.",
          examples=["Take a note of 'x'"])
    def take_note(word: str) -> str:
        journal = os.open({journal!r}, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(journal, f"{{os.getpid()}}\\n".encode())
        if len(open({journal!r}).readlines()) == 1:
            time.sleep(60)
        return "noted"
"""


def test_a_call_that_a_killed_daemon_left_unfinished_is_made_by_the_next(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path))
    monkeypatch.delenv("OPENJARVIS_CONFIG", raising=False)
    dsn = postgres.new_database()
    journal, tools = tmp_path / "journal", tmp_path / "tools"
    tools.mkdir(mode=0o700)
    (tools / "notes.py").write_text(textwrap.dedent(SLOW_TOOL.format(journal=str(journal))))
    (tmp_path / "config.toml").write_text(
        f'[engine]\ndefault = "offline"\n[scheduler]\ndatabase = "{dsn}"\nlease_seconds = 1\n'
    )
    added = CliRunner().invoke(
        cli,
        ["schedule", "add", "Take a note of 'x'", "--every", "1", "--tools", "take_note", "--json"],
    )
    assert added.exit_code == 0, added.output
    task_id = json.loads(added.stdout)["task"]["id"]

    first = start_daemon("--json")
    while not journal.exists() or not journal.read_text():
        time.sleep(0.02)
    first.kill()
    first.communicate()
    second = start_daemon("--json")
    assert second.stdout is not None
    ended: dict[str, Any] = json.loads(second.stdout.readline())
    second.terminate()
    second.communicate(timeout=60)

    assert second.returncode == 0
    assert (ended["task_id"], ended["success"], ended["result"]) == (task_id, True, "noted")
    pids = [int(pid) for pid in journal.read_text().split()]
    assert pids[:2] == [first.pid, second.pid]
    assert os.getpid() not in pids
