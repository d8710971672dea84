"""Messages of ours as Ollama's, and Ollama's answers as replies of ours. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from openjarvis.core.images import Image
from openjarvis.core.types import Message, Role
from openjarvis.engine.adapter import Reading
from openjarvis.engine.base import Reply, ReplyCall, Usage, usage_of
from openjarvis.engine.errors import Server, reported_error, unavailable
from openjarvis.engine.lowering import OLLAMA, lowered
from openjarvis.engine.messages import (
    acceptable_arguments,
    acceptable_name,
    arguments_text,
    new_call_id,
    take_printed_calls,
)
from openjarvis.engine.pictures import pictured
from openjarvis.engine.text_gate import TextGate
from openjarvis.engine.wire import count, items, kept_parts, mapping, text
from openjarvis.engine.written_calls import Offered

METADATA_KEY = "ollama"
IMAGE_KINDS = frozenset({"image/png", "image/jpeg", "image/webp"})
"""What Ollama can read."""
_PROPERTY_WORDS = frozenset(("type", "items", "description", "enum"))
"""What Ollama's templates are told of a parameter."""


def to_chat(messages: Iterable[Message], server: Server) -> list[dict[str, Any]]:
    """Return `messages` as those of a chat request; images stand in them as bytes."""
    seen = pictured(messages, kinds=IMAGE_KINDS)
    return [_chat_message(message, images, server) for message, images in seen]


def _chat_message(message: Message, images: Sequence[Image], server: Server) -> dict[str, Any]:
    chat: dict[str, Any] = {"role": message.role.value, "content": message.text}
    if images:
        chat["images"] = [image.data for image in images]
    if message.role is Role.TOOL:
        chat["tool_name"] = acceptable_name(message.name or "")
    if message.role is Role.ASSISTANT:
        thinking = text(kept_parts(message, METADATA_KEY, server).get("thinking"))
        if thinking:
            chat["thinking"] = thinking
        if message.tool_calls:
            chat["tool_calls"] = [
                {
                    "function": {
                        "name": acceptable_name(call.name),
                        "arguments": json.loads(acceptable_arguments(call.arguments)),
                    }
                }
                for call in message.tool_calls
            ]
    return chat


def to_tools(definitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return function definitions as Ollama's.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when a schema cannot be said.
    """
    return [_tool(mapping(definition.get("function"))) for definition in definitions]


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    schema = lowered(function, OLLAMA)
    properties = mapping(schema.get("properties"))
    parameters = {
        "type": "object",
        "properties": {name: _property(given) for name, given in properties.items()},
        "required": items(schema.get("required")),
    }
    said = {"name": function.get("name"), "description": function.get("description", "")}
    return {"type": "function", "function": {**said, "parameters": parameters}}


def _property(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a parameter with what its templates cannot show told in the description."""
    said = dict(schema)
    kinds = [mapping(branch).get("type") for branch in items(said.get("anyOf"))]
    if kinds and all(isinstance(kind, str) for kind in kinds) and "type" not in said:
        said["type"] = list(dict.fromkeys(kinds))
        if all(mapping(branch).keys() <= {"type"} for branch in said["anyOf"]):
            del said["anyOf"]
    told = {word: value for word, value in said.items() if word in _PROPERTY_WORDS}
    rest = {word: value for word, value in said.items() if word not in _PROPERTY_WORDS}
    if rest:
        as_text = json.dumps(rest, ensure_ascii=False)
        told["description"] = f"{text(told.get('description'))} {as_text}".strip()
    return told


class OllamaReading(Reading):
    """An answer of Ollama's, whole or in pieces; a whole one is a stream of one piece."""

    def __init__(self, server: Server, model: str, offered: Offered) -> None:
        """Start; `offered` are tools that the model may call by printing."""
        self._server = server
        self._model = model
        self._offered = offered
        self._gate = TextGate(offered) if offered else None
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[Mapping[str, Any]] = []
        self._end: Mapping[str, Any] | None = None

    def feed(self, event: Any) -> str:
        piece = mapping(event)
        if piece.get("error"):
            raise reported_error({"message": str(piece["error"])}, self._server)
        message = mapping(piece.get("message"))
        self._model = text(piece.get("model")) or self._model
        self._thinking.append(text(message.get("thinking")))
        self._calls += [mapping(call) for call in items(message.get("tool_calls"))]
        if piece.get("done") is True:
            self._end = piece
        said = text(message.get("content"))
        self._text.append(said)
        return self._gate.passed(said) if self._gate is not None and said else said

    def reply(self) -> Reply:
        if self._end is None:
            raise unavailable(
                f"{self._server.name} broke off in the middle of its reply.", status=502
            )
        calls = [self._call(mapping(call.get("function"))) for call in self._calls]
        is_cut = self._end.get("done_reason") == "length"
        reply = Reply(
            content="".join(self._text),
            usage=_usage(self._end),
            model=self._model,
            finish_reason="length" if is_cut else "tool_calls" if calls else "stop",
        )
        if calls:
            reply["tool_calls"] = calls
        thinking = "".join(self._thinking)
        if thinking:
            kept = {"server": self._server.name, "thinking": thinking}
            reply["metadata"] = {METADATA_KEY: kept}
        if reply["finish_reason"] in ("stop", "length") and not calls:
            take_printed_calls(reply, self._offered)
        return reply

    def _call(self, function: Mapping[str, Any]) -> ReplyCall:
        written = arguments_text(function.get("arguments") or {})
        return ReplyCall(id=new_call_id(), name=text(function.get("name")), arguments=written)


def _usage(counted: Mapping[str, Any]) -> Usage:
    if "eval_count" not in counted:
        return {}
    return usage_of(count(counted.get("prompt_eval_count")), count(counted["eval_count"]))
