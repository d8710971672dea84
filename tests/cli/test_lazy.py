import errno
import logging
import sys
from types import ModuleType

import click
import pytest
from click.testing import CliRunner, Result

from openjarvis.cli.lazy import INTERRUPTED, LazyGroup
from openjarvis.core.errors import (
    ConfigError,
    LLMError,
    LLMErrorCode,
    ToolDefinitionError,
    Unavailable,
)


def run(raised: BaseException, monkeypatch: pytest.MonkeyPatch) -> Result:
    """Return what a group does with a command that raises."""

    @click.command()
    def fail() -> None:
        raise raised

    module = ModuleType("commands_that_fail")
    module.fail = fail  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "commands_that_fail", module)
    group = LazyGroup("group", commands_at={"fail": ("commands_that_fail", "Fail.")})
    return CliRunner().invoke(group, ["fail"])


@pytest.mark.parametrize(
    ("raised", "exit_code", "told"),
    [
        (ConfigError("a.toml:3: agent.x: unknown key"), 2, "a.toml:3: agent.x: unknown key"),
        (ToolDefinitionError("Two tools are named 'a'"), 2, "Two tools are named 'a'"),
        (LLMError(LLMErrorCode.INVALID_REQUEST, "no"), 2, "LLM_INVALID_REQUEST: no"),
        (LLMError(LLMErrorCode.UNAVAILABLE, "gone", 503), 1, "LLM_UNAVAILABLE: gone"),
        (Unavailable("No inference engine"), 1, "No inference engine"),
        (RecursionError("too deep"), 1, "RecursionError: too deep (jarvis --verbose"),
        (KeyError("x"), 1, "KeyError: 'x' (jarvis --verbose"),
        (OSError(errno.ENOSPC, "No space left"), 1, "OSError: [Errno 28] No space left"),
        (KeyboardInterrupt(), 130, INTERRUPTED),
        (click.UsageError("wrong"), 2, "wrong"),
    ],
)
def test_what_a_command_raises_is_one_line_and_an_exit_code(
    raised: BaseException, exit_code: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(raised, monkeypatch)

    assert done.exit_code == exit_code
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith(f"Error: {told}")


@pytest.mark.parametrize("code", [0, 3])
def test_an_exit_of_a_command_is_no_failure(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(click.exceptions.Exit(code), monkeypatch)

    assert (done.exit_code, done.output) == (code, "")


def test_secrets_and_escapes_do_not_reach_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ConfigError("https://ann:hunter2hunter2@example.org \x1b[2J")

    done = run(error, monkeypatch)

    assert "hunter2" not in done.stderr
    assert r"\x1b[2J" in done.stderr


def test_where_an_error_was_raised_is_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "openjarvis.cli")

    run(KeyError("x"), monkeypatch)

    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is KeyError
