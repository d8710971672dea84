"""Messages of ours as Claude's, and Claude's answers as replies of ours. Pure.

Thinking blocks with their signatures, and blocks of tools that Anthropic ran, travel in
`metadata["anthropic"]` and go back unchanged to the server that they came from.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from openjarvis.core.errors import invalid_request
from openjarvis.core.images import Image
from openjarvis.core.types import Message, Role
from openjarvis.engine.adapter import Reading
from openjarvis.engine.base import Reply, ReplyCall, usage_of
from openjarvis.engine.errors import Server, reported_error, unavailable
from openjarvis.engine.messages import CallIds, acceptable_arguments, acceptable_name
from openjarvis.engine.pictures import pictured
from openjarvis.engine.provider_calls import Told
from openjarvis.engine.wire import count, items, kept_parts, mapping, text

METADATA_KEY = "anthropic"
_PLAIN = frozenset({"text", "tool_use"})
_REASONS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "pause",
    "refusal": "content_filter",
}
_COMBINATIONS = ("anyOf", "oneOf", "allOf")

Blocks = list[dict[str, Any]]


def to_messages(messages: Iterable[Message], server: Server) -> tuple[str, list[dict[str, Any]]]:
    """Return the system text and the turns of a request; neighbours of one side are one turn."""
    system: list[str] = []
    turns: list[dict[str, Any]] = []
    for message, images in pictured(messages):
        if message.role is Role.SYSTEM:
            system.append(message.text)
            continue
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        is_result = message.role is Role.TOOL
        blocks = [_result(message, images)] if is_result else _blocks(message, server)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(blocks)
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return "\n\n".join(filter(None, system)), turns


def _result(message: Message, images: Sequence[Image]) -> dict[str, Any]:
    content: str | Blocks = message.text
    if images:
        content = [*_text_blocks(message.text), *map(_image_block, images)]
    block = {
        "type": "tool_result",
        "tool_use_id": message.tool_call_id or "",
        "content": content,
    }
    return block if message.metadata.get("success", True) else {**block, "is_error": True}


def _text_blocks(said: str) -> Blocks:
    return [{"type": "text", "text": said}] if said else []  # an empty text would be refused


def _image_block(image: Image) -> dict[str, Any]:
    source = {"type": "base64", "media_type": image.media_type, "data": image.base64}
    return {"type": "image", "source": source}


def _blocks(message: Message, server: Server) -> Blocks:
    said = _text_blocks(message.text)
    if message.role is not Role.ASSISTANT:
        return said
    uses: Blocks = [
        {
            "type": "tool_use",
            "id": call.id,
            "name": acceptable_name(call.name),
            "input": json.loads(acceptable_arguments(call.arguments)),
        }
        for call in message.tool_calls or ()
    ]
    kept = items(kept_parts(message, METADATA_KEY, server).get("blocks"))
    whole = "".join(text(block.get("text")) for block in kept if block.get("type") == "text")
    if not kept or whole != message.text:  # none, or somebody has rewritten the message since
        return [*said, *uses]
    return [*(dict(block) for block in kept), *uses]


def to_tools(definitions: Iterable[Mapping[str, Any]]) -> Blocks:
    """Return function definitions as Claude's.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when a schema cannot be said.
    """
    return [_tool(mapping(definition.get("function"))) for definition in definitions]


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", **mapping(function.get("parameters"))}
    for keyword in _COMBINATIONS:
        if keyword in schema:
            raise invalid_request(
                f"The tool {function.get('name')!r} cannot be offered to Claude: in parameters, "
                f"{keyword!r} cannot be said at the top. Put it into a parameter."
            )
    return {
        "name": function.get("name"),
        "description": function.get("description", ""),
        "input_schema": schema,
    }


class AnthropicReading(Reading):
    """A message of Claude's, whole or in events."""

    def __init__(
        self, server: Server, model: str, taken_ids: Collection[str], names: Mapping[str, str]
    ) -> None:
        """Start; `names` are the user's names of tools that Anthropic runs, by Anthropic's."""
        self._server = server
        self._model = model
        self._ids = CallIds(taken_ids)
        self._names = names
        self._blocks: dict[int, dict[str, Any]] = {}
        self._written: dict[int, list[str]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._usage: dict[str, Any] = {}
        self._stop_reason: Any = None

    def feed(self, event: Any) -> str:
        event = mapping(event)
        kind = event.get("type")
        if kind == "error":
            raise reported_error(_error_body(event), self._server)
        if kind == "message":
            return self._feed_message(event)
        if kind == "message_start":
            self._feed_message(
                {**mapping(event.get("message")), "content": [], "stop_reason": None}
            )
        elif kind == "message_delta":
            self._usage.update(mapping(event.get("usage")))
            self._stop_reason = mapping(event.get("delta")).get("stop_reason") or self._stop_reason
        elif kind == "content_block_start":
            block = dict(mapping(event.get("content_block")))
            self._blocks[count(event.get("index"))] = block
            return text(block.get("text"))
        elif kind == "content_block_delta":
            return self._feed_delta(count(event.get("index")), mapping(event.get("delta")))
        return ""

    def _feed_message(self, message: Mapping[str, Any]) -> str:
        self._model = text(message.get("model")) or self._model
        self._usage.update(mapping(message.get("usage")))
        self._stop_reason = message.get("stop_reason")
        self._blocks.update(
            (index, dict(mapping(block)))
            for index, block in enumerate(items(message.get("content")))
        )
        return self._text()

    def _feed_delta(self, index: int, delta: Mapping[str, Any]) -> str:
        block = self._blocks.setdefault(index, {"type": "text", "text": ""})
        if "partial_json" in delta:
            self._written.setdefault(index, []).append(text(delta["partial_json"]))
        for field in ("text", "thinking", "signature"):
            if field in delta:
                self._pieces.setdefault((index, field), []).append(text(delta[field]))
        if "citation" in delta:
            block["citations"] = items(block.get("citations"))
            block["citations"].append(delta["citation"])
        return text(delta.get("text"))

    def reply(self) -> Reply:
        if self._stop_reason is None:
            raise unavailable(
                f"{self._server.name} broke off in the middle of its reply.", status=502
            )
        for (index, field), pieces in self._pieces.items():
            said = text(self._blocks[index].get(field))
            self._blocks[index][field] = said + "".join(pieces)
        self._pieces = {}
        blocks = [self._finished(index, block) for index, block in sorted(self._blocks.items())]
        calls = [self._call(block) for block in blocks if block.get("type") == "tool_use"]
        reason = _REASONS.get(text(self._stop_reason))
        if reason == "pause" and calls:
            reason = None  # what it waits for is their results
        reply = Reply(
            content=self._text(),
            usage=_usage(self._usage),
            model=self._model,
            finish_reason=reason or ("tool_calls" if calls else "stop"),
        )
        if calls:
            reply["tool_calls"] = calls
        if any(text(block.get("type")) not in _PLAIN or block.get("citations") for block in blocks):
            # Calls are kept by the message itself, and an empty text would be refused.
            kept = [
                block
                for block in blocks
                if block.get("type") != "tool_use" and block.get("text") != ""
            ]
            reply["metadata"] = {METADATA_KEY: {"server": self._server.name, "blocks": kept}}
        self._tell(blocks).add_to(reply)
        return reply

    def _text(self) -> str:
        return "".join(
            text(block.get("text"))
            for _, block in sorted(self._blocks.items())
            if block.get("type") == "text"
        )

    def _finished(self, index: int, block: dict[str, Any]) -> dict[str, Any]:
        """Return a block with the input that came in pieces; a call's stays as it was written."""
        written = "".join(self._written.get(index, ()))
        if block.get("type") == "tool_use":
            given = json.dumps(block.get("input") or {}, ensure_ascii=False)
            return {**block, "written": written or given}
        if written:
            block = {**block, "input": json.loads(acceptable_arguments(written))}
        return block

    def _call(self, block: Mapping[str, Any]) -> ReplyCall:
        call_id = self._ids.of(block.get("id"))
        return ReplyCall(id=call_id, name=text(block.get("name")), arguments=block["written"])

    def _tell(self, blocks: Sequence[Mapping[str, Any]]) -> Told:
        told = Told()
        for block in blocks:
            kind = text(block.get("type"))
            if kind == "server_tool_use":
                name = self._names.get(text(block.get("name")), text(block.get("name")))
                told.call(name, block.get("input"), call_id=text(block.get("id")))
            elif kind.endswith("_tool_result"):
                content = block.get("content")
                told.answered(text(block.get("tool_use_id")), _outcome(content))
            for citation in items(block.get("citations")):
                told.source(mapping(citation).get("url"), mapping(citation).get("title"))
        return told


def _outcome(content: Any) -> str:
    """Return what can be told of a result: the pages found, the program's output, or the error."""
    if isinstance(content, list):
        return "\n".join(text(mapping(page).get("url")) for page in content)
    found = mapping(content)
    return text(found.get("error_code")) or text(found.get("stdout"))


def _error_body(event: Mapping[str, Any]) -> dict[str, Any]:
    return {"message": text(mapping(event.get("error")).get("message"))}


def _usage(counted: Mapping[str, Any]) -> Any:
    if "input_tokens" not in counted or "output_tokens" not in counted:
        return {}
    cached = count(counted.get("cache_read_input_tokens"))
    prompt = count(counted["input_tokens"]) + cached
    prompt += count(counted.get("cache_creation_input_tokens"))
    return usage_of(prompt, count(counted["output_tokens"]), cached=cached)
