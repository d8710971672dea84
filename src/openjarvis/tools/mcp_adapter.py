"""The documented doorway to tools of external MCP servers; it defines nothing."""

from openjarvis.mcp.adapter import MCPToolAdapter

__all__ = ["MCPToolAdapter"]
