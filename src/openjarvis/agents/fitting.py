"""What a kind of agent takes of what was chosen for it. Pure."""

import inspect
from collections.abc import Iterable
from typing import Any


def with_own_tools(chosen: Iterable[Any], kind: type[Any]) -> list[Any]:
    """Return the chosen tools with those that an agent cannot work without."""
    wanted = list(chosen)
    names = [entry if isinstance(entry, str) else _name_of(entry) for entry in wanted]
    return wanted + [name for name in getattr(kind, "own_tools", ()) if name not in names]


def accepted(kind: type[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that a constructor takes; agents of the user's may take fewer."""
    parameters = inspect.signature(kind).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return options
    return {name: value for name, value in options.items() if name in parameters}


def _name_of(tool: Any) -> str:
    return str(getattr(getattr(tool, "spec", tool), "name", ""))
