"""Tools by name: the one place that builds them, each with what it needs of the system."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import openjarvis.tools  # noqa: F401 - announces the built-in tools to the registry
from openjarvis.core.errors import ToolDefinitionError, nearest
from openjarvis.core.registry import ToolRegistry
from openjarvis.toolkit.base import Tool
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.toolset import AnyTool, ToolSet, as_tool

Chosen = str | AnyTool | Callable[..., Any]
"""A tool by name, or one that is already there."""


class UnknownToolError(ToolDefinitionError):
    """A name that no tool has; the text names the nearest and all there are."""


def names(dropped_in: Mapping[str, Tool] | None = None) -> list[str]:
    """Return the names of all tools that can be asked for."""
    return [*ToolRegistry.keys(), *(dropped_in or {})]


def build(
    chosen: Iterable[Chosen], services: Services, dropped_in: Mapping[str, Tool] | None = None
) -> ToolSet:
    """Return the chosen tools, those named built with what they need of `services`.

    Raises:
        UnknownToolError: when a name is none of a built-in, registered or dropped-in tool.
        ToolDefinitionError: when two tools share a name, or a tool cannot be made.
    """
    built = ToolSet()
    for entry in chosen:
        built.add(_named(entry, services, dropped_in or {}) if isinstance(entry, str) else entry)
    return built


def _named(name: str, services: Services, dropped_in: Mapping[str, Tool]) -> AnyTool:
    if name in dropped_in:
        return dropped_in[name]
    if not ToolRegistry.contains(name):
        known = names(dropped_in)
        near = nearest(name, known)
        hint = f"did you mean {near!r}? " if near else ""
        raise UnknownToolError(f"Unknown tool {name!r}: {hint}There are {', '.join(known)}.")
    entry = ToolRegistry.get(name)
    if not inspect.isclass(entry):
        return as_tool(entry)
    builder = getattr(entry, "build", None)
    try:
        made: Any = builder(services) if callable(builder) else entry()
    except TypeError as error:
        raise ToolDefinitionError(
            f"The tool {name!r} cannot be made: {error}. Give its class a `build(services)` or a "
            "constructor without arguments."
        ) from error
    return as_tool(made)
