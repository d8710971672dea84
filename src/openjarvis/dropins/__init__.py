"""Tools dropped into a folder as files, found at the next start.

`from openjarvis.dropins import BaseTool, ToolManifest, ToolResult` is for such files; the loader is
in `openjarvis.dropins.loader`.
"""

from openjarvis.dropins.contract import (
    BaseTool,
    ToolContext,
    ToolError,
    ToolManifest,
    ToolResult,
    ToolSpec,
    tool,
)

__all__ = [
    "BaseTool",
    "ToolContext",
    "ToolError",
    "ToolManifest",
    "ToolResult",
    "ToolSpec",
    "tool",
]
