"""Answers in the documented wire format of Anthropic's Messages API, for the loopback server."""

import json
from collections.abc import Iterable
from typing import Any

from engine.conformance import Turn
from openai_server import Answer, answer, streamed

USAGE = {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 2}
_REASONS = {"stop": "end_turn", "length": "max_tokens", "filtered": "refusal"}


def message(*blocks: dict[str, Any], stop_reason: str = "end_turn", usage: Any = None) -> Answer:
    """Answer with a whole message."""
    return answer(_body(blocks, stop_reason, usage or USAGE))


def _body(blocks: Iterable[Any], stop_reason: str | None, usage: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": list(blocks),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage,
    }


def events(*blocks: dict[str, Any], stop_reason: str = "end_turn") -> list[dict[str, Any]]:
    """Return the events of a streamed message, text and input letter by letter."""
    start = _body((), None, {**USAGE, "output_tokens": 1})
    told: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(blocks):
        opened, deltas = _pieces(block)
        told.append({"type": "content_block_start", "index": index, "content_block": opened})
        told += [{"type": "content_block_delta", "index": index, "delta": one} for one in deltas]
        told.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    told.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}})
    told.append({"type": "message_stop"})
    return told


def _pieces(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    kind = block["type"]
    if kind == "text":
        deltas = [{"type": "text_delta", "text": letter} for letter in block["text"]]
        deltas += [
            {"type": "citations_delta", "citation": one} for one in block.get("citations", ())
        ]
        return {"type": "text", "text": ""}, deltas
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": letter} for letter in block["thinking"]]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if kind in ("tool_use", "server_tool_use"):
        given = block["input"]
        written = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        deltas = [{"type": "input_json_delta", "partial_json": letter} for letter in written]
        return {**block, "input": {}}, deltas
    return block, []


def stream(told: Iterable[dict[str, Any]], **options: Any) -> Answer:
    """Answer with events."""
    lines = (
        f"event: {one['type']}\ndata: {json.dumps(one, ensure_ascii=False)}\n\n" for one in told
    )
    return streamed("".join(lines).encode(), **options)


def _blocks(turn: Turn) -> list[dict[str, Any]]:
    said = [{"type": "text", "text": turn.text}] if turn.text else []
    return said + [
        {"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": json.loads(given or "{}")}
        for at, (name, given) in enumerate(turn.calls)
    ]


def say(turn: Turn, *, is_streamed: bool) -> Answer:
    """Return a turn as the server would say it."""
    made_calls = turn.calls and turn.finish == "stop"
    reason = "tool_use" if made_calls else _REASONS[turn.finish]
    if is_streamed:
        return stream(events(*_blocks(turn), stop_reason=reason), piece=7)
    return message(*_blocks(turn), stop_reason=reason)


def refusal(status: int, said: str, **headers: str) -> Answer:
    """Answer with an error as Anthropic writes them."""
    body = {"type": "error", "error": {"type": "test_error", "message": said}}
    data = json.dumps(body).encode()
    return lambda exchange: exchange.reply(data, status=status, headers=headers)
