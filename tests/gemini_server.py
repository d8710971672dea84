"""Answers in the documented wire format of Gemini's `generateContent`, for the loopback server."""

import json
import re
from collections.abc import Iterable
from typing import Any

from engine.conformance import Turn
from openai_server import Answer, answer, streamed

USAGE = {"promptTokenCount": 7, "candidatesTokenCount": 3, "totalTokenCount": 10}
_REASONS = {"stop": "STOP", "length": "MAX_TOKENS", "filtered": "SAFETY"}


def content(*parts: dict[str, Any], reason: str | None = "STOP", **more: Any) -> dict[str, Any]:
    """Return a response, or a piece of a streamed one; `more` goes into the candidate."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **more}
    if reason is not None:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "usageMetadata": USAGE, "modelVersion": "gemini-test"}


def whole(*parts: dict[str, Any], reason: str = "STOP", **more: Any) -> Answer:
    """Answer with a whole response."""
    return answer(content(*parts, reason=reason, **more))


def stream(pieces: Iterable[dict[str, Any]], **options: Any) -> Answer:
    """Answer with the pieces of a response."""
    lines = (f"data: {json.dumps(piece, ensure_ascii=False)}\r\n\r\n" for piece in pieces)
    return streamed("".join(lines).encode(), **options)


def say(turn: Turn, *, is_streamed: bool) -> Answer:
    """Return a turn as the server would say it."""
    calls = [
        {"functionCall": {"name": name, "args": json.loads(written or "{}")}}
        for name, written in turn.calls
    ]
    reason = _REASONS[turn.finish]
    if is_streamed:
        letters = [content({"text": letter}, reason=None) for letter in turn.text]
        return stream([*letters, content(*calls, reason=reason)], piece=7)
    return whole(*([{"text": turn.text}] if turn.text else []), *calls, reason=reason)


def refusal(status: int, said: str, *details: dict[str, Any]) -> Answer:
    """Answer with an error as Google writes them."""
    error = {"code": status, "message": said, "status": "TEST", "details": list(details)}
    data = json.dumps({"error": error}).encode()
    return lambda exchange: exchange.reply(data, status=status)


def camel(value: Any) -> Any:
    """Return JSON with the names that Google documents; its client writes some the other way."""
    if isinstance(value, list):
        return [camel(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub(r"_([a-z])", lambda matched: matched[1].upper(), name): camel(entry)
        for name, entry in value.items()
    }
