"""`jarvis chat`: a conversation at the terminal, or line by line in a pipe."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import click

from openjarvis.cli.ask import check_agent, find_engine
from openjarvis.cli.chat_commands import Leave, obey
from openjarvis.cli.chat_files import load
from openjarvis.cli.chat_input import Input
from openjarvis.cli.chat_progress import AskingTerminal, ProgressLine
from openjarvis.cli.chat_session import STOPPED, ChatSession
from openjarvis.cli.engines import without_model
from openjarvis.cli.options import (
    allow_dir_option,
    approve_option,
    approver,
    json_option,
    mode_option,
    model_options,
    split_names,
    system_option,
    tools_dir_option,
    tools_option,
)
from openjarvis.cli.render import json_text, keep_stdout_for_results, notice
from openjarvis.config import JarvisConfig, home, load_config
from openjarvis.engine.discovery import OFFLINE
from openjarvis.safety.secrets import mask_secrets
from openjarvis.sdk import Jarvis
from openjarvis.system import default_agent

Ask = Callable[[ChatSession, str], None]
OpenJarvis = Callable[[str | None, str | None], Jarvis]


@click.command()
@click.option("-a", "--agent", default="", help="The agent; with tools the orchestrator.")
@mode_option
@system_option
@tools_option("The tools it may call, by name, separated by commas.")
@model_options
@click.option(
    "--load",
    "saved",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A conversation that /save wrote as .json, to go on with.",
)
@click.option("--no-context", is_flag=True, help="Do not add what the memory knows.")
@approve_option
@allow_dir_option
@tools_dir_option
@json_option
def chat(
    agent: str,
    mode: str | None,
    tools: tuple[str, ...],
    engine: str | None,
    model: str | None,
    approve: str,
    allowed_dirs: tuple[str, ...],
    tool_dirs: tuple[str, ...],
    saved: Path | None,
    no_context: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Talk with a model, turn by turn; /help shows what else can be typed.

    In a pipe every line is a turn or a command, and answers alone go to standard output; with
    --json each is an object on a line.
    """
    config = load_config()
    agent = agent or config.agent.default
    check_agent(agent or default_agent(mode=mode), mode)
    messages = load(saved) if saved else []

    keyboard = Input(home() / "chat_history" if config.chat.history else None)
    out = sys.stdout if keyboard.is_terminal else keep_stdout_for_results()
    line = ProgressLine(sys.stderr)
    session = ChatSession(
        _opener(config, allowed_dirs=allowed_dirs, tool_dirs=tool_dirs),
        engine=engine,
        model=model,
        agent=agent,
        mode=mode,
        tools=split_names(*tools) or config.chat.tools,
        approve=approver(approve, AskingTerminal(line)),
        options=options,
        out=out,
        line=line,
        as_json=as_json,
        recalls=not no_context,
    )
    session.messages = messages
    try:
        had_trouble = _converse(session, keyboard, _asking_for_json(out) if as_json else _ask)
    finally:
        session.close()
    if had_trouble and not keyboard.is_terminal:
        sys.exit(1)


def _opener(config: JarvisConfig, **folders: Any) -> OpenJarvis:
    """Return what opens a `Jarvis` for an engine and a model; `folders` are options of it."""

    def opened(key: str | None, model: str | None) -> Jarvis:
        found, built = find_engine(config, key, model)
        if found == OFFLINE:
            notice(without_model(config, key))
        return Jarvis(config, engine_key=found, model=model, engine=built, **folders)

    return opened


def _ask(session: ChatSession, text: str) -> None:
    session.ask(text)


def _asking_for_json(out: TextIO | None) -> Ask:
    """Return what has a question answered and prints one line of JSON, whatever comes of it."""

    def ask(session: ChatSession, text: str) -> None:
        trouble = STOPPED
        try:
            trouble = "" if session.ask(text) else STOPPED
        except Exception as error:
            trouble = _message_of(error)
            raise
        finally:
            told = session.told | ({"error": trouble} if trouble else {})
            click.echo(json_text(told, out), file=out)

    return ask


def _converse(session: ChatSession, keyboard: Input, ask: Ask) -> bool:
    """Take turns until the user leaves; tell whether anything went wrong."""
    had_trouble = False
    if keyboard.is_terminal:
        notice(f"{session.describe()}\n/help shows the commands, Ctrl-D leaves.")
    while True:
        try:
            typed = keyboard.read()
            if typed is None:
                return had_trouble
            if typed.is_command:
                obey(typed.text, session)
            elif typed.text.strip():
                ask(session, typed.text)
        except Leave:
            return had_trouble
        except KeyboardInterrupt:
            notice("Stopped. Ctrl-D or /exit leaves.")
        except BrokenPipeError:
            raise  # nobody reads the answers any more
        except Exception as error:  # noqa: BLE001 - engines and agents are foreign code
            # One turn or command that fails does not end a conversation.
            had_trouble = True
            notice(f"Error: {_message_of(error)}")


def _message_of(error: Exception) -> str:
    text = error.format_message() if isinstance(error, click.ClickException) else str(error)
    return mask_secrets(text)
