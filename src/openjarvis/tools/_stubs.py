"""The documented doorway to what a tool is made of; it defines nothing."""

from openjarvis.execution.executor import ToolExecutor
from openjarvis.toolkit.base import BaseTool, ToolSpec
from openjarvis.toolkit.describe import build_tool_descriptions

__all__ = ["BaseTool", "ToolExecutor", "ToolSpec", "build_tool_descriptions"]
