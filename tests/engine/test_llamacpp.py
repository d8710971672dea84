"""The engine on the real llama.cpp and a real, very small model."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gguf_model import model_path
from openjarvis import llm
from openjarvis.core.types import Message, Role
from openjarvis.engine.llamacpp import LlamaCppEngine
from openjarvis.toolkit.check import Checker

ASK = [Message(Role.USER, "What is the weather in Oslo for 3 days?")]
TEXT = {"type": "string", "maxLength": 20}
NODE = {
    "type": "object",
    "properties": {"value": {"type": "number"}, "unit": {"enum": ["m", "km"]}},
    "required": ["value", "unit"],
    "additionalProperties": False,
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "text": {"city": TEXT},
    "number and truth": {"days": {"type": "integer"}, "celsius": {"type": "boolean"}},
    "a bounded number": {"percent": {"type": "number", "minimum": 0, "maximum": 100}},
    "one of a few": {"unit": {"enum": ["celsius", "fahrenheit", "เคลวิน"]}},
    "a list": {"cities": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3}},
    "a nested object": {
        "place": {
            "type": "object",
            "properties": {"city": TEXT, "country": {"type": "string", "pattern": "^[A-Z]{2}$"}},
            "required": ["city", "country"],
            "additionalProperties": False,
        }
    },
    "a union": {"when": {"anyOf": [{"type": "integer"}, TEXT, {"type": "null"}]}},
    "a date": {"day": {"type": "string", "format": "date"}},
    "one that refers": {"from": {"$ref": "#/$defs/Node"}, "to": {"$ref": "#/$defs/Node"}},
}


def definition(parameters: dict[str, Any]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": parameters,
        "required": list(parameters),
        "$defs": {"Node": NODE},
    }
    function = {"name": "report", "description": "Report the weather.", "parameters": schema}
    return {"type": "function", "function": function}


@pytest.fixture(scope="module")
def engine() -> Iterator[LlamaCppEngine]:
    made = LlamaCppEngine(model_path(), context_length=2048, threads=1)
    yield made
    made.close()


def test_a_question_is_answered_with_text_and_counted_tokens(engine: LlamaCppEngine) -> None:
    reply = engine.generate([Message(Role.USER, "Say hello.")], max_tokens=8, temperature=0)

    assert reply["content"]
    assert reply["finish_reason"] in ("stop", "length")
    assert 0 < reply["usage"]["completion_tokens"] <= 8
    assert engine.list_models() == [reply["model"]] or reply["model"]


def test_a_stream_gives_what_the_whole_answer_says(engine: LlamaCppEngine) -> None:
    ask = [Message(Role.USER, "Say hello.")]

    *pieces, last = engine.chunks(ask, max_tokens=8, temperature=0)

    assert last.reply is not None
    assert len(pieces) > 1
    assert "".join(piece.text for piece in pieces) == last.reply["content"]
    assert last.reply["usage"]["completion_tokens"] <= 8


@pytest.mark.parametrize("name", SCHEMAS)
def test_ten_calls_of_ten_are_valid(engine: LlamaCppEngine, name: str) -> None:
    tool = definition(SCHEMAS[name])
    checker = Checker(tool["function"]["parameters"])

    for seed in range(10):
        reply = engine.generate(
            ASK, tools=[tool], tool_choice="required", seed=seed, temperature=1.0, max_tokens=300
        )

        assert reply["finish_reason"] == "tool_calls", reply
        [call] = reply["tool_calls"]
        assert call["name"] == "report"
        checker.check(json.loads(call["arguments"]))


def test_a_schema_that_holds_itself_comes_to_an_end(engine: LlamaCppEngine) -> None:
    inner = {"anyOf": [{"$ref": "#/$defs/Chain"}, {"type": "null"}]}
    chain = {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 5}, "inner": inner},
        "required": ["name", "inner"],
        "additionalProperties": False,
    }
    tool = definition({"chain": {"$ref": "#/$defs/Chain"}})
    tool["function"]["parameters"]["$defs"]["Chain"] = chain
    checker = Checker(tool["function"]["parameters"])

    for seed in range(3):
        reply = engine.generate(
            ASK, tools=[tool], tool_choice="required", seed=seed, temperature=1.0, max_tokens=300
        )

        assert reply["finish_reason"] == "tool_calls", reply
        checker.check(json.loads(reply["tool_calls"][0]["arguments"]))


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_call_that_max_tokens_cuts_off_never_runs(
    engine: LlamaCppEngine, is_streamed: bool
) -> None:
    ran: list[str] = []

    @llm.tool
    def report(city: str, weather: str = "dry") -> str:
        """Report the weather. Call it when the user asks for it."""
        ran.append(city)
        return "Reported."

    request = {
        "messages": ASK,
        "tools": [report],
        "engine": engine,
        "max_tokens": 16,
        "max_steps": 2,
        "engine_options": {"tool_choice": "required", "seed": 1},
    }
    if is_streamed:
        with llm.stream(**request) as run:
            assert "tool_call" not in "".join(run)
        response = run.response
    else:
        response = llm.generate(**request)

    assert ran == []
    first, last = response.tool_calls
    assert (first.name, first.outcome) == ("report", "not_run")
    assert "cut off at max_tokens" in first.output
    assert last.outcome == "not_run"
    assert response.finish_reason is llm.FinishReason.LENGTH


def test_examples_show_the_model_how_to_call(engine: LlamaCppEngine) -> None:
    seen: list[str] = []

    @llm.tool(
        "weather",
        "Tell the weather. Call it when the user asks for it.",
        examples=[
            ("What is the weather in London for 2 days?", {"city": "London", "days": 2}),
            ("What is the weather in Paris for 5 days?", {"city": "Paris", "days": 5}),
        ],
    )
    def weather(city: str, days: int) -> str:
        seen.append(f"{city} {days}")
        return "Dry."

    response = llm.generate(
        messages=[llm.user("What is the weather in Oslo for 3 days?")],
        tools=[weather],
        engine=engine,
        temperature=0,
        max_tokens=60,
        max_steps=2,
    )

    assert seen == ["Oslo 3"]
    assert response.steps == 2
    assert response.tool_calls[0].output == "Dry."


def test_leaving_a_stream_stops_the_generation(engine: LlamaCppEngine) -> None:
    endless = [Message(Role.USER, "Count from 1 to 10000.")]

    chunks = engine.chunks(endless, max_tokens=2000, ignore_eos=True)
    next(iter(chunks))
    chunks.close()

    # Requests take turns: a generation that ran on would keep this one waiting for minutes.
    assert engine.generate([Message(Role.USER, "Hi")], max_tokens=2)["finish_reason"] == "length"


def test_a_cancelled_task_stops_the_generation(engine: LlamaCppEngine) -> None:
    async def begin_and_cancel() -> None:
        asking = engine.agenerate(ASK, max_tokens=2000, ignore_eos=True)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asking, 0.2)

    asyncio.run(begin_and_cancel())

    assert engine.generate([Message(Role.USER, "Hi")], max_tokens=2)["finish_reason"] == "length"


SHOWN = "".join(
    f"<|im_start|>user\\nWhat is the weather in {city}?<|im_end|>\\n<|im_start|>assistant\\n"
    f'<tool_call>\\n{{"name": "report", "arguments": {{"city": "{city}"}}}}\\n</tool_call>'
    "<|im_end|>\\n"
    for city in ("London", "Paris", "Rome", "Berlin")
)
TEMPLATE = (
    "{%- if tools %}{{- '<|im_start|>system\\n# Tools\\n<tools>' }}"
    "{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}"
    "{{- '\\n</tools>\\nFor each function call, return a json object within <tool_call></tool_call>"
    "<|im_end|>\\n' }}" + "{{- '" + SHOWN + "' }}" + "{%- endif %}{%- for message in messages %}"
    "{%- if message.role == 'tool' %}"
    "{{- '<|im_start|>user\\n<tool_response>\\n' + message.content }}"
    "{{- '\\n</tool_response><|im_end|>\\n' }}"
    "{%- else %}{{- '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.content %}{{- message.content }}{%- endif %}"
    "{%- for tool_call in message.tool_calls or [] %}"
    '{{- \'<tool_call>\\n{"name": "\' + tool_call.function.name + \'", "arguments": \' }}'
    "{{- tool_call.function.arguments | tojson }}{{- '}\\n</tool_call>' }}{%- endfor %}"
    "{{- '<|im_end|>\\n' }}{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)


def test_a_template_that_knows_tools_offers_them_and_reads_the_calls() -> None:
    engine = LlamaCppEngine(model_path(), context_length=2048, threads=1, chat_template=TEMPLATE)
    ask = [Message(Role.USER, "What is the weather in Oslo?")]

    reply = engine.generate(ask, tools=[definition({"city": TEXT})], temperature=0, max_tokens=60)

    assert reply["finish_reason"] == "tool_calls", reply
    assert [call["name"] for call in reply["tool_calls"]] == ["report"]
    assert json.loads(reply["tool_calls"][0]["arguments"]) == {"city": "Oslo"}
    engine.close()


def test_what_does_not_fit_the_context_is_refused_with_the_numbers(engine: LlamaCppEngine) -> None:
    with pytest.raises(llm.LLMError, match=r"context size \(2048") as failed:
        engine.generate([Message(Role.USER, "word " * 5000)])

    assert failed.value.code == "LLM_REQUEST_REJECTED"


@pytest.mark.parametrize(
    "content", [b"", b"GGUF", b"<html>", b"GGUF\x03\0\0\0" + b"\xff" * 16, b"GGUF" + b"\0" * 99]
)
def test_a_file_that_is_no_model_is_refused_where_the_engine_is_made(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "no.gguf").write_bytes(content)

    with pytest.raises(llm.LLMError, match="no GGUF model") as failed:
        LlamaCppEngine(tmp_path / "no.gguf")

    assert failed.value.code == "LLM_INVALID_REQUEST"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(llm.LLMError, match=r"gone\.gguf.*No such file"):
        LlamaCppEngine(tmp_path / "gone.gguf")


def test_a_model_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    with model_path().open("rb") as file:
        (tmp_path / "cut.gguf").write_bytes(file.read(4_000_000))
    engine = LlamaCppEngine(tmp_path / "cut.gguf")

    with pytest.raises(llm.LLMError, match="cut short") as failed:
        engine.generate(ASK)

    assert failed.value.code == "LLM_INVALID_REQUEST"


_LONG = "Tell me a long story about a dog. " * 60
_BROKEN_OFF = {
    "a cancelled wait": """
async def main():
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(llm.agenerate(messages=ask, engine=engine, max_tokens=300), 0.5)
asyncio.run(main())
""",
    "a stream left and closed": """
with llm.stream(messages=[llm.user("Tell a story.")], engine=engine, max_tokens=300) as stream:
    next(iter(stream))
engine.close()
""",
    "a stream left": """
stream = llm.stream(messages=[llm.user("Tell a story.")], engine=engine, max_tokens=300)
next(iter(stream))
""",
    "an interrupt": """
signal.setitimer(signal.ITIMER_REAL, 0.5)
signal.signal(signal.SIGALRM, signal.default_int_handler)
with contextlib.suppress(KeyboardInterrupt):
    llm.generate(messages=ask, engine=engine, max_tokens=300)
""",
}


@pytest.mark.parametrize("how", list(_BROKEN_OFF))
def test_a_process_ends_well_while_an_answer_is_stopped(how: str) -> None:
    script = (
        "import asyncio, contextlib, signal, sys\n"
        "from openjarvis import llm\n"
        "from openjarvis.engine.llamacpp import LlamaCppEngine\n"
        "engine = LlamaCppEngine(sys.argv[1], context_length=2048, threads=1)\n"
        f"ask = [llm.user({_LONG!r})]\n{_BROKEN_OFF[how]}\nprint('over')\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, str(model_path())],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "over\n"), done.stderr[-2000:]
