"""What every engine must make of the same conversations: scenarios, and how a run is summed up.

A scenario is what the model does turn by turn. Each engine's own server says it in its own wire
format; what comes out of the loop must be the same. `test_conformance.py` runs them.
"""

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from openjarvis import llm
from openjarvis.engine.base import InferenceEngine
from openjarvis.testing import ScriptedEngine, calls_raw, says

THAI = "ฝนจะตกที่เชียงใหม่ 🙂 雨"
LONG = "x" * 100_000


@dataclass(frozen=True)
class Turn:
    """One turn of the model: text, and calls as `(name, arguments)`."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"
    """`stop`, `length` or `filtered`."""


class Record(NamedTuple):
    """What is compared of a call."""

    name: str
    arguments: Any
    outcome: str


@dataclass(frozen=True)
class Scenario:
    """A conversation, and what must come of it."""

    turns: tuple[Turn, ...]
    text: str
    records: tuple[Record, ...] = ()
    heard: tuple[str, ...] = ()
    """What the model must have been told by the last request."""
    finish: llm.FinishReason = llm.FinishReason.STOP
    options: dict[str, Any] = field(default_factory=dict)
    question: str = "Rain?"
    offline_text: str = ""
    """What is answered without a model to the question; "" where it takes a model."""


@llm.tool
def weather(city: str, days: int = 1) -> str:
    """Tell the weather. Call it when the user asks for rain or sun."""
    return f"No rain in {city}."


@llm.tool
def now() -> str:
    """Tell the time. Call it when the user asks for it."""
    return "noon"


@llm.tool
def archive(query: str) -> str:
    """Search the archive. Call it when the user asks for old things."""
    return LONG


@llm.tool
def broken() -> str:
    """Fail. Call it when the user wants a failure."""
    raise llm.ToolError("The station is closed.")


TOOLS = (weather, now, archive, broken)
_OSLO = '{"city": "Oslo"}'
_DRY = "No rain in Oslo."
_RAN = Record("weather", {"city": "Oslo"}, "ran")

SCENARIOS = {
    "no tools": Scenario((Turn("No rain."),), "No rain.", options={"tools": ()}),
    "no call": Scenario((Turn("No rain."),), "No rain."),
    "one call": Scenario(
        (Turn(calls=(("weather", _OSLO),)), Turn("Dry.")),
        "Dry.",
        (_RAN,),
        (_DRY,),
        question='What is the weather in "Oslo"?',
        offline_text=_DRY,
    ),
    "no answer": Scenario((Turn(),), ""),
    "empty arguments": Scenario(
        (Turn(calls=(("now", ""),)), Turn("Noon.")),
        "Noon.",
        (Record("now", {}, "ran"),),
        ("noon",),
        question="What time is it?",
        offline_text="noon",
    ),
    "arguments that are no JSON": Scenario(
        (Turn(calls=(("weather", "{city: Oslo"),)), Turn("Sorry.")),
        "Sorry.",
        (Record("weather", None, "failed"),),
        ("Invalid arguments JSON",),
    ),
    "a call without a name": Scenario(
        (Turn(calls=(("", "{}"),)), Turn("Sorry.")),
        "Sorry.",
        (Record("", None, "unknown_tool"),),
        ("Unknown tool",),
    ),
    "parallel calls with text": Scenario(
        (Turn("Wait.", (("weather", _OSLO), ("now", "{}"))), Turn("Dry at noon.")),
        "Dry at noon.",
        (_RAN, Record("now", {}, "ran")),
        ("Wait.", _DRY, "noon"),
    ),
    "the same call twice in a turn": Scenario(
        (Turn(calls=(("now", "{}"), ("now", "{}"))), Turn("Noon.")),
        "Noon.",
        (Record("now", {}, "ran"),) * 2,
    ),
    "calls in two turns": Scenario(
        (Turn(calls=(("now", "{}"),)), Turn(calls=(("weather", _OSLO),)), Turn("Dry.")),
        "Dry.",
        (Record("now", {}, "ran"), _RAN),
        ("noon", _DRY),
    ),
    "an error": Scenario(
        (Turn(calls=(("broken", "{}"),)), Turn("Closed.")),
        "Closed.",
        (Record("broken", {}, "failed"),),
        ("The station is closed.",),
        question="Show me what is broken.",
        offline_text="The tool broken failed: The station is closed.",
    ),
    "denied": Scenario(
        (Turn(calls=(("weather", _OSLO),)), Turn("A person must ask.")),
        "A person must ask.",
        (Record("weather", {"city": "Oslo"}, "denied"),),
        ("not today",),
        options={"approve": lambda request: llm.Denied("not today")},
        question='What is the weather in "Oslo"?',
        offline_text="not today",
    ),
    "a long result": Scenario(
        (Turn(calls=(("archive", '{"query": "all"}'),)), Turn("Much.")),
        "Much.",
        (Record("archive", {"query": "all"}, "ran"),),
        ("x" * 10_000,),
        question='Search the archive for "all"',
        offline_text="x" * 10_000,
    ),
    "other scripts": Scenario(
        (Turn(THAI, (("weather", json.dumps({"city": THAI}, ensure_ascii=False)),)), Turn(THAI)),
        THAI,
        (Record("weather", {"city": THAI}, "ran"),),
        (f"No rain in {THAI}.",),
        question=f'What is the weather in "{THAI}"?',
        offline_text=f"No rain in {THAI}.",
    ),
    "an unknown tool": Scenario(
        (Turn(calls=(("rm", '{"path": "/"}'),)), Turn("I cannot.")),
        "I cannot.",
        (Record("rm", None, "unknown_tool"),),
        ("Unknown tool",),
    ),
    "wrong arguments": Scenario(
        (Turn(calls=(("weather", '{"town": "Oslo"}'),)), Turn("Sorry.")),
        "Sorry.",
        (Record("weather", None, "failed"),),
        ("city",),
    ),
    "cut off": Scenario((Turn("No ra", finish="length"),), "No ra", finish=llm.FinishReason.LENGTH),
    "cut off in a call": Scenario(
        (Turn(calls=(("now", "{}"),), finish="length"), Turn("Noon.")),
        "Noon.",
        (Record("now", None, "not_run"),),
        ("cut off at max_tokens",),
    ),
    "cut off in the last of two calls": Scenario(
        (Turn(calls=(("weather", _OSLO), ("now", "{}")), finish="length"), Turn("Dry.")),
        "Dry.",
        (_RAN, Record("now", None, "not_run")),
        (_DRY, "cut off at max_tokens"),
    ),
    "filtered": Scenario((Turn(finish="filtered"),), "", finish=llm.FinishReason.CONTENT_FILTER),
    "the steps used up": Scenario(
        (Turn(calls=(("now", "{}"),)), Turn(calls=(("weather", _OSLO),))),
        "",
        (Record("now", {}, "ran"), Record("weather", None, "not_run")),
        finish=llm.FinishReason.TOOL_USE,
        options={"max_steps": 2},
    ),
}

Way = Callable[..., tuple[str, llm.Response]]


def _request(engine: InferenceEngine, scenario: Scenario) -> dict[str, Any]:
    return {
        "engine": engine,
        "model": "m",
        "system": "Be brief.",
        "messages": [llm.user(scenario.question)],
        "tools": TOOLS,
        "max_steps": 5,
        **scenario.options,
    }


def generate(engine: InferenceEngine, scenario: Scenario) -> tuple[str, llm.Response]:
    response = llm.generate(**_request(engine, scenario))
    return _said(response), response


def agenerate(engine: InferenceEngine, scenario: Scenario) -> tuple[str, llm.Response]:
    response = asyncio.run(llm.agenerate(**_request(engine, scenario)))
    return _said(response), response


def stream(engine: InferenceEngine, scenario: Scenario) -> tuple[str, llm.Response]:
    with llm.stream(**_request(engine, scenario)) as run:
        heard = "".join(run)
    return heard, run.response


def astream(engine: InferenceEngine, scenario: Scenario) -> tuple[str, llm.Response]:
    async def collect() -> tuple[str, llm.Response]:
        async with llm.astream(**_request(engine, scenario)) as run:
            heard = "".join([text async for text in run])
        return heard, run.response

    return asyncio.run(collect())


WAYS: tuple[Way, ...] = (generate, agenerate, stream, astream)


def _said(response: llm.Response) -> str:
    return "".join(one.text for one in response.messages if one.role is llm.Role.ASSISTANT)


def check(scenario: Scenario, heard: str, response: llm.Response) -> None:
    """Fail unless a run ended as the scenario says."""
    assert heard == "".join(turn.text for turn in scenario.turns)
    assert response.text == scenario.text
    check_calls(scenario, response)


def check_calls(scenario: Scenario, response: llm.Response) -> None:
    """Fail unless a run made the calls of the scenario, and ended as it says."""
    assert response.finish_reason is scenario.finish
    assert response.steps == len(scenario.turns)
    made = [Record(one.name, one.arguments, one.outcome.value) for one in response.tool_calls]
    read = [one._replace(arguments=None) if one.outcome == "failed" else one for one in made]
    expected = [
        one._replace(arguments=None) if one.outcome == "failed" else one for one in scenario.records
    ]
    assert read == expected
    ids = [one.call_id for one in response.tool_calls]
    assert len(set(ids) - {""}) == len(ids)


def scripted(turns: Iterable[Turn]) -> ScriptedEngine:
    """Return the turns as a script."""
    reasons = {"stop": None, "length": "length", "filtered": "content_filter"}
    return ScriptedEngine(
        [
            [
                *([says(turn.text, finish_reason=reasons[turn.finish])]),
                *(calls_raw(name, text) for name, text in turn.calls),
            ]
            for turn in turns
        ]
    )
