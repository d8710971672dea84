"""JSON from outside, read for what it might be: anything."""

from collections.abc import Mapping
from typing import Any

from openjarvis.core.types import Message
from openjarvis.engine.errors import Server


def mapping(value: Any) -> Mapping[str, Any]:
    """Return `value` when it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """Return `value` when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return `value` when it is text, else ""."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """Return `value` when it is a whole number from 0, else 0."""
    return value if type(value) is int and value > 0 else 0


def kept_parts(message: Message, key: str, server: Server) -> Mapping[str, Any]:
    """Return the opaque parts under `key` of a message, if they came from `server`.

    Reasoning and its signatures go back only to the server that they came from; others refuse them.
    """
    kept = mapping(message.metadata.get(key))
    return kept if kept.get("server") == server.name else {}
