"""Options that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from openjarvis.execution.approval import Approver
from openjarvis.execution.policy import Terminal, policy

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

tools_dir_option = click.option(
    "--tools-dir",
    "tool_dirs",
    multiple=True,
    metavar="DIR",
    help="A folder with tool files, beside ./agent/tools and the configured ones.",
)


def tools_option(text: str) -> Callable[[Command], Command]:
    """Return the option that names tools; given more than once, it adds up."""
    return click.option("--tools", multiple=True, metavar="NAMES", help=text)


system_option = click.option(
    "--system",
    "system_prompt",
    metavar="TEXT",
    help="What the model is told first, instead of the configured text.",
)

mode_option = click.option(
    "--mode", help="How the orchestrator works: function_calling, or structured in text."
)

_MODEL_OPTIONS = (
    click.option("-e", "--engine", help="The engine; by default the first that is ready."),
    click.option("-m", "--model", help="The model; by default the configured one."),
    click.option("-t", "--temperature", type=click.FloatRange(0, 2), help="0 to 2."),
    click.option("--max-tokens", type=click.IntRange(min=1), help="The most tokens of one turn."),
    click.option("--max-turns", type=click.IntRange(min=1), help="The most turns for a question."),
)


def model_options(command: Command) -> Command:
    """Add the options that say which model is asked, and how much it may say."""
    for option in reversed(_MODEL_OPTIONS):  # the last one added is the first one shown
        command = option(command)
    return command


allow_dir_option = click.option(
    "--allow-dir",
    "allowed_dirs",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False),
    help="A folder that tools may read, beside the working directory.",
)

approve_option = click.option(
    "--approve",
    "approve",
    type=click.Choice(["ask", "deny", "auto"]),
    default="ask",
    show_default=True,
    help="Tools that need a confirmation: ask at the terminal, deny, or allow all.",
)


def approver(mode: str, terminal: Terminal | None = None) -> Approver:
    """Return the approver of an `--approve` mode; `terminal` is where it asks."""
    if mode == "auto":
        return policy(otherwise="allow")
    return policy(otherwise=mode, only_confirmations=True, terminal=terminal)


def split_names(*values: str) -> list[str]:
    """Return the names in comma-separated values, each once."""
    names = (name.strip() for value in values for name in value.split(","))
    return list(dict.fromkeys(name for name in names if name))
