"""What stands in place of llama.cpp in a test: it says written turns, in the pieces of a stream."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from engine.conformance import Turn
from openai_server import USAGE, delta, fragment
from openjarvis.engine.text_protocol import written_call


class Runner:
    """Speaks as `xllamacpp.Server` does; `bodies` holds what it was asked.

    A model that `prints` its calls is one whose template knows no tools.
    """

    def __init__(self, turns: Iterable[Turn], *, prints: bool) -> None:
        self._turns = map(printed, turns) if prints else iter(turns)
        self.bodies: list[dict[str, Any]] = []

    def handle_chat_completions(
        self, body: dict[str, Any], hear: Callable[[dict[str, Any]], bool]
    ) -> None:
        """Hand the pieces of the next turn to `hear`, until it says to stop."""
        self.bodies.append(json.loads(json.dumps(body)))
        for piece in pieces(next(self._turns)):
            if hear(piece):
                return


def printed(turn: Turn) -> Turn:
    """Return a turn with its calls as text."""
    calls = [written_call(name, written) for name, written in turn.calls]
    return replace(turn, text="".join([turn.text, *calls]), calls=())


def pieces(turn: Turn) -> list[dict[str, Any]]:
    """Return a turn as the pieces of a stream, in OpenAI's form, text and arguments by letter."""
    said = [delta(content=letter) for letter in turn.text]
    for at, (name, written) in enumerate(turn.calls):
        said.append(fragment("", index=at, call_id=f"c{at}", name=name))
        said += [fragment(letter, index=at) for letter in written]
    reason = {"filtered": "content_filter"}.get(turn.finish, turn.finish)
    return [*said, delta("tool_calls" if turn.calls and reason == "stop" else reason), USAGE]
