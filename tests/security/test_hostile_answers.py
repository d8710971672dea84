"""Answers that are what they should be, only too many, too deep or of the wrong kind."""

import subprocess
import sys
from typing import Any

import pytest

from openjarvis import llm
from openjarvis.engine.anthropic_messages import AnthropicReading
from openjarvis.engine.errors import LONGEST_WAIT, Server, seconds_to_wait
from openjarvis.engine.responses import ResponsesReading
from openjarvis.llm.loop import MOST_CALLS
from openjarvis.testing import ScriptedEngine, calls, says

SERVER = Server("s")
ODD: list[Any] = [None, True, 0, 1.5, "", "zz", [], [1], {}, {"type": [1]}, [{"x": []}]]

_CHILD = """
import json, signal
from openjarvis.core import strict_json
from openjarvis.engine.anthropic_messages import AnthropicReading
from openjarvis.engine.assembly import Assembly
from openjarvis.engine.errors import Server
from openjarvis.engine.gemini_messages import GeminiReading
SERVER = Server("s")

def chat(pieces):
    assembly = Assembly(server=SERVER)
    for call in pieces:
        assembly.feed({"choices": [{"delta": {"tool_calls": [call]}}]})

def piece(**function):
    return {"function": function}

def claude(delta):
    reading = AnthropicReading(SERVER, "m", (), {})
    for _ in range(100_000):
        reading.feed({"type": "content_block_delta", "index": 0, "delta": delta})
    reading.feed({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
    reading.reply()

def gemini(part):
    reading = GeminiReading(SERVER, "m", (), {})
    for _ in range(100_000):
        reading.feed({"candidates": [{"content": {"parts": [dict(part)]}}]})
    reading.feed({"candidates": [{"finishReason": "STOP"}]})
    reading.reply()

def refused(text):
    try:
        strict_json.loads(text)
    except strict_json.JSONRefused:
        pass

ATTACKS = {
    "calls": lambda: chat({"id": str(n), **piece(name="g", arguments="{}")} for n in range(50_000)),
    "braces": lambda: chat([piece(name="g", arguments='{"a":"x",}')] * 50_000),
    "one brace a piece": lambda: chat([piece(name="g", arguments="}")] * 50_000),
    "an object that does not end": lambda: chat([piece(name="g", arguments='{"a":"}')] * 50_000),
    "a name in pieces": lambda: chat([piece(name="g" * 500)] * 50_000),
    "text": lambda: claude({"text": "x" * 100}),
    "thinking": lambda: claude({"thinking": "x" * 100}),
    "citations": lambda: claude({"citation": {"url": "http://a.example"}}),
    "parts": lambda: gemini({"text": "x" * 100}),
    "thoughts": lambda: gemini({"text": "x" * 100, "thought": True}),
    "brackets": lambda: [refused(text * 250_000) for text in ("[", "{}", "[]", "[[]]", "]", "[{")],
    "nests": lambda: refused("[" + ",".join(["[" * 62 + "]" * 62] * 7_900) + "]"),
}
for name, attack in ATTACKS.items():
    signal.setitimer(signal.ITIMER_VIRTUAL, 4.0)  # of CPU time; the signal ends the process
    attack()
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    print(name, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX timers")
def test_an_answer_takes_no_more_time_than_its_length() -> None:
    child = subprocess.run(
        [sys.executable, "-c", _CHILD], capture_output=True, text=True, timeout=300, check=False
    )

    assert child.returncode == 0, child.stdout + child.stderr
    assert child.stdout.splitlines()[-1] == "nests"


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_block_of_any_kind_is_no_error_of_pythons(odd: Any) -> None:
    blocks = [{"type": odd}, odd, {"type": "text", "text": odd, "citations": odd}]
    whole = {"type": "message", "content": blocks, "stop_reason": "end_turn"}
    reading = AnthropicReading(SERVER, "m", (), {})

    for event in (whole, {"type": odd}, {"type": "content_block_start", "content_block": odd}):
        reading.feed(event)

    assert isinstance(reading.reply()["content"], str)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_an_item_of_any_kind_is_no_error_of_pythons(odd: Any) -> None:
    reading = ResponsesReading(SERVER, "m", (), {})

    for event in ({"type": odd}, odd, {"output": [{"type": odd}, odd, {"type": "message"}]}):
        reading.feed(event)

    assert isinstance(reading.reply()["content"], str)


@pytest.mark.parametrize(
    ("asked", "waited"),
    [("inf", None), ("nan", None), ("-1", None), ("1e308", LONGEST_WAIT), ("1e9", LONGEST_WAIT),
     ("9" * 400, None), ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_WAIT), ("7", 7.0)],
)  # fmt: skip
def test_a_server_may_ask_to_wait_a_day_at_most(asked: str, waited: float | None) -> None:
    assert seconds_to_wait({"retry-after": asked}) == waited


def test_a_turn_has_a_ceiling_of_calls() -> None:
    ran: list[int] = []

    @llm.tool
    def note(number: int) -> str:
        """Note a number. Call it for every number."""
        ran.append(number)
        return "noted"

    wanted = [calls("note", number=number) for number in range(MOST_CALLS + 2)]
    engine = ScriptedEngine([wanted, says("Done.")])

    response = llm.generate(
        messages=[llm.user("Note many")], tools=[note], engine=engine, max_steps=2
    )

    assert sorted(ran) == list(range(MOST_CALLS))
    assert response.text == "Done."
    outcomes = [record.outcome.value for record in response.tool_calls]
    assert outcomes == ["ran"] * MOST_CALLS + ["not_run"] * 2
    assert response.tool_calls[-1].output == (
        f"Not run: a turn may have {MOST_CALLS} calls. Ask for fewer at a time."
    )
    answered = [one.tool_call_id for one in response.messages if one.role is llm.Role.TOOL]
    assert answered == [record.call_id for record in response.tool_calls]
