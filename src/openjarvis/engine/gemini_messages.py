"""Messages of ours as Gemini's contents, and Gemini's answers as replies of ours. Pure.

Both sides are the JSON of Gemini's REST interface. Parts with signatures, and parts of tools that
Google ran, travel in `metadata["gemini"]` and go back unchanged to the server they came from.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from openjarvis.core.images import Image
from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.engine.adapter import Reading
from openjarvis.engine.base import Reply, ReplyCall, Usage, usage_of
from openjarvis.engine.errors import Server, reported_error, unavailable
from openjarvis.engine.google_tools import NAMES_IN_ANSWERS
from openjarvis.engine.lowering import GEMINI, lowered
from openjarvis.engine.messages import CallIds, acceptable_arguments, acceptable_name
from openjarvis.engine.pictures import pictured
from openjarvis.engine.provider_calls import Told
from openjarvis.engine.wire import count, items, kept_parts, mapping, text

METADATA_KEY = "gemini"
_FILTERED = frozenset(
    [
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    ]
)
_MALFORMED = {
    "MALFORMED_FUNCTION_CALL": "its model wrote a tool call that is none",
    "MALFORMED_RESPONSE": "its model wrote an answer that is none",
    "UNEXPECTED_TOOL_CALL": "its model called a tool where none was offered",
    "TOO_MANY_TOOL_CALLS": "its model called tools again and again",
    "MISSING_THOUGHT_SIGNATURE": "a signature is missing in the history",
}
"""Reasons why there is no answer, in words."""

IMAGE_KINDS = frozenset({"image/png", "image/jpeg", "image/webp"})
"""What Gemini can see."""

Part = dict[str, Any]


def to_contents(
    messages: Iterable[Message], server: Server, *, sees_in_results: bool
) -> tuple[str, list[dict[str, Any]]]:
    """Return the system text and the contents; neighbours of one side are one content.

    `sees_in_results` tells whether images may stand within a result; else they stand behind it.
    """
    system: list[str] = []
    contents: list[dict[str, Any]] = []
    called: dict[str, Part] = {}
    for message, images in pictured(messages, kinds=IMAGE_KINDS):
        if message.role is Role.SYSTEM:
            system.append(message.text)
            continue
        if message.role is Role.ASSISTANT:
            role, parts = "model", _model_parts(message, server, called)
        else:
            role, parts = "user", [_user_part(message, called)]
            shown = [_inline(image) for image in images]
            if shown and sees_in_results:
                parts[0]["functionResponse"]["parts"] = shown
            else:
                parts += shown
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"].extend(parts)
        elif parts:
            contents.append({"role": role, "parts": parts})
    return "\n\n".join(filter(None, system)), contents


def _user_part(message: Message, called: Mapping[str, Part]) -> Part:
    if message.role is not Role.TOOL:
        return {"text": message.text}
    call = called.get(message.tool_call_id or "", {})
    said = "result" if message.metadata.get("success", True) else "error"
    response = {
        "name": call.get("name") or acceptable_name(message.name or ""),
        "response": {said: message.text},
    }
    return {"functionResponse": {**response, **_id_of(call)}}


def _inline(image: Image) -> Part:
    return {"inlineData": {"mimeType": image.media_type, "data": image.base64}}


def _model_parts(message: Message, server: Server, called: dict[str, Part]) -> list[Part]:
    calls = iter(message.tool_calls or ())
    kept = items(kept_parts(message, METADATA_KEY, server).get("parts"))
    if not kept or _spoken(kept) != message.text:  # none, or somebody has rewritten the message
        kept = [{"text": message.text}] if message.text else []
    parts: list[Part] = []
    for part in kept:
        if "functionCall" not in part:
            parts.append(dict(part))
        elif (call := next(calls, None)) is not None:
            parts.append({**part, "functionCall": _function_call(call, part, called)})
    parts.extend({"functionCall": _function_call(call, {}, called)} for call in calls)
    return parts


def _function_call(call: ToolCall, part: Mapping[str, Any], called: dict[str, Part]) -> Part:
    made = {
        "name": acceptable_name(call.name),
        "args": json.loads(acceptable_arguments(call.arguments)),
        **_id_of(mapping(part.get("functionCall"))),
    }
    called[call.id] = made
    return made


def _id_of(call: Mapping[str, Any]) -> Part:
    """Return the id that Gemini gave a call, where it did: ours would mean nothing to it."""
    return {"id": call["id"]} if call.get("id") else {}


def _spoken(parts: Iterable[Mapping[str, Any]]) -> str:
    return "".join(text(part.get("text")) for part in parts if not part.get("thought"))


def to_declarations(definitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return function definitions as Gemini's declarations.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when a schema cannot be said.
    """
    functions = [mapping(definition.get("function")) for definition in definitions]
    return [
        {
            "name": function.get("name"),
            "description": function.get("description", ""),
            "parametersJsonSchema": lowered(function, GEMINI),
        }
        for function in functions
    ]


class GeminiReading(Reading):
    """An answer of Gemini's, whole or in pieces; a whole one is a stream of one piece."""

    def __init__(
        self, server: Server, model: str, taken_ids: Collection[str], names: Mapping[str, str]
    ) -> None:
        """Start; `names` are the user's names of tools that Google runs, by Google's."""
        self._server = server
        self._model = model
        self._ids = CallIds(taken_ids)
        self._names = {**{name: name for name in NAMES_IN_ANSWERS.values()}, **names}
        self._parts: list[Part] = []
        self._more: list[str] = []  # of the last part's text
        self._usage: Mapping[str, Any] = {}
        self._reason = ""
        self._told = Told()
        self._queries: dict[str, None] = {}
        self._pages: dict[str, None] = {}

    def feed(self, event: Any) -> str:
        event = mapping(event)
        if event.get("error"):
            raise reported_error(event["error"], self._server)
        self._model = text(event.get("modelVersion")) or self._model
        self._usage = mapping(event.get("usageMetadata")) or self._usage
        if mapping(event.get("promptFeedback")).get("blockReason"):
            self._reason = "SAFETY"
        shown = [self._feed_candidate(mapping(one)) for one in items(event.get("candidates"))[:1]]
        return "".join(shown)

    def _feed_candidate(self, candidate: Mapping[str, Any]) -> str:
        self._reason = text(candidate.get("finishReason")) or self._reason
        self._feed_grounding(mapping(candidate.get("groundingMetadata")))
        fetched = mapping(candidate.get("urlContextMetadata")).get("urlMetadata")
        for page in map(mapping, items(fetched)):
            if text(page.get("retrievedUrl")):
                self._pages[page["retrievedUrl"]] = None
                self._told.source(page["retrievedUrl"], "")
        parts = [
            dict(mapping(part)) for part in items(mapping(candidate.get("content")).get("parts"))
        ]
        for part in parts:
            self._feed_part(part)
        return _spoken(parts)

    def _feed_grounding(self, grounding: Mapping[str, Any]) -> None:
        self._queries.update(
            (query, None) for query in items(grounding.get("webSearchQueries")) if text(query)
        )
        for chunk in map(mapping, items(grounding.get("groundingChunks"))):
            for kind in ("web", "retrievedContext", "maps"):
                found = mapping(chunk.get(kind))
                self._told.source(found.get("uri"), found.get("title"))

    def _feed_part(self, part: Part) -> None:
        last = self._parts[-1] if self._parts else {}
        if _is_plain_text(part) and _is_plain_text(last) and _is_thought(part) == _is_thought(last):
            self._more.append(part["text"])
            return
        self._join()
        self._parts.append(part)
        code, made = mapping(part.get("executableCode")), mapping(part.get("toolCall"))
        if code:
            number = str(len(self._parts))
            self._told.call(
                self._names["code_execution"], {"code": code.get("code")}, call_id=number
            )
        if "codeExecutionResult" in part:
            output = text(mapping(part["codeExecutionResult"]).get("output"))
            self._told.answered(str(len(self._parts) - 1), output)
        if made:
            kind = text(made.get("toolType")).lower()
            kind = "google_search" if kind.startswith("google_search") else kind
            name, call_id = self._names.get(kind, kind), text(made.get("id"))
            self._told.call(name, mapping(made.get("args")), call_id=call_id)

    def _join(self) -> None:
        """Add to the last part's text what has come of it since."""
        if self._more:
            self._parts[-1]["text"] += "".join(self._more)
            self._more = []

    def reply(self) -> Reply:
        self._join()
        if not self._reason:
            raise unavailable(
                f"{self._server.name} broke off in the middle of its reply.", status=502
            )
        if self._reason in _MALFORMED:
            # Google explains more in `finishMessage`, which its client library leaves out.
            raise unavailable(
                f"{self._server.name} gave no answer: {_MALFORMED[self._reason]} ({self._reason}). "
                "The same request may succeed when it is made again.",
                status=502,
            )
        calls = [self._call(part["functionCall"]) for part in self._parts if "functionCall" in part]
        reply = Reply(
            content=_spoken(self._parts),
            usage=_usage(self._usage),
            model=self._model,
            finish_reason=self._finish_reason(bool(calls)),
        )
        if calls:
            reply["tool_calls"] = calls
        if not all(map(_is_ordinary, self._parts)):
            kept = {"server": self._server.name, "parts": self._parts}
            reply["metadata"] = {METADATA_KEY: kept}
        self._tell_searches()
        self._told.add_to(reply)
        return reply

    def _finish_reason(self, has_calls: bool) -> str:
        if self._reason == "MAX_TOKENS":
            return "length"
        if self._reason in _FILTERED:
            return "content_filter"
        return "tool_calls" if has_calls else "stop"

    def _call(self, given: Any) -> ReplyCall:
        call = mapping(given)
        call_id = self._ids.of(call.get("id"))
        arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
        return ReplyCall(id=call_id, name=text(call.get("name")), arguments=arguments)

    def _tell_searches(self) -> None:
        made_by_parts = any("toolCall" in part for part in self._parts)
        if self._queries and not made_by_parts:
            self._told.call(self._names["google_search"], {"queries": list(self._queries)})
        if self._pages and not made_by_parts:
            self._told.call(self._names["url_context"], {"urls": list(self._pages)})


def _is_thought(part: Mapping[str, Any]) -> bool:
    return bool(part.get("thought"))


def _is_plain_text(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), str) and part.keys() <= {"text", "thought"}


def _is_ordinary(part: Mapping[str, Any]) -> bool:
    """Tell whether a part can be made again from the message's text and calls."""
    call = mapping(part.get("functionCall"))
    return part.keys() == {"text"} or (part.keys() == {"functionCall"} and not call.get("id"))


def _usage(counted: Mapping[str, Any]) -> Usage:
    if "promptTokenCount" not in counted:
        return {}
    prompt = count(counted["promptTokenCount"]) + count(counted.get("toolUsePromptTokenCount"))
    written = count(counted.get("candidatesTokenCount")) + count(counted.get("thoughtsTokenCount"))
    return usage_of(
        prompt,
        written,
        total=count(counted.get("totalTokenCount")),
        cached=count(counted.get("cachedContentTokenCount")),
    )
