"""Our tools in the protocol's words: what a host is told of them, and what it gets of a call."""

from typing import Any

from mcp.types import CallToolResult, ImageContent, TextContent, Tool, ToolAnnotations

from openjarvis.core.images import Image, images_in
from openjarvis.core.types import ToolResult
from openjarvis.toolkit.base import ToolSpec


def offered(spec: ToolSpec) -> Tool:
    """Return a tool as a host lists it: schema, title, hints, and examples in the description."""
    return Tool(
        name=spec.name,
        title=str(spec.metadata.get("title") or spec.name.replace("_", " ").strip().capitalize()),
        description=_description(spec),
        input_schema=_schema(spec.parameters),
        annotations=ToolAnnotations(
            read_only_hint=spec.read_only,
            destructive_hint=spec.destructive,
            idempotent_hint=spec.idempotent,
            open_world_hint=spec.open_world,
        ),
    )


def call_result(result: ToolResult) -> CallToolResult:
    """Return the result of a call, images too; a failure is one, so that the model can read it."""
    images = [
        ImageContent(data=image.base64, mime_type=image.media_type)
        for image in images_in(result.metadata)
        if isinstance(image, Image)
    ]
    text = TextContent(text=result.content)
    return CallToolResult(content=[text, *images], is_error=not result.success)


def _description(spec: ToolSpec) -> str:
    if not spec.examples:
        return spec.description
    sentences = [one if isinstance(one, str) else one[0] for one in spec.examples]
    return "\n".join([spec.description, "", "Examples:", *(f"- {one}" for one in sentences)])


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}
