import json
import os
import re
from typing import Any
from unittest.mock import MagicMock, patch

import pexpect
import pytest

from cli_words import Jarvis
from jarvis_process import JARVIS, run_jarvis
from openjarvis.config import JarvisConfig
from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.engine.probe import Found
from openjarvis.testing import ScriptedEngine, calls, says

NOBODY = Found(False, "nobody listens")
KEYS = {"content", "turns", "tool_results", "engine", "model", "usage"}


def test_the_answer_is_on_stdout_and_the_notice_on_stderr(jarvis: Jarvis) -> None:
    done = jarvis("ask", "--agent", "orchestrator", "--tools", "calculator", "What is 15% of 340?")

    assert done.exit_code == 0
    assert float(done.stdout) == 51
    (line,) = done.stderr.splitlines()
    assert line.startswith("No language model answered")


def test_the_question_may_be_several_words(jarvis: Jarvis) -> None:
    assert jarvis("ask", "--tools", "calculator", "What", "is", "6", "*", "7?").stdout == "42\n"


def test_the_question_may_come_from_standard_input(jarvis: Jarvis) -> None:
    assert jarvis("ask", "--tools", "calculator", input="What is 6 * 7?\n").stdout == "42\n"


@pytest.mark.parametrize("words", [(), ("",), ("  ", "\n")])
def test_no_question_is_an_error_of_the_command(jarvis: Jarvis, words: tuple[str, ...]) -> None:
    done = jarvis("ask", *words, input="")

    assert done.exit_code == 2
    assert "what is the question?" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("question", ["a\udcff", b"a\xff"])
def test_a_question_that_is_not_text_is_an_error_of_the_command(
    jarvis: Jarvis, question: str | bytes
) -> None:
    done = jarvis("ask", question) if isinstance(question, str) else jarvis("ask", input=question)

    assert done.exit_code == 2
    assert "The question is not UTF-8 text" in done.stderr


def test_json_has_the_documented_keys_without_an_agent_too(jarvis: Jarvis) -> None:
    answer = json.loads(jarvis("ask", "--json", "hello").stdout)

    assert answer.keys() >= KEYS
    assert (answer["engine"], answer["model"]) == ("offline", "offline")
    assert (answer["turns"], answer["tool_results"], answer["denied"]) == (1, [], [])


def test_json_has_the_same_keys_with_and_without_tools(jarvis: Jarvis) -> None:
    bare = json.loads(jarvis("ask", "--json", "hello").stdout)
    tooled = json.loads(jarvis("ask", "--json", "--tools", "calculator", "What is 6 * 7?").stdout)

    assert bare.keys() == tooled.keys()
    assert (bare["agent"], bare["finish_reason"], bare["max_turns_exceeded"]) == (
        "simple",
        "stop",
        False,
    )


def test_an_answer_that_was_cut_off_says_so_on_stderr_and_in_json(jarvis: Jarvis) -> None:
    cut = says("half an ans", finish_reason="length")

    shown = ask_scripted(jarvis, ScriptedEngine([cut]), "hello")
    told = ask_scripted(jarvis, ScriptedEngine([cut]), "--json", "hello")

    assert (shown.exit_code, shown.stdout) == (0, "half an ans\n")
    assert shown.stderr == "The answer was cut off; --max-tokens allows a longer one.\n"
    assert json.loads(told.stdout)["finish_reason"] == "length"
    assert told.stderr == ""


def test_json_tells_every_call(jarvis: Jarvis) -> None:
    done = jarvis("ask", "--json", "--tools", "calculator", "What is 6 * 7?")

    answer = json.loads(done.stdout)
    (result,) = answer["tool_results"]
    assert answer["content"] == "42"
    assert answer["turns"] == 2
    assert (result["tool_name"], result["content"], result["success"]) == ("calculator", "42", True)
    assert (result["outcome"], result["arguments"]) == ("ran", {"expression": "6*7"})


@pytest.mark.parametrize(
    ("option", "name", "nearest"),
    [
        ("--tools", "calculater", "calculator"),
        ("--agent", "orchestrater", "orchestrator"),
        ("--engine", "ofline", "offline"),
        ("--mode", "structerd", "structured"),
    ],
)
def test_an_unknown_name_is_exit_code_2_and_names_the_nearest(
    jarvis: Jarvis, option: str, name: str, nearest: str
) -> None:
    done = jarvis("ask", option, name, "--json", "hello")

    assert done.exit_code == 2
    assert done.stdout == ""
    assert f"{name!r}. Did you mean {nearest!r}? There are " in done.stderr


def test_a_mode_alone_asks_the_orchestrator(jarvis: Jarvis) -> None:
    engine = ScriptedEngine([says("THOUGHT: so\nFINAL_ANSWER: Hello.")])

    done = ask_scripted(jarvis, engine, "--mode", "structured", "--json", "hello")

    answer = json.loads(done.stdout)
    assert (answer["agent"], answer["content"], answer["turns"]) == ("orchestrator", "Hello.", 1)


@pytest.mark.parametrize("command", ["ask", "chat"])
@pytest.mark.parametrize("agent", ["simple", "native_react", "rlm"])
def test_another_agent_has_no_modes(jarvis: Jarvis, command: str, agent: str) -> None:
    done = jarvis(command, "--agent", agent, "--mode", "structured", input="hello\n")

    assert (done.exit_code, done.stdout) == (2, "")
    assert f"The agent {agent!r} has no modes; the orchestrator has." in done.stderr


def test_a_known_engine_that_is_not_ready_is_exit_code_1(jarvis: Jarvis) -> None:
    done = jarvis("ask", "--engine", "openai", "hello")

    assert done.exit_code == 1
    assert "'openai' is not ready: no API key; set OPENAI_API_KEY, or" in done.stderr


def test_a_key_without_its_package_is_told_where_no_model_answered(
    jarvis: Jarvis, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-abcdefghijklmnop")
    monkeypatch.setattr("openjarvis.engine.discovery.is_installed", lambda module: False)
    (tmp_path / "openjarvis-home" / "config.toml").write_text("")

    with patch("openjarvis.engine.discovery.probe_all", lambda servers: [NOBODY for _ in servers]):
        done = jarvis("ask", "hello")
        named = jarvis("ask", "--engine", "anthropic", "hello")

    lacks = "an API key is set, but: The package 'anthropic' is not installed: pip install"
    assert done.stderr.startswith(
        "No language model answered: the offline engine only runs tools. "
        f"The engine 'anthropic' is not ready: {lacks}"
    )
    assert named.stderr.startswith(f"Error: The engine 'anthropic' is not ready: {lacks}")
    assert ".." not in done.stderr
    assert ".. " not in named.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--temperature", "3"),
        ("--temperature", "nan"),
        ("--max-tokens", "0"),
        ("--max-turns", "0"),
        ("--max-turns", "many"),
        ("--approve", "maybe"),
        ("--allow-dir", "nowhere"),
        ("--unknown",),
    ],
)
def test_a_wrong_option_is_exit_code_2(jarvis: Jarvis, options: tuple[str, ...]) -> None:
    done = jarvis("ask", *options, "hello")

    assert done.exit_code == 2
    assert done.stdout == ""
    assert "expected" in done.stderr or options[0] in done.stderr


def test_a_tool_named_twice_is_one_tool(jarvis: Jarvis) -> None:
    assert jarvis("ask", "--tools", "calculator, ,calculator", "What is 6*7?").stdout == "42\n"


def test_tools_for_an_agent_that_uses_none_are_ignored_with_a_notice(jarvis: Jarvis) -> None:
    done = jarvis("ask", "--agent", "simple", "--tools", "calculator", "hello")

    assert done.exit_code == 0
    assert "The agent 'simple' uses no tools; --tools is ignored." in done.stderr


def ask_scripted(jarvis: Jarvis, engine: Any, *arguments: str) -> Any:
    with patch("openjarvis.cli.ask.get_engine", return_value=("scripted", engine)):
        return jarvis("ask", *arguments)


def test_turns_that_run_out_are_exit_code_1(jarvis: Jarvis) -> None:
    engine = ScriptedEngine([calls("think", thought="1"), calls("think", thought="2")])

    done = ask_scripted(jarvis, engine, "--json", "--tools", "think", "--max-turns", "2", "Ponder.")

    answer = json.loads(done.stdout)
    assert done.exit_code == 1
    assert answer["max_turns_exceeded"] is True
    assert [result["outcome"] for result in answer["tool_results"]] == ["ran", "not_run"]
    assert done.stderr == ""


def test_turns_that_run_out_are_told_on_stderr(jarvis: Jarvis) -> None:
    engine = ScriptedEngine([calls("think", thought="1"), says("So far.")])

    done = ask_scripted(jarvis, engine, "--tools", "think", "--max-turns", "1", "Ponder.")

    assert done.exit_code == 1
    assert done.stderr == "All turns (1) were used up; --max-turns allows more.\n"


def test_the_options_reach_the_engine(jarvis: Jarvis) -> None:
    engine = ScriptedEngine([says("hi")])

    done = ask_scripted(jarvis, engine, "-m", "big", "-t", "0.1", "--max-tokens", "9", "hello")

    (request,) = engine.requests
    assert done.stdout == "hi\n"
    assert request.model == "big"
    assert (request.options["temperature"], request.options["max_tokens"]) == (0.1, 9)


@pytest.mark.parametrize("command", ["ask", "chat"])
def test_a_system_text_reaches_the_model(jarvis: Jarvis, command: str) -> None:
    engine = ScriptedEngine([says("Ahoy.")])

    with patch("openjarvis.cli.ask.get_engine", return_value=("scripted", engine)):
        done = jarvis(command, "--system", "Talk like a pirate.", input="hello\n")

    assert done.stdout == "Ahoy.\n"
    assert [message.text for message in engine.requests[0].messages] == [
        "Talk like a pirate.",
        "hello",
    ]


def test_a_model_that_cannot_be_asked_is_a_sentence_and_exit_code_1(jarvis: Jarvis) -> None:
    refusal = LLMError(LLMErrorCode.UNAUTHORIZED, "the key sk-abcdefghijklmnop123456 is wrong", 401)

    done = ask_scripted(jarvis, ScriptedEngine([refusal]), "hello")

    assert done.exit_code == 1
    assert done.stderr.startswith("Error: LLM_UNAUTHORIZED: the key ")
    assert "abcdefghijklmnop" not in done.stderr
    assert done.stdout == ""


def test_an_engine_that_raises_anything_is_a_sentence_and_exit_code_1(jarvis: Jarvis) -> None:
    engine = MagicMock()
    engine.generate.side_effect = ZeroDivisionError("inside \x1b[2J")

    done = ask_scripted(jarvis, engine, "hello")

    assert done.exit_code == 1
    assert done.stderr.startswith(r"Error: ZeroDivisionError: inside \x1b[2J (jarvis --verbose")


def test_the_scripted_engine_by_name_is_a_sentence_and_exit_code_1(jarvis: Jarvis) -> None:
    done = jarvis("ask", "--engine", "scripted", "hello")

    assert done.exit_code == 1
    assert "The script has 0 turns" in done.stderr


def test_callers_may_replace_the_engine_with_a_mock(jarvis: Jarvis) -> None:
    engine = MagicMock()
    engine.generate.return_value = {
        "content": "Hello!",
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        "model": "mock-model",
        "finish_reason": "stop",
    }
    config = JarvisConfig()
    config.engine.model = "mock-model"

    with (
        patch("openjarvis.cli.ask.load_config", return_value=config),
        patch("openjarvis.cli.ask.get_engine", return_value=("mock", engine)) as get_engine,
    ):
        done = jarvis("ask", "-e", "mock", "-m", "m1", "--json", "Hi")

    answer = json.loads(done.stdout)
    assert get_engine.call_args.args == (config, "mock", "m1")
    assert (answer["content"], answer["engine"], answer["model"]) == (
        "Hello!",
        "mock",
        "mock-model",
    )
    assert answer["usage"]["total_tokens"] == 5
    assert "tools" not in engine.generate.call_args.kwargs


def test_a_mock_may_call_tools(jarvis: Jarvis) -> None:
    engine = MagicMock()
    call = {"id": "1", "name": "calculator", "arguments": '{"expression": "6*7"}'}
    engine.generate.side_effect = [
        {"content": "", "tool_calls": [call], "finish_reason": "tool_calls"},
        {"content": "It is 42.", "finish_reason": "stop"},
    ]

    done = ask_scripted(jarvis, engine, "-m", "m", "--tools", "calculator", "--json", "6*7?")

    answer = json.loads(done.stdout)
    assert answer["content"] == "It is 42."
    assert [result["content"] for result in answer["tool_results"]] == ["42"]


@pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")
class TestAtATerminal:
    """Calls of the offline engine: what is asked for decides which tool runs."""

    def test_a_call_is_shown_on_stderr_before_the_answer(self) -> None:
        shown = at_a_terminal("ask", "--tools", "calculator", "What is 6 * 7?")

        asked, ended, offline, answer = shown.splitlines()
        assert asked == '→ calculator {"expression": "6*7"}'
        assert re.fullmatch(r"✓ calculator \d+\.\d\d s · 42", ended)
        assert offline.startswith("No language model answered")
        assert answer == "42"

    @pytest.mark.usefixtures("tool_folder")
    def test_a_denied_call_is_told_once(self) -> None:
        shown = at_a_terminal("ask", "--tools", "erase", "--approve", "deny", "erase it all")

        assert re.search(r"✗ erase 0\.\d\d s · denied: The call to erase was denied", shown)
        assert shown.count("was denied and did not run") == 2  # in the line, and as the answer

    def test_with_json_nothing_is_shown(self) -> None:
        shown = at_a_terminal("ask", "--json", "--tools", "calculator", "What is 6 * 7?")

        assert "→" not in shown

    def test_without_a_terminal_nothing_is_shown(self) -> None:
        done = run_jarvis("ask", "--tools", "calculator", "What is 6 * 7?")

        assert done.stdout == "42\n"
        assert "calculator" not in done.stderr


def at_a_terminal(*arguments: str) -> str:
    """Return what `jarvis` shows at a terminal, without colours."""
    child = pexpect.spawn(
        JARVIS, list(arguments), env=os.environ, encoding="utf-8", timeout=30, dimensions=(24, 200)
    )
    child.expect(pexpect.EOF)
    child.close()
    return re.sub(r"\x1b\[[0-9;]*m", "", child.before).replace("\r\n", "\n")


@pytest.mark.usefixtures("tool_folder")
class TestApprovals:
    def test_without_a_terminal_a_call_is_denied_and_listed(self) -> None:
        done = run_jarvis("ask", "--tools", "erase", "--json", "erase it all")

        answer = json.loads(done.stdout)
        (denied,) = answer["denied"]
        assert done.returncode == 0
        assert answer["tool_results"] == [denied]
        assert (denied["tool_name"], denied["outcome"]) == ("erase", "denied")
        assert "there is no terminal to ask on" in denied["content"]

    def test_without_json_the_denial_is_a_notice(self) -> None:
        done = run_jarvis("ask", "--tools", "erase", "erase it all")

        assert "The call to erase was denied and did not run" in done.stderr

    def test_deny_denies_and_auto_allows(self, jarvis: Jarvis) -> None:
        denied = jarvis("ask", "--tools", "erase", "--approve", "deny", "erase it all")
        allowed = jarvis("ask", "--tools", "erase", "--approve", "auto", "erase it all")

        assert "denied" in denied.stdout
        assert allowed.stdout == "erased\n"

    def test_a_tool_that_needs_none_is_not_asked_about(self, jarvis: Jarvis) -> None:
        done = jarvis("ask", "--tools", "painted", "--approve", "deny", "paint it")

        assert "red" in done.stdout


def test_a_tool_folder_that_was_named_and_is_missing_is_told_and_the_run_goes_on(
    jarvis: Jarvis,
) -> None:
    done = jarvis("ask", "--tools-dir", "nope", "--tools", "calculator", "What is 6*7?")

    assert (done.exit_code, done.stdout) == (0, "42\n")
    assert "Not usable: nope: there is no such tool folder" in done.stderr


@pytest.mark.parametrize(
    "command", [("ask", "--tools", "chatty", "hello"), ("tools", "run", "chatty")]
)
def test_a_tool_of_a_file_is_not_taken_from_elsewhere_when_a_named_folder_is_missing(
    jarvis: Jarvis, tool_folder: Any, command: tuple[str, ...]
) -> None:
    done = jarvis(*command, "--tools-dir", "nope")

    assert done.exit_code == 2
    assert "Error: nope: there is no such tool folder" in done.stderr


def test_tools_given_more_than_once_add_up(jarvis: Jarvis) -> None:
    engine = ScriptedEngine([says("Hello.")])

    ask_scripted(jarvis, engine, "--tools", "think", "--tools", "calculator, think", "hello")

    offered = [entry["function"]["name"] for entry in engine.requests[0].tools or ()]
    assert offered == ["think", "calculator"]


def test_an_unknown_tool_says_when_tool_files_were_not_usable(
    jarvis: Jarvis, tool_folder: Any
) -> None:
    done = jarvis("ask", "--tools", "gone", "hello")

    assert done.exit_code == 2
    assert "Some tool files are not usable; 'jarvis tools list' shows why." in done.stderr


def test_file_tools_stay_in_the_working_directory_unless_told(
    jarvis: Jarvis, tmp_path: Any
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "note.txt").write_text("Buy milk.")
    engine = [calls("file_read", path=str(tmp_path / "there" / "note.txt")), says("read")]
    ask = ("--tools", "file_read", "--json", "Read it.")

    inside = ask_scripted(
        jarvis, ScriptedEngine(engine), "--allow-dir", str(tmp_path / "there"), *ask
    )
    outside = ask_scripted(jarvis, ScriptedEngine(engine), *ask)

    assert json.loads(inside.stdout)["tool_results"][0]["content"] == "Buy milk."
    assert "Access denied" in json.loads(outside.stdout)["tool_results"][0]["content"]
