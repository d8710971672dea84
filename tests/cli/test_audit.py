import json
from pathlib import Path

import pytest

from cli_words import Jarvis


@pytest.fixture
def three_calls(jarvis: Jarvis) -> None:
    jarvis("tools", "run", "calculator", "expression=6*7")
    jarvis("tools", "run", "calculator", "expression=1/0")
    jarvis("tools", "run", "think", "thought=hm")


@pytest.mark.usefixtures("three_calls")
class TestList:
    def test_the_latest_come_first(self, jarvis: Jarvis) -> None:
        rows = [line.split("\t") for line in jarvis("audit", "list").stdout.splitlines()]

        assert [(row[0], row[2], row[3], row[4]) for row in rows] == [
            ("3", "think", "ran", ""),
            ("2", "calculator", "failed", "raised"),
            ("1", "calculator", "ran", ""),
        ]

    @pytest.mark.parametrize(
        ("options", "numbers"),
        [
            (("-n", "1"), [3]),
            (("--tool", "calculator"), [2, 1]),
            (("--outcome", "failed"), [2]),
            (("--tool", "think", "--outcome", "failed"), []),
            (("--tool", "' OR 1=1 --"), []),
        ],
    )
    def test_they_can_be_chosen(
        self, jarvis: Jarvis, options: tuple[str, ...], numbers: list[int]
    ) -> None:
        listed = json.loads(jarvis("audit", "list", *options, "--json").stdout)

        assert [entry["id"] for entry in listed] == numbers

    @pytest.mark.parametrize(
        "options", [("-n", "0"), ("-n", "9" * 30), ("--outcome", "good"), ("-n", "x")]
    )
    def test_a_wrong_option_is_exit_code_2(self, jarvis: Jarvis, options: tuple[str, ...]) -> None:
        assert jarvis("audit", "list", *options).exit_code == 2


@pytest.mark.usefixtures("three_calls")
class TestShow:
    def test_a_call_is_shown_whole(self, jarvis: Jarvis) -> None:
        shown = jarvis("audit", "show", "1").stdout
        entry = json.loads(jarvis("audit", "show", "1", "--json").stdout)

        assert 'input: {"expression": "6*7"}' in shown
        assert (entry["output"], entry["agent"], entry["outcome"]) == ("42", "cli", "ran")

    def test_one_that_is_not_there_is_exit_code_1(self, jarvis: Jarvis) -> None:
        done = jarvis("audit", "show", "4")

        assert done.exit_code == 1
        assert "There is no call 4; 'jarvis audit list' shows those there are." in done.stderr

    @pytest.mark.parametrize("number", ["0", "x", "9" * 30])
    def test_what_is_no_number_of_a_call_is_exit_code_2(self, jarvis: Jarvis, number: str) -> None:
        assert jarvis("audit", "show", number).exit_code == 2


def test_a_call_is_shown_without_what_could_steer_the_terminal(
    jarvis: Jarvis, tool_folder: Path
) -> None:
    jarvis("tools", "run", "painted")

    assert "\x1b" not in jarvis("audit", "show", "1").stdout
    assert "\x1b" not in jarvis("audit", "show", "1", "--json").stdout


@pytest.mark.parametrize("command", [("audit", "list"), ("tools", "run", "think", "thought=x")])
def test_a_trail_that_is_no_database_is_a_sentence(
    jarvis: Jarvis, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "openjarvis-home" / "audit.db").write_text("not a database " * 100)

    done = jarvis(*command)

    assert done.exit_code == 2
    assert "audit.db cannot be opened: file is not a database" in done.stderr
    assert "`enabled = false`" in done.stderr
