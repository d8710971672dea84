"""Every engine through the loop, against a server that speaks its provider's wire format."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import anthropic_server
import gemini_server
import ollama_server
import openai_server
import openai_turns
from engine import conformance
from engine.conformance import SCENARIOS, WAYS, Turn, Way, check, check_calls, scripted
from gguf_model import model_path
from llamacpp_runner import Runner
from openai_server import Answer, OpenAIServer, Opened
from openjarvis import llm
from openjarvis.engine.anthropic import AnthropicEngine
from openjarvis.engine.base import InferenceEngine, StreamChunk
from openjarvis.engine.gemini import GeminiEngine
from openjarvis.engine.llamacpp import LlamaCppEngine
from openjarvis.engine.offline.engine import OfflineEngine
from openjarvis.engine.ollama import OllamaEngine
from openjarvis.engine.openai import OpenAIEngine
from openjarvis.testing import ScriptedEngine


@dataclass(frozen=True)
class Spoken:
    """An engine, and how its server says turns and refusals."""

    engine: Callable[..., InferenceEngine]
    say: Callable[..., Answer]
    refusal: Callable[..., Answer]
    path: str = ""
    first: tuple[Answer, ...] = ()
    """What the server says before the first turn."""
    never: frozenset[str] = frozenset()
    """The scenarios that its wire format cannot hold."""


OBJECTS_ONLY = frozenset({"arguments that are no JSON"})
"""What cannot be where arguments come as an object."""
SPOKEN = {
    "openai": Spoken(OpenAIEngine, openai_turns.say, openai_server.refusal, "/v1"),
    "anthropic": Spoken(
        AnthropicEngine, anthropic_server.say, anthropic_server.refusal, never=OBJECTS_ONLY
    ),
    "gemini": Spoken(GeminiEngine, gemini_server.say, gemini_server.refusal, never=OBJECTS_ONLY),
    "ollama": Spoken(
        OllamaEngine,
        ollama_server.say,
        ollama_server.refusal,
        first=(ollama_server.shown("tools"),),
        never=OBJECTS_ONLY | {"filtered"},
    ),
}
NEVER_PRINTED = {"arguments that are no JSON", "a call without a name", "an unknown tool"}
"""What no grammar lets a model print, and is plain text where one does."""
TEMPLATES = {"{{ messages }}{{ tools }}": set[str](), "{{ messages }}": NEVER_PRINTED}
PLAYED_HERE = [
    (template, name)
    for template, never in TEMPLATES.items()
    for name in SCENARIOS
    if name not in never
]
PLAYED = [(key, name) for key in SPOKEN for name in SCENARIOS if name not in SPOKEN[key].never]

ASK = [llm.user("Rain?")]

Serve = Callable[..., tuple[OpenAIServer, InferenceEngine]]


@pytest.fixture
def serve(opened: Opened) -> Serve:
    def start(key: str, *answers: Answer, **options: Any) -> tuple[OpenAIServer, InferenceEngine]:
        one = SPOKEN[key]
        return opened(one.engine, *one.first, *answers, path=one.path, **options)

    return start


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("key", "name"), PLAYED)
def test_the_loop_ends_the_same(serve: Serve, key: str, name: str, way: Way) -> None:
    scenario = SCENARIOS[name]
    is_streamed = way in (conformance.stream, conformance.astream)
    turns = [SPOKEN[key].say(turn, is_streamed=is_streamed) for turn in scenario.turns]
    server, engine = serve(key, *turns)

    heard, response = way(engine, scenario)

    check(scenario, heard, response)
    assert response.engine == key
    assert response.usage["completion_tokens"] == 3 * response.steps
    check_told(scenario, server.bodies[-1])


def check_told(scenario: conformance.Scenario, body: dict[str, Any]) -> None:
    """Fail unless the last request held what the model must have been told."""
    told = texts(body)
    wanted = (*scenario.heard, "Be brief.", scenario.question)
    assert [text for text in wanted if not any(text in one for one in told)] == []


def texts(value: Any) -> list[str]:
    """Return the texts in a request."""
    if isinstance(value, str):
        return [value]
    entries = list(value.values()) if isinstance(value, dict) else value
    return [text for entry in entries for text in texts(entry)] if isinstance(entries, list) else []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_script_ends_the_same(name: str, way: Way) -> None:
    engine = scripted(SCENARIOS[name].turns)

    heard, response = way(engine, SCENARIOS[name])

    check(SCENARIOS[name], heard, response)
    engine.assert_exhausted()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("template", "name"), PLAYED_HERE)
def test_a_model_in_this_process_ends_the_same(template: str, name: str, way: Way) -> None:
    scenario = SCENARIOS[name]
    engine = LlamaCppEngine(model_path(), chat_template=template)
    runner = engine._client._runner = Runner(scenario.turns, prints="tools" not in template)

    heard, response = way(engine, scenario)

    check(scenario, heard, response)
    assert response.engine == "llamacpp"
    assert response.usage["completion_tokens"] == 3 * response.steps
    check_told(scenario, runner.bodies[-1])
    engine.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [name for name in SCENARIOS if SCENARIOS[name].offline_text])
def test_without_a_model_the_calls_are_the_same(name: str, way: Way) -> None:
    scenario = SCENARIOS[name]

    heard, response = way(OfflineEngine(), scenario)

    check_calls(scenario, response)
    assert scenario.offline_text in response.text
    assert heard == response.text


@pytest.mark.parametrize("way", [conformance.stream, conformance.astream])
@pytest.mark.parametrize("key", SPOKEN)
def test_a_stream_ends_with_the_whole_reply(serve: Serve, key: str, way: Way) -> None:
    turn = Turn("Wait.", (("now", "{}"),))
    _, engine = serve(key, SPOKEN[key].say(turn, is_streamed=True))

    *pieces, last = streamed(engine, way)

    assert [(piece.text, piece.reply) for piece in pieces] == [(letter, None) for letter in "Wait."]
    assert last.text == ""
    assert last.reply is not None
    assert {"content", "usage", "model", "finish_reason", "tool_calls"} <= last.reply.keys()
    assert (last.reply["content"], last.reply["finish_reason"]) == ("Wait.", "tool_calls")


def streamed(engine: InferenceEngine, way: Way) -> list[StreamChunk]:
    request = {"model": "m", "tools": [conformance.now.to_openai_function()]}

    async def collect() -> list[StreamChunk]:
        return [chunk async for chunk in engine.achunks(ASK, **request)]

    return (
        list(engine.chunks(ASK, **request)) if way is conformance.stream else asyncio.run(collect())
    )


FAILURES = {
    400: "LLM_REQUEST_REJECTED",
    401: "LLM_UNAUTHORIZED",
    429: "LLM_RATE_LIMITED",
    503: "LLM_UNAVAILABLE",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", FAILURES)
@pytest.mark.parametrize("key", SPOKEN)
def test_a_refusal_reaches_the_caller(serve: Serve, key: str, status: int, way: Way) -> None:
    server, engine = serve(key, SPOKEN[key].refusal(status, "because of this"), max_retries=0)

    with pytest.raises(llm.LLMError, match="because of this") as failed:
        way(engine, SCENARIOS["no call"])

    assert failed.value.code == FAILURES[status]
    assert failed.value.status == status
    assert failed.value.retryable is (status in (429, 503))
    assert len(server.requests) == len(SPOKEN[key].first) + 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", FAILURES)
def test_a_refusal_in_a_script_reaches_the_caller(status: int, way: Way) -> None:
    refusal = llm.LLMError(FAILURES[status], "because of this", status, retryable=status >= 429)

    with pytest.raises(llm.LLMError, match="because of this") as failed:
        way(ScriptedEngine([refusal]), SCENARIOS["no call"])

    assert failed.value is refusal


@pytest.mark.parametrize("key", SPOKEN)
def test_what_is_rejected_is_not_tried_again(serve: Serve, key: str) -> None:
    server, engine = serve(key, SPOKEN[key].refusal(400, "no such thing"), max_retries=3)

    with pytest.raises(llm.LLMError, match="no such thing"):
        conformance.generate(engine, SCENARIOS["no call"])

    assert len(server.requests) == len(SPOKEN[key].first) + 1


@pytest.mark.parametrize("key", SPOKEN)
def test_what_may_pass_is_tried_again(serve: Serve, key: str) -> None:
    said = SPOKEN[key].say(Turn("No rain."), is_streamed=False)
    server, engine = serve(key, SPOKEN[key].refusal(503, "overloaded"), said, max_retries=1)

    heard, _ = conformance.generate(engine, SCENARIOS["no call"])

    assert heard == "No rain."
    assert len(server.requests) == len(SPOKEN[key].first) + 2


@pytest.mark.parametrize("way", [conformance.stream, conformance.astream])
@pytest.mark.parametrize("key", SPOKEN)
def test_a_stream_that_breaks_off_is_no_answer(serve: Serve, key: str, way: Way) -> None:
    whole = SPOKEN[key].say(Turn("No rain at all."), is_streamed=True)
    _, engine = serve(key, cut_short(whole), max_retries=0)

    with pytest.raises(llm.LLMError) as failed:
        way(engine, SCENARIOS["no call"])

    assert failed.value.code == "LLM_UNAVAILABLE"
    assert failed.value.retryable


def cut_short(whole: Answer) -> Answer:
    """Return the same answer with the connection closed half-way, in good order."""

    def write(exchange: Any) -> None:
        pieces: list[bytes] = []
        send, exchange.send_chunk = exchange.send_chunk, pieces.append
        whole(exchange)
        exchange.send_chunk = send
        for piece in pieces[: len(pieces) // 2]:
            send(piece)
        send(b"")

    return write


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", SPOKEN)
@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"null", b"<html>", b'{"error": 3}', b"\xff"])
def test_nonsense_is_no_answer(serve: Serve, key: str, body: bytes, way: Way) -> None:
    is_streamed = way in (conformance.stream, conformance.astream)
    said = openai_server.streamed(b"data: " + body + b"\n\n")
    _, engine = serve(key, said if is_streamed else openai_server.raw(body), max_retries=0)

    with pytest.raises(llm.LLMError) as failed:
        way(engine, SCENARIOS["no call"])

    assert failed.value.code == "LLM_UNAVAILABLE"


@pytest.mark.parametrize("key", SPOKEN)
def test_nobody_listening_is_unavailable(key: str) -> None:
    engine = SPOKEN[key].engine("http://127.0.0.1:9", api_key="k" * 10, max_retries=0)

    with pytest.raises(llm.LLMError, match=r"127\.0\.0\.1:9") as failed:
        conformance.generate(engine, SCENARIOS["no call"])

    assert failed.value.code == "LLM_UNAVAILABLE"
    assert not engine.health()
    engine.close()
