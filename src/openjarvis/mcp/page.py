"""A page of a server's tools before the SDK reads it, which refuses all for one that is none."""

from typing import Any

from mcp.types import JSONRPCResponse, Tool
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import ValidationError

from openjarvis.mcp.definitions import MAX_TOOLS
from openjarvis.safety.concealment import masked

_MODERN = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}


def take_out_broken(message: Any) -> list[str]:
    """Take what is no tool out of an answer to `tools/list`; return what is wrong with each.

    More than `MAX_TOOLS`, and one that says that there are more, are not read at all.
    """
    result = message.result if isinstance(message, JSONRPCResponse) else {}
    tools = result.get("tools")
    if not isinstance(tools, list):
        return []
    problems: list[str] = []
    whole: list[Any] = []
    for tool in tools[: MAX_TOOLS + 1]:
        problem = _problem(tool)
        if problem:
            problems.append(problem)
        else:
            whole.append(tool)
    result["tools"] = whole
    return problems


def _problem(tool: Any) -> str:
    try:
        Tool.model_validate(tool, by_name=False)
        validate_server_result("tools/list", LATEST_HANDSHAKE_VERSION, {"tools": [tool]})
        validate_server_result("tools/list", LATEST_MODERN_VERSION, {"tools": [tool], **_MODERN})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"] if step not in ("tools", 0))
        name = tool.get("name", "a tool") if isinstance(tool, dict) else "a tool"
        return masked(f"{name!s:.64}: {place}: {first['msg']}".replace(": : ", ": "))
    return ""
