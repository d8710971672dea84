import subprocess
import sys
from importlib import import_module

import click
import pytest

from cli_words import Jarvis
from openjarvis._version import __version__
from openjarvis.cli.main import COMMANDS


def test_the_version_is_told(jarvis: Jarvis) -> None:
    assert jarvis("--version").stdout == f"jarvis, version {__version__}\n"


def test_help_lists_every_command_with_what_it_is_for(jarvis: Jarvis) -> None:
    done = jarvis("--help")

    assert done.exit_code == 0
    for name, (_, purpose) in COMMANDS.items():
        assert f"  {name}" in done.stdout
        assert purpose in done.stdout


@pytest.mark.parametrize("arguments", [(name,) for name in COMMANDS] + [("tools", "run")])
def test_every_command_has_help_with_exit_code_0(
    jarvis: Jarvis, arguments: tuple[str, ...]
) -> None:
    done = jarvis(*arguments, "--help")

    assert done.exit_code == 0
    assert done.stdout.startswith("Usage: ")
    assert done.stderr == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_stands_in_its_module_under_its_name(name: str) -> None:
    command = getattr(import_module(COMMANDS[name][0]), name)

    assert isinstance(command, click.Command)
    assert command.name == name


def test_no_command_is_imported_for_help_and_version() -> None:
    program = (
        "import sys; from openjarvis.cli import cli\n"
        "cli(['--help'], standalone_mode=False)\n"
        "cli(['--version'], standalone_mode=False)\n"
        "print([name for name in sys.modules if name in sys.argv[1:]])"
    )
    homes = [module for module, _ in COMMANDS.values()]

    done = subprocess.run(
        [sys.executable, "-c", program, *homes], capture_output=True, text=True, timeout=60
    )

    assert done.stdout.splitlines()[-1] == "[]"


def test_no_command_at_all_shows_the_help_with_exit_code_2(jarvis: Jarvis) -> None:
    done = jarvis()

    assert done.exit_code == 2
    assert "Commands:" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "nearest"), [(("aks",), "ask"), (("tool",), "tools"), (("tools", "lst"), "list")]
)
def test_an_unknown_command_is_exit_code_2_and_names_the_nearest(
    jarvis: Jarvis, arguments: tuple[str, ...], nearest: str
) -> None:
    done = jarvis(*arguments)

    assert done.exit_code == 2
    assert f"No such command {arguments[-1]!r}. Did you mean {nearest!r}?" in done.stderr


def test_an_unknown_command_cannot_steer_the_terminal(jarvis: Jarvis) -> None:
    done = jarvis("\x1b[2Jask")

    assert "\x1b" not in done.stderr
    assert done.exit_code == 2
