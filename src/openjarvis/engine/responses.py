"""OpenAI's Responses interface, on which its own tools run: requests and answers. Pure.

Reasoning (encrypted) and the items of tools that OpenAI ran travel in
`metadata["openai_responses"]` and go back unchanged to the server that they came from.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from openjarvis.core.images import Image
from openjarvis.core.types import Message, Role
from openjarvis.engine.adapter import Client, Reading
from openjarvis.engine.base import Reply, ReplyCall, Usage, usage_of
from openjarvis.engine.cloud import CloudExchange, names_by
from openjarvis.engine.errors import Server, reported_error, unavailable
from openjarvis.engine.messages import (
    CallIds,
    acceptable_arguments,
    acceptable_name,
    text_of,
    used_ids,
)
from openjarvis.engine.openai_tools import NAMES_IN_ANSWERS
from openjarvis.engine.pictures import pictured
from openjarvis.engine.provider_calls import Told
from openjarvis.engine.wire import count, items, kept_parts, mapping, text
from openjarvis.toolkit.provider import ProviderTool

METADATA_KEY = "openai_responses"
PATH = "/responses"
_INCLUDED = [
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "code_interpreter_call.outputs",
]
_ENDS = frozenset(("response.completed", "response.incomplete", "response.failed"))

Items = list[dict[str, Any]]


def to_input(messages: Iterable[Message], server: Server) -> Items:
    """Return `messages` as the input of a request."""
    given: Items = []
    for message, images in pictured(messages):
        is_result = message.role is Role.TOOL
        given += [_result(message, images)] if is_result else _items(message, server)
    return given


def _result(message: Message, images: Sequence[Image]) -> dict[str, Any]:
    output: str | Items = message.text
    if images:
        said = [{"type": "input_text", "text": message.text}] if message.text else []
        output = [*said, *({"type": "input_image", "image_url": one.url} for one in images)]
    call_id = message.tool_call_id or ""
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def _items(message: Message, server: Server) -> Items:
    calls = [
        {
            "type": "function_call",
            "call_id": call.id,
            "name": acceptable_name(call.name),
            "arguments": acceptable_arguments(call.arguments),
        }
        for call in message.tool_calls or ()
    ]
    kept = items(kept_parts(message, METADATA_KEY, server).get("items"))
    if kept and _spoken(kept) == message.text:  # else somebody has rewritten the message since
        return [*(dict(item) for item in kept), *calls]
    said = [{"role": message.role.value, "content": message.text}] if message.text else []
    return [*said, *calls]


def _spoken(output: Iterable[Mapping[str, Any]]) -> str:
    return "".join(
        text_of(item.get("content")) or _refusal(item)
        for item in output
        if item.get("type") == "message"
    )


def _refusal(item: Mapping[str, Any]) -> str:
    return "".join(text(mapping(part).get("refusal")) for part in items(item.get("content")))


class ResponsesExchange(CloudExchange):
    """A request to the Responses interface."""

    def reading(self) -> "ResponsesReading":
        return ResponsesReading(self.server, self.body["model"], self.used_ids, self.names)


def responses_exchange(
    messages: Sequence[Message],
    server: Server,
    client: Client,
    *,
    provider_tools: Sequence[ProviderTool],
    model: str,
    temperature: float | None = 0.7,
    max_tokens: int | None = 1024,
    tools: list[dict[str, Any]],
    **kw: Any,
) -> ResponsesExchange:
    """Return the request; nothing is stored at OpenAI."""
    own = [{"type": "function", "strict": False, **tool["function"]} for tool in tools]
    body = {
        "store": False,
        "include": _INCLUDED,
        **kw,
        "model": model,
        "input": to_input(messages, server),
        "tools": [*own, *(dict(tool.options) for tool in provider_tools)],
    }
    optional = {"temperature": temperature, "max_output_tokens": max_tokens}
    body.update((name, value) for name, value in optional.items() if value is not None)
    names = names_by(NAMES_IN_ANSWERS, provider_tools)
    return ResponsesExchange(body, client, server, used_ids(messages), names)


class ResponsesReading(Reading):
    """A response, whole or in events; the last event holds it whole."""

    def __init__(
        self, server: Server, model: str, taken_ids: Collection[str], names: Mapping[str, str]
    ) -> None:
        """Start; `names` are the user's names of tools that OpenAI runs, by their items' types."""
        self._server = server
        self._model = model
        self._ids = CallIds(taken_ids)
        self._names = names
        self._response: Mapping[str, Any] = {}

    def feed(self, event: Any) -> str:
        event = mapping(event)
        kind = text(event.get("type"))
        if kind == "error":
            raise reported_error({"message": text(event.get("message"))}, self._server)
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            return text(event.get("delta"))
        if kind in _ENDS:
            self._response = mapping(event.get("response"))
        elif "output" in event:
            self._response = event
        return ""

    def reply(self) -> Reply:
        response = self._response
        if response.get("error"):
            raise reported_error(response["error"], self._server)
        if "output" not in response:
            raise unavailable(
                f"{self._server.name} broke off in the middle of its reply.", status=502
            )
        output = [mapping(item) for item in items(response["output"])]
        calls = [self._call(item) for item in output if item.get("type") == "function_call"]
        reply = Reply(
            content=_spoken(output),
            usage=_usage(mapping(response.get("usage"))),
            model=text(response.get("model")) or self._model,
            finish_reason=_finish_reason(response, has_calls=bool(calls)),
        )
        if calls:
            reply["tool_calls"] = calls
        kept = [dict(item) for item in output if item.get("type") != "function_call"]
        if any(item.get("type") != "message" for item in kept):
            reply["metadata"] = {METADATA_KEY: {"server": self._server.name, "items": kept}}
        self._tell(output).add_to(reply)
        return reply

    def _call(self, item: Mapping[str, Any]) -> ReplyCall:
        call_id = self._ids.of(item.get("call_id"))
        return ReplyCall(
            id=call_id, name=text(item.get("name")), arguments=text(item.get("arguments"))
        )

    def _tell(self, output: Iterable[Mapping[str, Any]]) -> Told:
        told = Told()
        for item in output:
            kind, call_id = text(item.get("type")), text(item.get("id"))
            for part in map(mapping, items(item.get("content"))):
                for note in map(mapping, items(part.get("annotations"))):
                    told.source(note.get("url"), note.get("title"))
            if kind == "web_search_call":
                action = dict(mapping(item.get("action")))
                for source in map(mapping, items(action.pop("sources", ()))):
                    told.source(source.get("url"), source.get("title"))
                told.call(self._names.get(kind, "web_search"), action, call_id=call_id)
            elif kind == "code_interpreter_call":
                logs = [text(mapping(one).get("logs")) for one in items(item.get("outputs"))]
                name, code = self._names.get(kind, "code_execution"), {"code": item.get("code")}
                told.call(name, code, call_id=call_id, output="".join(logs))
        return told


def _finish_reason(response: Mapping[str, Any], *, has_calls: bool) -> str:
    if response.get("status") == "incomplete":
        reason = mapping(response.get("incomplete_details")).get("reason")
        return "content_filter" if reason == "content_filter" else "length"
    return "tool_calls" if has_calls else "stop"


def _usage(counted: Mapping[str, Any]) -> Usage:
    if "input_tokens" not in counted:
        return {}
    return usage_of(
        count(counted["input_tokens"]),
        count(counted.get("output_tokens")),
        total=count(counted.get("total_tokens")),
        cached=count(mapping(counted.get("input_tokens_details")).get("cached_tokens")),
    )
