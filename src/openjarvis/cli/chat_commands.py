"""What `jarvis chat` does when a line begins with a slash."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from openjarvis.cli import chat_files
from openjarvis.cli.chat_session import ChatSession
from openjarvis.cli.options import split_names
from openjarvis.cli.render import notice
from openjarvis.core.errors import unknown_name
from openjarvis.engine.discovery import engine_statuses
from openjarvis.llm.defaults import engine_settings


class Leave(Exception):
    """The user wants to leave."""


def obey(line: str, session: ChatSession) -> None:
    """Do what a line with a slash says.

    Raises:
        Leave: when the user leaves.
        ValueError: when there is no such command; the text names the nearest.
    """
    word, _, rest = line[1:].strip().partition(" ")
    if word not in _COMMANDS:
        raise ValueError(unknown_name("command", f"/{word}", [f"/{known}" for known in _COMMANDS]))
    _COMMANDS[word][0](session, rest.strip())


def _help(session: ChatSession, _: str) -> None:
    for word, (_function, takes, text) in _COMMANDS.items():
        notice(f"/{f'{word} {takes}':<18} {text}")
    notice('A line that ends with \\ goes on; so does everything between two """.')
    notice('//text asks about /text; what stands between two """ is never a command.')
    notice("Ctrl-C stops an answer, Ctrl-D leaves.")


def _tools(session: ChatSession, names: str) -> None:
    if names:
        session.choose_tools([] if names == "none" else split_names(names))
        notice(session.describe())
        return
    for name in session.available_tools():
        notice(f"{'*' if name in session.tools else ' '} {name}")
    notice("* may be called. /tools calculator,think chooses, /tools none takes them away.")


def _model(session: ChatSession, name: str) -> None:
    if name:
        session.choose_model(name)
        notice(session.describe())
        return
    for model in session.jarvis.list_models():
        notice(f"{'*' if model == session.model else ' '} {model}")


def _engine(session: ChatSession, key: str) -> None:
    if key:
        session.choose_engine(key)
        notice(session.describe())
        return
    for one in engine_statuses(engine_settings(session.jarvis.config)):
        mark = "*" if one.key == session.jarvis.system.engine_key else " "
        notice(f"{mark} {one.key}" if one.ready else f"{mark} {one.key} · {one.reason}")


def _save(session: ChatSession, name: str) -> None:
    path = _path(name or f"chat-{datetime.now():%Y%m%d-%H%M%S}.md")
    chat_files.save(session.messages, path)
    notice(f"Saved in {path}.")


def _load(session: ChatSession, name: str) -> None:
    if not name:
        raise ValueError("/load FILE: which conversation, saved as .json?")
    session.messages = chat_files.load(_path(name))
    notice(f"{len(session.messages)} messages; the next question goes on from there.")


def _path(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError as error:
        raise ValueError(f"{name} names a user that is not known here.") from error


def _clear(session: ChatSession, _: str) -> None:
    session.clear()
    notice("Forgotten; the next question begins a new conversation.")


def _leave(session: ChatSession, _: str) -> None:
    raise Leave


Command = Callable[[ChatSession, str], None]

_COMMANDS: dict[str, tuple[Command, str, str]] = {
    "help": (_help, "", "show this"),
    "tools": (_tools, "[NAMES]", "show the tools, or choose those that may be called"),
    "model": (_model, "[NAME]", "show the models, or choose one"),
    "engine": (_engine, "[KEY]", "show the engines, or choose one"),
    "save": (_save, "[FILE]", "save the conversation, as Markdown or .json"),
    "load": (_load, "FILE", "go on with a conversation that was saved as .json"),
    "clear": (_clear, "", "forget the conversation"),
    "exit": (_leave, "", "leave"),
    "quit": (_leave, "", "leave"),
}
