"""What a dropped-in file imports: `from agent.tools import BaseTool, ToolManifest, ToolResult`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from openjarvis.core.errors import ToolError
from openjarvis.toolkit.base import Example, ToolSpec
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.function import tool

__all__ = [
    "BaseTool",
    "ToolContext",
    "ToolError",
    "ToolManifest",
    "ToolResult",
    "ToolSpec",
    "tool",
]


@dataclass(slots=True)
class ToolManifest:
    """What a dropped-in tool says of itself.

    `parameters` maps each name to its meaning (a required string) or to a JSON Schema, which is
    required unless it has a `default` or says `"required": False`; or it is the JSON Schema of the
    whole, `{"type": "object", "properties": …}`. `examples` are 2 or 3 sentences that should
    trigger the tool. The rest are the fields of `ToolSpec`.
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    examples: Sequence[Example] = field(default_factory=list)
    _: KW_ONLY
    category: str = ""
    cost_estimate: float = 0.0
    latency_estimate: float = 0.0
    requires_confirmation: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    timeout_seconds: float = 30.0
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(slots=True)
class ToolResult:
    """What one run gave: `data` for the model, or `success=False` with `error` saying why.

    `data` that is not text is given to the model as JSON.
    """

    success: bool
    data: Any = ""
    error: str = ""


class BaseTool(ABC):
    """A tool of a dropped-in file; the constructor gets the configuration, or takes nothing."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        self.config = {} if config is None else config

    @abstractmethod
    def manifest(self) -> ToolManifest:
        """Return what a model is told of this tool; asked once, when the file is loaded."""

    @abstractmethod
    def execute(self, params: dict[str, Any]) -> ToolResult:
        """Run the tool with the checked arguments of one call; it may be `async` too."""

    def is_available(self) -> bool:
        """Tell whether the tool can be used here; one that cannot is left out."""
        return True
