"""An MCP server on the official SDK whose one tool answers with text and an image."""

from mcp.server.mcpserver import Image, MCPServer

from pictures import PNG

server = MCPServer("pictures")


@server.tool(structured_output=False)
def look() -> list[str | Image]:
    """Look out of the window."""
    return ["A dot:", Image(data=PNG, format="png")]


if __name__ == "__main__":
    server.run()
