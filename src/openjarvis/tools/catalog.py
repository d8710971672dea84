"""Tools by name: the one place that builds them, each with what it needs of the system."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import openjarvis.tools  # noqa: F401 - announces the built-in tools to the registry
from openjarvis.core.errors import ConfigError, ToolDefinitionError, unknown_name
from openjarvis.core.registry import ToolRegistry
from openjarvis.toolkit.base import Tool
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.toolset import AnyTool, ToolSet, as_tool
from openjarvis.toolkit.typed import failure_text

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
        ConfigError: when the section of a tool cannot be used.
    """
    built = ToolSet()
    for entry in chosen:
        built.add(_named(entry, services, dropped_in or {}) if isinstance(entry, str) else entry)
    return built


def _named(name: str, services: Services, dropped_in: Mapping[str, Tool]) -> AnyTool:
    if name in dropped_in:
        return dropped_in[name]
    if not ToolRegistry.contains(name):
        raise UnknownToolError(unknown_name("tool", name, names(dropped_in)))
    try:
        return as_tool(_made(ToolRegistry.get(name), services))
    except (ToolDefinitionError, ConfigError):
        raise
    except Exception as error:  # a registered class may be anybody's and may raise anything
        raise ToolDefinitionError(
            f"The tool {name!r} cannot be made: {failure_text(error)}. Its class needs a "
            "`build(services)`, or a constructor without arguments."
        ) from error


def _made(entry: Any, services: Services) -> Any:
    """Return the tool of a registry's entry, which is one already or its class."""
    if not inspect.isclass(entry):
        return entry
    builder = getattr(entry, "build", None)
    return builder(services) if callable(builder) else entry()
