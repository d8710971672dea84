"""Messages of ours as OpenAI chat messages, and chat completions as replies of ours.

Pure. What comes from a server is taken for what it might be: anything. Providers' opaque parts
(reasoning and its signatures) travel in `metadata["openai"]` and go back only to the server that
they came from, as others refuse them.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from openjarvis.core import strict_json
from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.engine.base import Reply, ReplyCall, Usage, usage_of
from openjarvis.engine.errors import Server, reported_error, unavailable
from openjarvis.engine.pictures import pictured
from openjarvis.engine.text_calls import find_cut_calls, find_text_calls
from openjarvis.engine.wire import count, kept_parts, mapping, text
from openjarvis.engine.written_calls import Offered

METADATA_KEY = "openai"
REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
CALL_EXTRA = "extra_content"
"""The field of a tool call in which Gemini's endpoint keeps the thought's signature."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def to_chat(messages: Iterable[Message], *, server: Server) -> list[dict[str, Any]]:
    """Return `messages` as the `messages` of a chat completion that `server` is asked for.

    Images of results follow in a user's message, as a tool's holds text only.
    """
    chat: list[dict[str, Any]] = []
    shown: list[dict[str, Any]] = []
    for message, images in pictured(messages):
        if shown and message.role is not Role.TOOL:
            chat.append({"role": "user", "content": shown})
            shown = []
        chat.append(_chat_message(message, server))
        if images:
            shown.append({"type": "text", "text": f"Shown by {message.name or 'a tool'}:"})
            shown += ({"type": "image_url", "image_url": {"url": image.url}} for image in images)
    return [*chat, {"role": "user", "content": shown}] if shown else chat


def _chat_message(message: Message, server: Server) -> dict[str, Any]:
    chat: dict[str, Any] = {"role": message.role.value, "content": message.text}
    if message.role is Role.TOOL:
        chat["tool_call_id"] = message.tool_call_id or ""
    elif message.name:
        chat["name"] = acceptable_name(message.name)
    if message.role is Role.ASSISTANT:
        kept = kept_parts(message, METADATA_KEY, server)
        chat.update(mapping(kept.get("message")))
        if message.tool_calls:
            extras = mapping(kept.get("calls"))
            chat["content"] = message.content or None
            chat["tool_calls"] = [
                {**_chat_call(call), **mapping(extras.get(call.id))} for call in message.tool_calls
            ]
    return chat


def _chat_call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {
            "name": acceptable_name(call.name),
            "arguments": acceptable_arguments(call.arguments),
        },
    }


def acceptable_name(name: str) -> str:
    """Return a name of a history in a form that providers take."""
    # A model that once invented a bad name would end the run: providers refuse such a history.
    return _NOT_IN_NAMES.sub("_", name[:64]) or "unnamed"


def acceptable_arguments(arguments: str) -> str:
    """Return the arguments of a call in a history as the text of a JSON object."""
    # Many servers decode the arguments in the history and refuse the request when they cannot.
    if not arguments.strip():
        return "{}"
    try:
        is_object = isinstance(strict_json.loads(arguments), dict)
    except strict_json.JSONRefused:
        is_object = False
    return arguments if is_object else json.dumps({"not_a_json_object": arguments})


def reply_of(
    completion: Any, *, model: str, server: Server, taken_ids: Collection[str] = ()
) -> Reply:
    """Return a chat completion's first choice as a reply.

    Calls without an id, or with one that is used already (`taken_ids`, or earlier in the reply),
    get a new one.

    Raises:
        LLMError: `LLM_UNAVAILABLE` when there is no message in it, or the error that it reports.
    """
    choice = _first_choice(completion, server)
    message = mapping(choice.get("message"))
    calls, extras = _calls(message.get("tool_calls"), taken_ids)
    reply = Reply(
        content=text_of(message.get("content")) or text_of(message.get("refusal")),
        usage=_usage(completion.get("usage")),
        model=text(completion.get("model")) or model,
        finish_reason=finish_reason(choice.get("finish_reason"), has_calls=bool(calls)),
    )
    if calls:
        reply["tool_calls"] = calls
    cost = mapping(completion.get("usage")).get("cost")
    if isinstance(cost, float):  # OpenRouter tells it
        reply["cost_usd"] = cost
    reasoning = {field: message[field] for field in REASONING_FIELDS if message.get(field)}
    if reasoning or extras:
        kept = {"server": server.name, "message": reasoning, "calls": extras}
        reply["metadata"] = {METADATA_KEY: kept}
    return reply


def text_of(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of parts of which some are."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(text(mapping(part).get("text")) for part in content)


def finish_reason(given: Any, *, has_calls: bool) -> str:
    """Return the finish reason in our words; servers say "stop" for calls, or words of their own.

    `length` and `content_filter` stay: the calls beside them may be incomplete.
    """
    if given in ("length", "content_filter"):
        return str(given)
    return "tool_calls" if has_calls else "stop"


def take_printed_calls(reply: Reply, offered: Offered) -> None:
    """Turn the calls that a model printed at the end of its text into calls of the reply.

    A reply that was cut off stays one: its last call may be half a call.
    """
    is_cut = reply["finish_reason"] == "length"
    find = find_cut_calls if is_cut else find_text_calls
    found = find(reply["content"], offered)
    if found is not None:
        reply["content"] = found.text
        reply["finish_reason"] = "length" if is_cut else "tool_calls"
        reply["tool_calls"] = [
            ReplyCall(id=new_call_id(), name=call.name, arguments=call.arguments)
            for call in found.calls
        ]


def used_ids(messages: Iterable[Message]) -> frozenset[str]:
    """Return the ids of the calls of a history."""
    return frozenset(call.id for message in messages for call in message.tool_calls or ())


class CallIds:
    """The ids of a conversation's calls: each is used once."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = set(taken)

    def of(self, given: Any) -> str:
        """Return the id that a server gave a call, or a new one where it is none or is used."""
        call_id = text(given)
        if not call_id or call_id in self._taken:
            call_id = new_call_id()
        self._taken.add(call_id)
        return call_id


def new_call_id() -> str:
    """Return an id for a tool call; nine letters and digits pass every provider's check."""
    return uuid4().hex[:9]


def arguments_text(arguments: Any) -> str:
    """Return a call's arguments as JSON text; servers send text, and some the object itself."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def _first_choice(completion: Any, server: Server) -> Mapping[str, Any]:
    if not isinstance(completion, Mapping):
        raise unavailable(
            f"{server.name} answered with something that is no chat completion.", status=502
        )
    if completion.get("error"):
        raise reported_error(completion["error"], server)
    choices = completion.get("choices")
    if not isinstance(choices, Sequence) or not choices or not isinstance(choices[0], Mapping):
        raise unavailable(f"{server.name} answered without a choice in its completion.", status=502)
    choice: Mapping[str, Any] = choices[0]
    return choice


def _calls(
    given: Any, taken_ids: Collection[str]
) -> tuple[list[ReplyCall], dict[str, dict[str, Any]]]:
    calls: list[ReplyCall] = []
    extras: dict[str, dict[str, Any]] = {}
    ids = CallIds(taken_ids)
    for entry in given if isinstance(given, list) else ():
        call = mapping(entry)
        function = mapping(call.get("function"))
        call_id = ids.of(call.get("id"))
        calls.append(
            ReplyCall(
                id=call_id,
                name=text(function.get("name")),
                arguments=arguments_text(function.get("arguments")),
            )
        )
        if call.get(CALL_EXTRA):
            extras[call_id] = {CALL_EXTRA: call[CALL_EXTRA]}
    return calls, extras


def _usage(given: Any) -> Usage:
    counted = mapping(given)
    prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return {}
    cached = mapping(counted.get("prompt_tokens_details")).get("cached_tokens")
    return usage_of(
        count(prompt),
        count(completion),
        total=count(counted.get("total_tokens")),
        cached=count(cached),
    )
