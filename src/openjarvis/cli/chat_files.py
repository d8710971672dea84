"""Conversations in files: written for people or for programs, and read again."""

import errno
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from openjarvis.cli.lazy import Failure
from openjarvis.core.types import Message, Role
from openjarvis.safety.opening import new_file, open_regular

_MOST_BYTES = 256 << 20


def save(messages: Sequence[Message], path: Path) -> None:
    """Write a conversation to a new file: JSON where its name ends in `.json`, else Markdown.

    Only its owner can read it.

    Raises:
        Failure: when there is such a file already, or it cannot be written.
    """
    text = _as_json(messages) if path.suffix == ".json" else _as_markdown(messages)
    try:
        with new_file(path) as file:
            file.write(text)
    except FileExistsError:
        raise Failure(f"{path} is there already; choose another name.", 2) from None
    except OSError as error:
        raise Failure(f"{path} could not be written: {error.strerror}.", 1) from error


def load(path: Path) -> list[Message]:
    """Return the conversation that was saved as JSON, for any engine to go on with.

    What a file says as the system is left out: only the user and the configuration say that.

    Raises:
        Failure: when it cannot be read, or holds no conversation.
    """
    try:
        saved = json.loads(_read(path))
        messages = TypeAdapter(list[Message]).validate_python(saved["messages"])
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}.", 2) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Failure(f"{path}: messages.{place}: {first['msg']}.", 2) from error
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise Failure(f"{path} holds no conversation that was saved as .json.", 2) from error
    messages = [message for message in messages if message.role is not Role.SYSTEM]
    for message in messages:
        # The rest is a provider's own and was of use only while it was fresh.
        message.metadata = {} if message.metadata.get("success", True) else {"success": False}
    return messages


def _read(path: Path) -> bytes:
    real = path.resolve(strict=True)
    with os.fdopen(open_regular(real.parent, [real.name]), "rb") as file:
        read = file.read(_MOST_BYTES + 1)
    if len(read) > _MOST_BYTES:
        raise OSError(errno.EFBIG, f"it has more than {_MOST_BYTES:,} bytes")
    return read


def _as_json(messages: Sequence[Message]) -> str:
    told = [asdict(message) for message in messages]
    return json.dumps({"messages": told}, ensure_ascii=False, indent=2, default=str)


def _as_markdown(messages: Sequence[Message]) -> str:
    return "\n\n".join(map(_section, messages)) + "\n"


def _section(message: Message) -> str:
    if message.role is Role.TOOL:
        return f"> `{message.name}` answered:\n>\n> " + message.text.replace("\n", "\n> ")
    calls = [f"> `{call.name}` {call.arguments}" for call in message.tool_calls or ()]
    parts = [f"## {message.role.value.capitalize()}", message.text.strip(), *calls]
    return "\n\n".join(part for part in parts if part)
