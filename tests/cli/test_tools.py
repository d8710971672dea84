import json
import os
import shutil
from pathlib import Path
from unittest.mock import patch

import pytest

import openjarvis.tools  # noqa: F401 - announces the tools before a test adds its own
from cli_words import Jarvis
from openjarvis.core.registry import ToolRegistry
from openjarvis.testing import ScriptedEngine, says


class TestList:
    def test_a_piped_table_is_one_tool_a_line_separated_by_tabs(self, jarvis: Jarvis) -> None:
        done = jarvis("tools", "list")

        rows = [line.split("\t") for line in done.stdout.splitlines()]
        assert done.exit_code == 0
        assert {len(row) for row in rows} == {3}
        assert ["calculator", "math"] in [row[:2] for row in rows]

    def test_json_says_where_each_is_from(self, jarvis: Jarvis, tool_folder: Path) -> None:
        listed = json.loads(jarvis("tools", "list", "--json").stdout)

        tools = {tool["name"]: tool for tool in listed["tools"]}
        assert tools["erase"]["origin"].startswith(f"{tool_folder / 'various.py'}:")
        assert tools["erase"]["requires_confirmation"] is True
        assert tools["calculator"]["origin"] == "openjarvis.tools.calculator.CalculatorTool"

    def test_files_that_cannot_be_used_are_told_with_line_and_reason(
        self, jarvis: Jarvis, tool_folder: Path
    ) -> None:
        done = jarvis("tools", "list")
        problem = f"{tool_folder / 'broken.py'}:2: ValueError: broken on purpose"

        assert done.exit_code == 0
        assert f"Not usable: {problem}" in done.stderr
        assert json.loads(jarvis("tools", "list", "--json").stdout)["problems"] == [problem]

    def test_tools_that_are_not_available_are_told(self, jarvis: Jarvis, tool_folder: Path) -> None:
        done = jarvis("tools", "list")

        (left_out,) = json.loads(jarvis("tools", "list", "--json").stdout)["left_out"]
        assert f"Left out: {left_out}" in done.stderr
        assert left_out.startswith(f"{tool_folder / 'various.py'}:")
        assert left_out.endswith("Unavailable is not available: its is_available() is false")
        assert "gone" not in done.stdout

    def test_a_registered_tool_that_cannot_be_made_does_not_hide_the_others(
        self, jarvis: Jarvis
    ) -> None:
        class Broken:
            def __init__(self) -> None:
                raise OSError("no disk")

        with ToolRegistry.isolated():
            ToolRegistry.register_value("broken", Broken)
            done = jarvis("tools", "list")

        assert done.exit_code == 0
        assert "broken\t\tcannot be made: " in done.stdout
        assert "OSError: no disk" in done.stdout
        assert "calculator" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
class TestToolFolders:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "more"
        folder.mkdir()
        (folder / "hello.py").write_text(
            "from agent.tools import tool\n\n\n"
            "@tool('hello', 'Greet. Use it when the user greets.')\n"
            "def hello() -> str:\n    return 'hi'\n"
        )
        return folder

    def test_one_that_others_can_write_is_refused_with_the_reason(
        self, jarvis: Jarvis, folder: Path
    ) -> None:
        folder.chmod(0o777)

        done = jarvis("tools", "list", "--tools-dir", str(folder))

        assert done.exit_code == 0
        assert f"{folder} is writable by everyone (mode 0777)" in done.stderr
        assert f"chmod go-w '{folder}'" in done.stderr
        assert "hello" not in done.stdout

    def test_one_that_is_missing_is_told(self, jarvis: Jarvis, folder: Path) -> None:
        done = jarvis("tools", "list", "--tools-dir", str(folder / "nowhere"))

        assert f"Not usable: {folder / 'nowhere'}: there is no such tool folder" in done.stderr

    def test_a_link_to_a_folder_is_judged_by_its_target(
        self, jarvis: Jarvis, folder: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "link").symlink_to(folder)
        (tmp_path / "dead").symlink_to(tmp_path / "nowhere")

        good = jarvis("tools", "list", "--tools-dir", str(tmp_path / "link"))
        dead = jarvis("tools", "list", "--tools-dir", str(tmp_path / "dead"))

        assert "hello\t" in good.stdout
        assert "it is a link to" in dead.stderr

    @pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root reads everything")
    def test_one_that_cannot_be_read_is_told(self, jarvis: Jarvis, folder: Path) -> None:
        folder.chmod(0o300)

        done = jarvis("tools", "list", "--tools-dir", str(folder))

        assert "the tool folder cannot be read" in done.stderr

    def test_the_configured_ones_are_read(
        self, jarvis: Jarvis, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        config = tmp_path / "other.toml"
        config.write_text(f"[tools]\ndirectories = [{str(folder)!r}]\n")
        monkeypatch.setenv("OPENJARVIS_CONFIG", str(config))

        assert jarvis("tools", "run", "hello").stdout == "hi\n"


class TestShow:
    def test_it_prints_the_definition_that_a_model_gets(self, jarvis: Jarvis) -> None:
        shown = json.loads(jarvis("tools", "show", "calculator").stdout)

        assert shown["type"] == "function"
        assert shown["function"]["name"] == "calculator"
        assert shown["function"]["parameters"]["required"] == ["expression"]

    def test_an_unknown_name_is_exit_code_2(self, jarvis: Jarvis) -> None:
        done = jarvis("tools", "show", "file_reed")

        assert done.exit_code == 2
        assert "Did you mean 'file_read'?" in done.stderr


class TestRun:
    @pytest.mark.parametrize("given", ["expression=2+2", '{"expression": "2+2"}'])
    def test_arguments_are_pairs_or_one_object(self, jarvis: Jarvis, given: str) -> None:
        assert jarvis("tools", "run", "calculator", given).stdout == "4\n"

    def test_text_stays_text_and_other_values_are_json(
        self, jarvis: Jarvis, workplace: Path
    ) -> None:
        (workplace / "a=b.txt").write_text("one\ntwo\nthree\n")

        done = jarvis("tools", "run", "file_read", "path=a=b.txt", "max_lines=1", "--json")

        assert json.loads(done.stdout)["content"].startswith("one\n")
        assert "two" not in json.loads(done.stdout)["content"].splitlines()

    @pytest.mark.parametrize("text", ["[1]", "true", "1.50", '"quoted"', "", "a=b"])
    def test_an_argument_that_is_text_is_taken_to_the_letter(
        self, jarvis: Jarvis, text: str
    ) -> None:
        done = jarvis("tools", "run", "think", f"thought={text}", "--json")

        assert json.loads(done.stdout)["content"] == text

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            (("2+2",), "'2+2' is no argument; write name=value"),
            (("expression=1", "expression=2"), "The argument 'expression' is given twice."),
        ],
    )
    def test_words_that_are_no_arguments_are_exit_code_2(
        self, jarvis: Jarvis, given: tuple[str, ...], reason: str
    ) -> None:
        done = jarvis("tools", "run", "calculator", *given)

        assert done.exit_code == 2
        assert reason in done.stderr

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            ((), "missing 'expression'"),
            (("expression=1/0",), "Division by zero"),
            (('{"expression": ',), "Invalid arguments JSON"),
            (("expresion=1",), "unknown argument 'expresion' (did you mean 'expression'?)"),
        ],
    )
    def test_a_call_that_fails_is_exit_code_1_and_its_reason_on_stderr(
        self, jarvis: Jarvis, given: tuple[str, ...], reason: str
    ) -> None:
        done = jarvis("tools", "run", "calculator", *given)

        assert (done.exit_code, done.stdout) == (1, "")
        assert reason in done.stderr

    def test_json_tells_what_became_of_the_call(self, jarvis: Jarvis) -> None:
        done = jarvis("tools", "run", "calculator", "expression=1/0", "--json")

        told = json.loads(done.stdout)
        assert done.exit_code == 1
        assert (told["tool_name"], told["success"]) == ("calculator", False)
        assert (told["outcome"], told["detail"]) == ("failed", "raised")
        assert told["latency_seconds"] >= 0

    def test_an_unknown_tool_is_exit_code_2(self, jarvis: Jarvis) -> None:
        done = jarvis("tools", "run", "calculater", "expression=1")

        assert done.exit_code == 2
        assert "Unknown tool 'calculater'. Did you mean 'calculator'? There are " in done.stderr

    def test_a_tool_that_needs_a_confirmation_is_denied_without_a_terminal(
        self, jarvis: Jarvis, tool_folder: Path
    ) -> None:
        denied = jarvis("tools", "run", "erase")
        allowed = jarvis("tools", "run", "erase", "--approve", "auto")

        assert (denied.exit_code, denied.stdout) == (1, "")
        assert "denied and did not run" in denied.stderr
        assert (allowed.exit_code, allowed.stdout) == (0, "erased\n")

    def test_a_tool_that_asks_a_model_gets_the_configured_engine(self, jarvis: Jarvis) -> None:
        engine = ScriptedEngine([says("Guten Morgen")], model="the-model")

        with patch("openjarvis.cli.tools.get_engine", return_value=("scripted", engine)):
            done = jarvis("tools", "run", "llm", "prompt=good morning, in German")

        assert done.stdout == "Guten Morgen\n"
        assert engine.requests[0].model == "the-model"

    def test_a_tool_that_asks_a_model_says_so_where_there_is_none(self, jarvis: Jarvis) -> None:
        done = jarvis("tools", "run", "llm", "prompt=hello")

        assert (done.exit_code, done.stdout) == (1, "")
        assert "The tool 'llm' asks a language model. To get one, " in done.stderr

    def test_a_tool_that_asks_a_model_says_so_where_the_configured_one_is_not_there(
        self, jarvis: Jarvis, tmp_path: Path
    ) -> None:
        config = tmp_path / "openjarvis-home" / "config.toml"
        config.write_text('[engine]\ndefault = "openai"\n')

        done = jarvis("tools", "run", "llm", "prompt=hello")

        assert done.exit_code == 1
        assert "The engine 'openai' is not ready" in done.stderr

    def test_no_engine_is_looked_for_where_no_tool_asks_one(self, jarvis: Jarvis) -> None:
        with patch("openjarvis.cli.tools.get_engine", side_effect=AssertionError):
            done = jarvis("tools", "run", "calculator", "expression=1")

        assert done.stdout == "1\n"


class TestCheck:
    def test_a_good_file_has_nothing_to_mend(self, jarvis: Jarvis, workplace: Path) -> None:
        (workplace / "good.py").write_text(
            "from typing import Annotated\n"
            "from agent.tools import tool\n\n\n"
            "@tool('greet', 'Greet a person by name. Use it when the user wants to greet.',\n"
            "      examples=['greet Ann', 'say hello to Bob'])\n"
            "def greet(name: Annotated[str, 'the name']) -> str:\n    return name\n"
        )

        done = jarvis("tools", "check", "good.py")

        assert (done.exit_code, done.stdout) == (0, "good.py: nothing to mend.\n")

    def test_what_stops_a_tool_is_exit_code_1(self, jarvis: Jarvis, tool_folder: Path) -> None:
        done = jarvis("tools", "check", str(tool_folder))

        place = f"{tool_folder / 'broken.py'}:2"
        assert done.exit_code == 1
        assert f"{place}: error: ValueError: broken on purpose" in done.stdout
        findings = json.loads(jarvis("tools", "check", str(tool_folder), "--json").stdout)
        assert findings[0]["level"] == "error"

    def test_the_name_of_a_built_in_tool_is_refused(self, jarvis: Jarvis, workplace: Path) -> None:
        (workplace / "mine.py").write_text(
            "from agent.tools import tool\n\n\n"
            "@tool('calculator', 'Mine. Use it when I say so.')\n"
            "def calculator() -> str:\n    return ''\n"
        )

        done = jarvis("tools", "check", "mine.py")

        assert done.exit_code == 1
        assert "is taken by the built-in tool 'calculator'" in done.stdout

    @pytest.mark.parametrize("path", ["nowhere", "nowhere.py", ""])
    def test_a_path_that_is_not_there_is_exit_code_2(self, jarvis: Jarvis, path: str) -> None:
        done = jarvis("tools", "check", path)

        assert done.exit_code == 2
        assert f"{path!r} does not exist" in done.stderr


def test_the_help_of_run_shows_its_examples_a_line_each(jarvis: Jarvis) -> None:
    lines = jarvis("tools", "run", "--help").stdout.splitlines()

    assert "    jarvis tools run calculator expression='2+2'" in lines
    assert not any("\\b" in line for line in lines)


def test_running_a_tool_tells_which_named_folder_cannot_be_used(jarvis: Jarvis) -> None:
    done = jarvis("tools", "run", "calculator", "expression=2+2", "--tools-dir", "nope")

    assert (done.exit_code, done.stdout) == (0, "4\n")
    assert done.stderr == "Not usable: nope: there is no such tool folder\n"


def test_a_folder_named_on_the_command_line_comes_first(
    jarvis: Jarvis, tool_folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(tool_folder, tmp_path / "other")
    various = tmp_path / "other" / "various.py"
    various.write_text(various.read_text().replace("said: ", "other: "))

    done = jarvis("tools", "run", "chatty", "text=hi", "--tools-dir", str(tmp_path / "other"))

    assert done.stdout == "other: hi\n"


def test_a_list_keeps_the_tools_of_other_folders_when_a_named_one_is_missing(
    jarvis: Jarvis, tool_folder: Path
) -> None:
    done = jarvis("tools", "list", "--json", "--tools-dir", "nope")

    described = {row["name"]: row["description"] for row in json.loads(done.stdout)["tools"]}
    assert described["chatty"].startswith("Say a text.")
