"""Answers in the documented wire format of Ollama's chat, for the loopback server."""

import json
from collections.abc import Iterable
from typing import Any

from engine.conformance import Turn
from openai_server import Answer, answer, streamed

COUNTS = {"prompt_eval_count": 7, "eval_count": 3}


def piece(content: str = "", *, done: Any = False, **message: Any) -> dict[str, Any]:
    """Return a piece of an answer; `done` may be the reason."""
    said = {"role": "assistant", "content": content, **message}
    ended = {"done": True, "done_reason": done, **COUNTS} if done else {"done": False}
    return {"model": "qwen-test", "created_at": "2026-01-01T00:00:00Z", "message": said, **ended}


def stream(pieces: Iterable[dict[str, Any]], **options: Any) -> Answer:
    """Answer with pieces, one JSON a line."""
    lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in pieces)
    return streamed("".join(lines).encode(), content_type="application/x-ndjson", **options)


def shown(*capabilities: str, context: int = 32_768) -> Answer:
    """Answer `/api/show`."""
    return answer(
        {
            "capabilities": ["completion", *capabilities],
            "model_info": {"general.architecture": "qwen", "qwen.context_length": context},
        }
    )


def say(turn: Turn, *, is_streamed: bool) -> Answer:
    """Return a turn as the server would say it."""
    calls = [
        {"function": {"name": name, "arguments": json.loads(written or "{}")}}
        for name, written in turn.calls
    ]
    made = {"tool_calls": calls} if calls else {}
    reason = "length" if turn.finish == "length" else "stop"
    if is_streamed:
        return stream([*map(piece, turn.text), piece(**made), piece(done=reason)], piece=7)
    return answer(piece(turn.text, done=reason, **made))


def refusal(status: int, said: str) -> Answer:
    """Answer with an error as Ollama writes them."""
    data = json.dumps({"error": said}).encode()
    return lambda exchange: exchange.reply(data, status=status)
