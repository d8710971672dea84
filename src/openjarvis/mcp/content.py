"""What a server answered, as a `ToolResult`: text for the model, the rest kept beside it."""

from collections.abc import Mapping
from typing import Any

from openjarvis.core.images import PARTS, decoded, line_of
from openjarvis.core.strict_json import dumps
from openjarvis.core.types import ToolResult

MAX_MESSAGE = 32 * 1024 * 1024
"""How many bytes one message of a server may have; one that sends more is given up."""

MAX_PARTS = 8_000_000
"""How many characters of images, audio and files of one result are kept, and of its structure."""


def tool_result(name: str, server: str, answer: Any) -> ToolResult:
    """Return the answer of `tools/call`, the SDK's object or the JSON of it, as our result.

    Images, audio and files stand in `metadata["parts"]`, as the protocol has them; the text has a
    line for each. Structured content stands in `metadata["structured_content"]`, and is the text
    where the server wrote none. What is too large for `MAX_PARTS` is left out of both.
    """
    whole = _plain(answer)
    metadata: dict[str, Any] = {"origin": f"mcp:{server}"}
    lines, parts = _read(whole.get("content") or [])
    if parts:
        metadata[PARTS] = parts
    structured = whole.get("structuredContent")
    if structured is not None:
        text = dumps(structured)
        if len(text) <= MAX_PARTS:
            metadata["structured_content"] = structured
        lines = lines or [text]
    return ToolResult(name, "\n".join(lines), success=not whole.get("isError"), metadata=metadata)


def _plain(answer: Any) -> Mapping[str, Any]:
    if isinstance(answer, Mapping):
        return answer
    whole: dict[str, Any] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    return whole


def _read(blocks: list[Any]) -> tuple[list[str], list[dict[str, Any]]]:
    lines: list[str] = []
    parts: list[dict[str, Any]] = []
    room = MAX_PARTS
    for block in blocks:
        lines.append(_line(block))
        size = len(_data(block))
        if size and size <= room:
            room -= size
            parts.append(dict(block))
        elif size:
            lines[-1] += " (too large, left out)"
    return lines, parts


def _line(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind in ("image", "audio"):
        return _medium(kind, str(block.get("mimeType", "")), _data(block))
    if kind == "resource_link":
        return f"[link {block.get('name', '')}: {block.get('uri', '')}]"
    if kind == "resource":
        resource = block.get("resource") or {}
        head = f"[resource {resource.get('uri', '')}"
        if "text" in resource:
            return f"{head}]\n{resource['text']}"
        return f"{head}, {len(_data(block)) * 3 // 4:,} bytes]"
    return f"[{kind} content]"


def _medium(kind: str, media_type: str, data: str) -> str:
    try:
        return line_of(kind, media_type, decoded(data))
    except ValueError:
        return f"[{kind} {media_type}, which is no base64]"


def _data(block: Mapping[str, Any]) -> str:
    """Return the base64 text of a block, "" where it has none."""
    resource = block.get("resource")
    return str(block.get("data") or (resource or {}).get("blob") or "")
