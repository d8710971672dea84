import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openjarvis import Jarvis
from openjarvis.cli import cli
from openjarvis.memory.sqlite import SQLiteMemory
from openjarvis.testing import ScriptedEngine, says


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("OPENJARVIS_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    return home


def jarvis(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["memory", *arguments], input=stdin)


def test_what_was_added_is_found() -> None:
    assert jarvis("add", "แมวชื่อมิโซะ", "--source", "me").stdout == "Stored as 1.\n"

    found = jarvis("search", "แมว")

    assert found.exit_code == 0
    assert found.stdout.startswith("1. me [")
    assert "แมวชื่อมิโซะ" in found.stdout


def test_json_has_everything_of_a_result() -> None:
    key = json.loads(jarvis("add", "tea", "--metadata", '{"n": 1}', "--json").stdout)["id"]

    (found,) = json.loads(jarvis("search", "tea", "--json").stdout)

    assert found.keys() == {"id", "score", "source", "content", "metadata"}
    assert (found["id"], found["content"], found["metadata"]) == (key, "tea", {"n": 1})


def test_a_text_is_read_from_standard_input() -> None:
    jarvis("add", stdin="tea from a pipe\n")

    assert "tea from a pipe" in jarvis("search", "tea").stdout


def test_nothing_found_is_exit_code_1_and_empty_json() -> None:
    found = jarvis("search", "tea", "--json")

    assert (found.exit_code, json.loads(found.stdout)) == (1, [])
    assert found.stderr == "No results.\n"


def test_a_folder_is_indexed_twice_with_a_summary(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("tea")
    (tmp_path / "docs" / "b.bin").write_bytes(bytes(20))

    first = jarvis("index", "docs", "--json")
    second = jarvis("index", "docs")

    assert json.loads(first.stdout)["added"] == 1
    assert second.stdout == "Indexed 0 files in 0 chunks; 1 unchanged; 1 skipped (binary).\n"
    assert "b.bin: binary" in second.stderr


def test_stats_tell_what_there_is(home: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("tea")
    jarvis("index", "a.md")
    jarvis("add", "coffee")

    told = json.loads(jarvis("stats", "--json").stdout)

    assert told["size_bytes"] > 0
    assert (told["backend"], told["entries"], told["files"]) == ("sqlite", 2, 1)
    assert told["path"] == str(home / "memory.db")
    assert "entries: 2" in jarvis("stats").stdout


@pytest.mark.parametrize(
    ("arguments", "exit_code", "says"),
    [
        (["add"], 2, "what is to be kept"),
        (["add", " "], 2, "what is to be kept"),
        (["add", "x", "--metadata", "[1]"], 2, "expected a JSON object"),
        (["add", "x", "--metadata", "{"], 2, "--metadata"),
        (["search"], 2, "Missing argument"),
        (["search", "x", "-k", "0"], 2, "not in the range"),
        (["index", "none"], 1, "does not exist"),
        (["index", ".", "--chunk-size", "0"], 2, "not in the range"),
    ],
)
def test_a_wrong_command_is_told(arguments: list[str], exit_code: int, says: str) -> None:
    result = jarvis(*arguments)

    assert result.exit_code == exit_code
    assert says in result.stderr


def test_a_damaged_memory_is_told_in_one_line(home: Path) -> None:
    home.mkdir()
    (home / "memory.db").write_text("no database " * 100)

    result = jarvis("stats")

    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: The memory {home / 'memory.db'} cannot be used: its file is no SQLite database.\n"
    )


def test_an_unknown_backend_is_an_error_of_the_configuration(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text('[memory]\nbackend = "sqlight"\n')

    result = jarvis("stats")

    assert result.exit_code == 2
    assert "did you mean 'sqlite'" in result.stderr


def test_what_the_memory_knows_goes_with_a_question(home: Path) -> None:
    engine = ScriptedEngine([says("Miso."), says("No idea.")])
    with Jarvis(engine=engine) as jarvis:
        jarvis.memory.store("The cat is called Miso", source="notes.md")

        jarvis.ask("What is the cat called?")
        jarvis.ask("What is the cat called?", context=False)

    with_memory, without = (str(request) for request in engine.requests)
    assert "[Source: notes.md] The cat is called Miso" in with_memory
    assert "notes.md" not in without


def test_a_question_makes_no_memory_where_there_is_none(home: Path) -> None:
    with Jarvis(engine=ScriptedEngine([says("Hello.")])) as jarvis:
        jarvis.ask("Hello?")

    assert not (home / "memory.db").exists()


def test_the_systems_memory_is_the_configured_one(home: Path) -> None:
    with Jarvis(engine=ScriptedEngine([])) as jarvis:
        jarvis.memory.store("tea")

    with SQLiteMemory(home / "memory.db") as memory:
        assert memory.count() == 1
