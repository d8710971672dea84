"""`ToolSet`: the tools of a program, built once at start-up, no two of one name."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.core.types import ToolResult
from openjarvis.toolkit.base import BaseTool, Tool, ToolSpec, check_name
from openjarvis.toolkit.function import FunctionTool, tool
from openjarvis.toolkit.provider import ProviderTool

AnyTool = Tool | ProviderTool
"""A tool of ours or of the provider's."""


class ToolSet:
    """A collection of tools with unique names.

    Results are matched by name, so a duplicate would run the wrong function: it is refused, naming
    both origins. Changing a set is for start-up, from one thread; a built one is only read.
    """

    def __init__(self, tools: Iterable[AnyTool | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, AnyTool] = {}
        self.add(*tools)

    def add(self, *tools: AnyTool | Callable[..., Any]) -> Self:
        """Add tools; a plain typed function is made one.

        Raises:
            ToolDefinitionError: when something is no tool, or a name is taken.
        """
        for entry in tools:
            added = as_tool(entry)
            name = added.spec.name
            present = self._tools.get(name)
            if present is not None:
                raise ToolDefinitionError(
                    f"Two tools are named {name!r}: {origin(present)} and {origin(added)}. Rename "
                    "one, e.g. with ToolSet.prefix or ToolSet.rename."
                )
            self._tools[name] = added
        return self

    def add_tool(self, entry: AnyTool | Callable[..., Any]) -> Self:
        """Add one tool, of ours or of the provider's."""
        return self.add(entry)

    def build(self) -> list[AnyTool]:
        """Return the tools in the order they were added."""
        return list(self._tools.values())

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self.build())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def filter(self, keep: Callable[[ToolSpec], bool]) -> "ToolSet":
        """Return a set of the tools whose spec `keep` accepts."""
        return ToolSet(entry for entry in self if keep(entry.spec))

    def prefix(self, text: str) -> "ToolSet":
        """Return a set with `text` put before every name."""
        return self.rename({name: text + name for name in self._tools})

    def rename(self, names: Mapping[str, str]) -> "ToolSet":
        """Return a set with tools renamed, from old name to new.

        Raises:
            ToolDefinitionError: when an old name is not there, or a new one is taken.
        """
        for old in names:
            if old not in self._tools:
                raise ToolDefinitionError(
                    f"There is no tool {old!r} to rename; there are {', '.join(self._tools)}."
                )
        return ToolSet(
            renamed(entry, names[name]) if name in names else entry
            for name, entry in self._tools.items()
        )


class RenamedTool(BaseTool):
    """Another tool under another name."""

    def __init__(self, inner: Tool, name: str) -> None:
        spec = inner.spec
        self.inner: Tool = inner.inner if isinstance(inner, RenamedTool) else inner
        self.tool_id = check_name(name, origin(inner))
        fields = {field: getattr(spec, field) for field in ToolSpec.__dataclass_fields__}
        self._spec = ToolSpec(**{**fields, "name": name})

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    def execute(self, /, **params: Any) -> ToolResult:
        return replace(self.inner.execute(**params), tool_name=self.tool_id)


def renamed(entry: AnyTool, name: str) -> AnyTool:
    """Return `entry` under another name."""
    if isinstance(entry, ProviderTool):
        return ProviderTool(check_name(name, origin(entry)), entry.provider_type, entry.options)
    return RenamedTool(entry, name)


def as_tool(entry: AnyTool | Callable[..., Any]) -> AnyTool:
    """Return `entry` as a tool: as it is, or made from a typed function.

    Raises:
        ToolDefinitionError: when it is neither.
    """
    if isinstance(entry, ProviderTool | BaseTool):
        return entry
    if inspect.isfunction(entry) or inspect.ismethod(entry):
        return tool(entry)
    if isinstance(entry, type):
        raise ToolDefinitionError(
            f"{entry.__qualname__} is a class; give an instance of it: {entry.__qualname__}()."
        )
    if isinstance(entry, Tool) and callable(entry.execute):
        return entry
    raise ToolDefinitionError(
        f"{entry!r} is no tool: it needs `spec` and `execute`, or to be a typed function."
    )


def origin(entry: AnyTool) -> str:
    """Return where a tool was defined, for messages about it."""
    told = getattr(entry, "origin", None)
    if isinstance(told, str):
        return told
    if isinstance(entry, RenamedTool):
        return origin(entry.inner)
    if isinstance(entry, FunctionTool):
        return f"{entry.target.__module__}.{entry.target.__qualname__}"
    if isinstance(entry, ProviderTool):
        return f"provider tool {entry.provider_type}"
    return f"{type(entry).__module__}.{type(entry).__qualname__}"
