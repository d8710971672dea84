"""The same scenarios on every engine: what a loop sees must not depend on who answers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import openai_server as served
from openai_server import Answer, call, completion, delta, fragment, stream
from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.engine.base import InferenceEngine, Reply, StreamChunk
from openjarvis.engine.scripted import ScriptedEngine, Turn, calls, calls_raw, says

TOOLS = [
    {"type": "function", "function": {"name": name, "description": "…", "parameters": {}}}
    for name in ("weather", "now")
]
HISTORY = [
    Message(Role.SYSTEM, "Be brief."),
    Message(Role.USER, "Rain?"),
    Message(Role.ASSISTANT, None, tool_calls=[ToolCall("c1", "now", "{}")]),
    Message(Role.TOOL, "noon", name="now", tool_call_id="c1"),
]
OSLO, LONG = '{"city": "Oslo"}', "ฝนจะตก 🙂 " * 50


@dataclass(frozen=True)
class Scenario:
    """What the model does, as a script has it and as a server sends it, whole and streamed."""

    turn: Turn
    whole: Answer
    streamed: Answer
    text: str
    calls: list[tuple[str, str]]
    finish_reason: str


SCENARIOS = {
    "says": Scenario(
        says("No rain."),
        completion("No rain."),
        stream(delta(content="No "), delta(content="rain."), delta("stop")),
        "No rain.",
        [],
        "stop",
    ),
    "says much, in other scripts": Scenario(
        says(LONG),
        completion(LONG),
        stream(*(delta(content=letter) for letter in LONG), delta("stop"), piece=7),
        LONG,
        [],
        "stop",
    ),
    "says nothing": Scenario(says(""), completion(None), stream(delta("stop")), "", [], "stop"),
    "calls": Scenario(
        calls("weather", city="Oslo"),
        completion(tool_calls=[call("weather", OSLO)], finish_reason="tool_calls"),
        stream(
            fragment("", call_id="a", name="weather"),
            *(fragment(letter) for letter in OSLO),
            delta("tool_calls"),
            piece=1,
        ),
        "",
        [("weather", OSLO)],
        "tool_calls",
    ),
    "says and calls twice": Scenario(
        [says("Wait."), calls("weather", city="Oslo"), calls("now")],
        completion("Wait.", tool_calls=[call("weather", OSLO), call("now", "{}", call_id="b")]),
        stream(
            delta(content="Wait."),
            fragment(OSLO, call_id="a", name="weather"),
            fragment("{}", index=1, call_id="b", name="now"),
            delta("stop"),
        ),
        "Wait.",
        [("weather", OSLO), ("now", "{}")],
        "tool_calls",
    ),
    "calls with arguments that are no JSON": Scenario(
        calls_raw("weather", "{city: Oslo"),
        completion(tool_calls=[call("weather", "{city: Oslo")]),
        stream(fragment("{city: Oslo", call_id="a", name="weather"), delta("stop")),
        "",
        [("weather", "{city: Oslo")],
        "tool_calls",
    ),
    "calls without a name": Scenario(
        calls_raw("", "{}"),
        completion(tool_calls=[call(None, "{}")]),
        stream(fragment("{}", call_id="a"), delta("tool_calls")),
        "",
        [("", "{}")],
        "tool_calls",
    ),
    "calls a tool that was not offered": Scenario(
        calls("rm", path="/"),
        completion(tool_calls=[call("rm", '{"path": "/"}')]),
        stream(fragment('{"path": "/"}', name="rm"), delta("tool_calls")),
        "",
        [("rm", '{"path": "/"}')],
        "tool_calls",
    ),
    "is cut off": Scenario(
        says("No ra", finish_reason="length"),
        completion("No ra", finish_reason="length"),
        stream(delta(content="No ra"), delta("length")),
        "No ra",
        [],
        "length",
    ),
    "is filtered": Scenario(
        says("", finish_reason="content_filter"),
        completion("", finish_reason="content_filter"),
        stream(delta("content_filter")),
        "",
        [],
        "content_filter",
    ),
}

FAILURES = {
    "rejects": (400, LLMErrorCode.REQUEST_REJECTED),
    "refuses the key": (401, LLMErrorCode.UNAUTHORIZED),
    "is asked too often": (429, LLMErrorCode.RATE_LIMITED),
    "fails": (503, LLMErrorCode.UNAVAILABLE),
}

Serve = Callable[..., Any]
Read = Callable[[InferenceEngine], tuple[str, Reply]]


def generate(engine: InferenceEngine) -> tuple[str, Reply]:
    reply = engine.generate(HISTORY, model="m", tools=TOOLS)
    return reply["content"], reply


def agenerate(engine: InferenceEngine) -> tuple[str, Reply]:
    reply = asyncio.run(engine.agenerate(HISTORY, model="m", tools=TOOLS))
    return reply["content"], reply


def chunks(engine: InferenceEngine) -> tuple[str, Reply]:
    return joined(list(engine.chunks(HISTORY, model="m", tools=TOOLS)))


def achunks(engine: InferenceEngine) -> tuple[str, Reply]:
    async def collect() -> list[StreamChunk]:
        return [chunk async for chunk in engine.achunks(HISTORY, model="m", tools=TOOLS)]

    return joined(asyncio.run(collect()))


def joined(pieces: list[StreamChunk]) -> tuple[str, Reply]:
    *texts, last = pieces
    assert last.reply is not None
    assert last.text == ""
    assert all(piece.text and piece.reply is None for piece in texts)
    return "".join(piece.text for piece in texts), last.reply


@pytest.mark.parametrize("read", [generate, agenerate, chunks, achunks])
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("engine_id", ["scripted", "openai"])
def test_the_model(serve: Serve, engine_id: str, name: str, read: Read) -> None:
    scenario = SCENARIOS[name]
    answer = scenario.streamed if read in (chunks, achunks) else scenario.whole
    engine = ScriptedEngine([scenario.turn]) if engine_id == "scripted" else serve(answer)[1]

    text, reply = read(engine)

    assert engine.engine_id == engine_id
    assert text == reply["content"] == scenario.text
    assert reply["finish_reason"] == scenario.finish_reason
    made = reply.get("tool_calls", [])
    assert [(entry["name"], entry["arguments"]) for entry in made] == scenario.calls
    assert len({entry["id"] for entry in made} - {""}) == len(made)
    assert ("tool_calls" in reply) == bool(scenario.calls)
    assert {"content", "usage", "model", "finish_reason"} <= reply.keys()


@pytest.mark.parametrize("read", [generate, agenerate, chunks, achunks])
@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("engine_id", ["scripted", "openai"])
def test_the_provider(serve: Serve, engine_id: str, name: str, read: Read) -> None:
    status, code = FAILURES[name]
    if engine_id == "scripted":
        engine = ScriptedEngine([LLMError(code, "because", status, retryable=status in (429, 503))])
    else:
        engine = serve(served.refusal(status, "because"), max_retries=0)[1]

    with pytest.raises(LLMError, match="because") as failed:
        read(engine)

    assert failed.value.code is code
    assert failed.value.status == status
    assert failed.value.retryable is (status in (429, 503))
