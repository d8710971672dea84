"""What `jarvis chat` does when a line begins with a slash."""

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from openjarvis.cli.chat_session import ChatSession
from openjarvis.cli.options import split_names
from openjarvis.cli.render import notice
from openjarvis.core.errors import unknown_name
from openjarvis.core.types import Message, Role
from openjarvis.engine.discovery import engine_keys
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
    for known in engine_keys(engine_settings(session.jarvis.config)):
        notice(f"{'*' if known == session.jarvis.system.engine_key else ' '} {known}")


def _save(session: ChatSession, name: str) -> None:
    path = Path(name or f"chat-{datetime.now():%Y%m%d-%H%M%S}.md").expanduser()
    text = _as_json(session) if path.suffix == ".json" else _as_markdown(session)
    try:
        with path.open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except FileExistsError:
        raise ValueError(f"{path} is there already; choose another name.") from None
    notice(f"Saved in {path}.")


def _clear(session: ChatSession, _: str) -> None:
    session.clear()
    notice("Forgotten; the next question begins a new conversation.")


def _leave(session: ChatSession, _: str) -> None:
    raise Leave


def _as_json(session: ChatSession) -> str:
    messages = [asdict(message) for message in session.messages]
    return json.dumps({"messages": messages}, ensure_ascii=False, indent=2, default=str)


def _as_markdown(session: ChatSession) -> str:
    return "\n\n".join(_section(message) for message in session.messages) + "\n"


def _section(message: Message) -> str:
    if message.role is Role.TOOL:
        return f"> `{message.name}` answered:\n>\n> " + message.text.replace("\n", "\n> ")
    calls = [f"> `{call.name}` {call.arguments}" for call in message.tool_calls or ()]
    parts = [f"## {message.role.value.capitalize()}", message.text.strip(), *calls]
    return "\n\n".join(part for part in parts if part)


Command = Callable[[ChatSession, str], None]

_COMMANDS: dict[str, tuple[Command, str, str]] = {
    "help": (_help, "", "show this"),
    "tools": (_tools, "[NAMES]", "show the tools, or choose those that may be called"),
    "model": (_model, "[NAME]", "show the models, or choose one"),
    "engine": (_engine, "[KEY]", "show the engines, or choose one"),
    "save": (_save, "[FILE]", "save the conversation, as Markdown or .json"),
    "clear": (_clear, "", "forget the conversation"),
    "exit": (_leave, "", "leave"),
    "quit": (_leave, "", "leave"),
}
