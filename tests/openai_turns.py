"""Turns of a model as chat completions, for the loopback server."""

from engine.conformance import Turn
from openai_server import USAGE, Answer, call, completion, delta, fragment, stream


def say(turn: Turn, *, is_streamed: bool) -> Answer:
    reason = {"stop": "stop", "length": "length", "filtered": "content_filter"}[turn.finish]
    if not is_streamed:
        calls = [call(name, text, call_id=f"c{at}") for at, (name, text) in enumerate(turn.calls)]
        return completion(turn.text, tool_calls=calls or None, finish_reason=reason)
    fragments = [
        piece
        for at, (name, text) in enumerate(turn.calls)
        for piece in (
            fragment("", index=at, call_id=f"c{at}", name=name),
            *(fragment(letter, index=at) for letter in text),
        )
    ]
    letters = [delta(content=letter) for letter in turn.text]
    return stream(*letters, *fragments, delta(reason), USAGE, piece=7)
