"""What only a process does: descriptors, signals, pipes, encodings, a terminal."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from jarvis_process import JARVIS, run_jarvis

ON_ITS_TERMINAL = """
import os, sys
os.close(os.open(os.ttyname(0), os.O_RDWR))
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Opening it makes the terminal the one of this session, so that Ctrl-C is a signal."""

PRINTED = ["printed by the tool", "written by the tool", "printed by a child"]


@pytest.mark.parametrize("command", [(JARVIS,), (sys.executable, "-m", "openjarvis")])
def test_both_ways_to_start_it_work(command: tuple[str, ...]) -> None:
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)

    assert re.fullmatch(r"jarvis, version \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.usefixtures("tool_folder")
class TestStdout:
    def test_what_a_tool_and_its_children_print_goes_to_stderr(self) -> None:
        done = run_jarvis("tools", "run", "chatty", "text=hi")

        assert (done.returncode, done.stdout) == (0, "said: hi\n")
        assert [line for line in PRINTED if line not in done.stderr] == []

    @pytest.mark.parametrize(
        "command",
        [
            ("ask", "--tools", "chatty", "--json", "say hello"),
            ("tools", "run", "chatty", "--json"),
            ("tools", "list", "--json"),
            ("tools", "show", "chatty"),
            ("tools", "check", "agent/tools", "--json"),
            ("doctor", "--json"),
        ],
    )
    def test_json_stays_json_whatever_is_printed(self, command: tuple[str, ...]) -> None:
        done = run_jarvis(*command)

        assert json.loads(done.stdout)
        assert "printed while the file was loaded" in done.stderr
        assert "printed by a child of the file" in done.stderr

    def test_a_tool_left_running_behind_its_deadline_cannot_break_json(self) -> None:
        done = run_jarvis("ask", "--tools", "late", "--json", "print for ever")

        assert "timed out" in json.loads(done.stdout)["tool_results"][0]["content"]

    @pytest.mark.parametrize("options", [(), ("--json",)])
    def test_what_could_steer_a_terminal_is_written_out(self, options: tuple[str, ...]) -> None:
        done = run_jarvis("ask", "--tools", "painted", *options, "paint it")

        assert not re.search("[\x1b\x9b\u202e]", done.stdout)
        shown = r"\u001b[31mred" if options else r"\x1b[31mred"
        assert shown in done.stdout

    def test_json_keeps_what_was_written_out(self) -> None:
        done = run_jarvis("tools", "run", "painted", "--json")

        assert json.loads(done.stdout)["content"] == "\x1b[31mred\x1b[0m \u202egnp.exe \x9b2J"

    @pytest.mark.parametrize("command", [("tools", "list"), ("engines",), ("--help",)])
    def test_there_is_no_colour_when_piped(self, command: tuple[str, ...]) -> None:
        done = run_jarvis(*command, env={"FORCE_COLOR": "1", "TERM": "xterm-256color"})

        assert done.returncode == 0
        assert "\x1b" not in done.stdout + done.stderr

    def test_a_stdout_that_cannot_write_a_letter_gets_its_number(self) -> None:
        ascii_only = {"PYTHONIOENCODING": "ascii"}

        text = run_jarvis("tools", "run", "chatty", "text=ไทย é", env=ascii_only)
        told = run_jarvis("tools", "run", "chatty", "text=ไทย é", "--json", env=ascii_only)

        assert text.stdout == "said: \\u0e44\\u0e17\\u0e22 \\xe9\n"
        assert json.loads(told.stdout)["content"] == "said: ไทย é"
        assert told.stdout.isascii()


def test_a_question_cannot_come_from_a_closed_stdin() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", JARVIS, "ask"],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 2
    assert "what is the question?" in done.stderr


@pytest.mark.parametrize("command", [("ask", "hello"), ("tools", "list"), ("engines",)])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_standard_stream_is_no_crash(command: tuple[str, ...], closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", JARVIS, *command],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )

    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_a_sentence_and_exit_code_1() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [JARVIS, "ask", "hello"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("Error: OSError: [Errno 28] No space left")


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_reader_that_has_gone_ends_it_in_silence(options: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    with os.fdopen(writer, "w") as gone:
        done = subprocess.run(
            [JARVIS, "tools", "list", *options],
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.usefixtures("tool_folder")
@pytest.mark.parametrize(
    "command", [("tools", "run", "slow"), ("ask", "--tools", "slow", "--json", "sleep now")]
)
def test_ctrl_c_is_a_sentence_and_exit_code_130(command: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [JARVIS, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stderr is not None
        wait_for("asleep", process.stderr)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)

    assert (process.returncode, stdout) == (130, "")
    assert (
        stderr.strip() == "Error: Interrupted. 'jarvis audit list' shows the calls that had begun."
    )
    (entry,) = json.loads(run_jarvis("audit", "list", "--json").stdout)
    assert (entry["name"], entry["detail"]) == ("slow", "interrupted")


def wait_for(line: str, stream: IO[str]) -> None:
    for printed in stream:
        if printed.strip() == line:
            return
    raise AssertionError(f"{line!r} was never printed")


def test_verbose_shows_the_log_of_calls() -> None:
    done = run_jarvis("--verbose", "tools", "run", "calculator", "expression=6*7")

    assert done.stdout == "42\n"
    assert "llm tool ran calculator" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
class TestTerminal:
    """`jarvis` with a person at it."""

    @pytest.fixture
    def erase(self, tool_folder: Path) -> Iterator["Session"]:
        session = Session("ask", "--tools", "erase", "erase it all")
        session.read_until("[a]lways for this tool: ")
        yield session
        session.close()

    def test_yes_lets_the_call_run(self, erase: "Session") -> None:
        erase.type("y\n")

        assert erase.rest().splitlines()[-1] == "erased"
        assert erase.wait() == 0

    def test_no_denies_with_the_reason_that_was_given(self, erase: "Session") -> None:
        erase.type("n not today\n")

        assert "The call to erase was denied and did not run: not today" in erase.rest()

    def test_anything_else_is_asked_again_and_then_denied(self, erase: "Session") -> None:
        # What is typed before a question answers nothing, so each waits for its own.
        for answer in ("\n", "maybe\n"):
            erase.type(answer)
            erase.read_until("[a]lways for this tool: ")
        erase.type("well\n")

        assert "denied and did not run: the user gave no answer" in erase.rest()

    def test_ctrl_c_at_the_question_ends_with_130_and_nothing_ran(self, erase: "Session") -> None:
        erase.type("\x03")

        assert "Interrupted." in erase.rest()
        assert erase.wait() == 130
        (entry,) = json.loads(run_jarvis("audit", "list", "--json").stdout)
        assert (entry["outcome"], entry["detail"]) == ("failed", "interrupted")

    def test_a_table_is_drawn_with_its_header(self) -> None:
        session = Session("tools", "list")

        shown = session.rest()
        assert session.wait() == 0
        assert re.search(r"NAME\s+CATEGORY\s+DESCRIPTION", re.sub("\x1b\\[[0-9;]*m", "", shown))
        session.close()

    def test_no_question_and_a_person_is_an_error_instead_of_a_wait(self) -> None:
        session = Session("ask")

        assert "what is the question?" in session.rest()
        assert session.wait() == 2
        session.close()


class Session:
    """`jarvis` in a pseudo-terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        # The module exists on POSIX only.
        import pty

        self._terminal, inner = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", ON_ITS_TERMINAL, JARVIS, *arguments],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def read_until(self, end: str) -> str:
        shown = ""
        while not shown.endswith(end):
            piece = self._read()
            assert piece, f"it ended with {shown!r}"
            shown += piece
        return shown

    def rest(self) -> str:
        return "".join(iter(self._read, ""))

    def wait(self) -> int:
        return self._process.wait(timeout=60)

    def close(self) -> None:
        os.close(self._terminal)  # hangs up, which ends a process that still waits
        self.wait()

    def _read(self) -> str:
        try:
            return os.read(self._terminal, 65_536).decode()
        except OSError:  # Linux says so when the process has ended
            return ""
