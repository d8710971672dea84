"""What every tool is, however it was written: a spec and something to execute."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.core.types import ToolResult

Example = str | tuple[str, dict[str, Any]]
"""A sentence that should trigger a tool, alone or with the arguments it should be called with."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(slots=True)
class ToolSpec:
    """What a model and the executor know of a tool.

    `parameters` is a JSON Schema of the arguments. `cost_estimate` is in US dollars a call,
    `latency_estimate` and `timeout_seconds` in seconds; a time-out of 0 means the executor's
    default. `read_only`, `destructive`, `idempotent` and `open_world` are the hints of MCP's tool
    annotations; None leaves a hint unsaid. `metadata={"repeatable": True}` lets a poller repeat the
    same call.
    """

    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict)
    category: str = ""
    cost_estimate: float = 0.0
    latency_estimate: float = 0.0
    requires_confirmation: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    timeout_seconds: float = 30.0
    examples: Sequence[Example] = field(default_factory=list)
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@runtime_checkable
class Tool(Protocol):
    """The least that the executor asks of a tool; `BaseTool` is the documented way to have it."""

    @property
    def spec(self) -> ToolSpec:
        """What is known of the tool."""

    def execute(self, **params: Any) -> ToolResult:
        """Run it."""


class BaseTool(ABC):
    """A tool written as a class: a `spec`, and `execute` that takes the arguments by name."""

    tool_id: str = ""

    @property
    @abstractmethod
    def spec(self) -> ToolSpec:
        """What a model and the executor know of this tool."""

    @abstractmethod
    def execute(self, **params: Any) -> ToolResult:
        """Run the tool with the arguments of one call."""

    def to_openai_function(self) -> dict[str, Any]:
        """Return the definition that an OpenAI-compatible model gets."""
        return openai_function(self.spec)


def openai_function(spec: ToolSpec) -> dict[str, Any]:
    """Return `spec` as an entry of the `tools` list of a chat completion."""
    return {
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters or {"type": "object", "properties": {}},
        },
    }


def check_name(name: str, owner: str) -> str:
    """Return `name` when models can call it.

    Raises:
        ToolDefinitionError: when it is empty, too long or holds other characters; `owner` says
            whose name it is.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ToolDefinitionError(
            f"{owner}: the tool name {str(name)[:80]!r} must be 1 to 64 of the characters "
            "A-Z a-z 0-9 _ - (models accept no others)."
        )
    return name
