"""The `offline` engine: what it calls, what it says, and that it makes nothing up."""

import asyncio
import json
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from offline_table import HELD_OUT, LATE, LATE_SPECS, SECOND, SPECS, TUNED, Row
from openjarvis import llm
from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message, Role, ToolCall, ToolResult
from openjarvis.engine.base import Reply
from openjarvis.engine.offline.engine import OfflineEngine
from openjarvis.engine.offline.notice import HOW_TO_GET_ONE, NOTICE
from openjarvis.toolkit.base import BaseTool, ToolSpec, openai_function
from openjarvis.tools.calculator import CalculatorTool, safe_eval
from openjarvis.tools.llm_tool import LLMTool
from openjarvis.tools.think import ThinkTool

TODAY = date(2026, 1, 15)
ENGINE = OfflineEngine(today=lambda: TODAY)
NOTHING_FITS = (
    "No language model is available, and none of the tools fits this request. What there is:"
)


def user(text: str | None) -> Message:
    return Message(Role.USER, text)


def reply_to(request: str, specs: Sequence[ToolSpec] = SPECS) -> Reply:
    return ENGINE.generate([user(request)], specs=specs)


def called(reply: Reply) -> tuple[str, dict[str, Any]] | None:
    calls = reply.get("tool_calls")
    return (calls[0]["name"], json.loads(calls[0]["arguments"])) if calls else None


def is_right(row: Row, call: tuple[str, Mapping[str, Any]] | None) -> bool:
    if call is None or row.tool is None:
        return call is None and row.tool is None
    name, arguments = call
    return (
        name == row.tool
        and arguments.keys() == row.arguments.keys()
        and all(_agrees(key, arguments[key], wanted) for key, wanted in row.arguments.items())
    )


def _agrees(key: str, given: Any, wanted: Any) -> bool:
    if key == "expression":
        return math.isclose(safe_eval(given), wanted)
    return given in wanted if isinstance(wanted, set) else bool(given == wanted)


@pytest.mark.parametrize(
    ("rows", "specs"),
    [(TUNED, SPECS), (HELD_OUT, SPECS), (SECOND, LATE_SPECS), (LATE, LATE_SPECS)],
    ids=["tuned", "held out", "second", "late"],
)
def test_nine_of_ten_requests_get_the_call_that_is_right(
    rows: list[Row], specs: list[ToolSpec]
) -> None:
    calls = [called(reply_to(row.request, specs)) for row in rows]

    wrong = [
        f"{row.request!r}: {call} instead of {row.tool} {row.arguments}"
        for row, call in zip(rows, calls, strict=True)
        if not is_right(row, call)
    ]
    print(f"{len(rows) - len(wrong)} of {len(rows)} right", *wrong, sep="\n")
    assert len(wrong) <= len(rows) / 10, wrong


def test_no_tool_is_called_where_none_fits() -> None:
    rows = [row for row in [*TUNED, *HELD_OUT, *SECOND, *LATE] if row.tool is None]

    called_anyway = {row.request: called(reply_to(row.request, LATE_SPECS)) for row in rows}

    assert len(rows) >= 20
    assert [item for item in called_anyway.items() if item[1] is not None] == []


def test_the_table_is_as_large_as_it_is_meant_to_be() -> None:
    rows = [*TUNED, *HELD_OUT]
    thai_or_chinese = [row for row in rows if max(row.request) > "\u0e00"]

    assert len(rows) - len(thai_or_chinese) >= 60
    assert len(thai_or_chinese) >= 20
    assert len(HELD_OUT) >= len(rows) / 3
    assert len({row.request for row in rows}) == len(rows)


def test_what_is_said_is_only_that_nothing_fits_and_what_the_tools_say_of_themselves() -> None:
    usable = [spec for spec in LATE_SPECS if spec.name != "llm"]
    rows = [*TUNED, *HELD_OUT, *SECOND, *LATE]
    replies = [reply_to(row.request, LATE_SPECS) for row in rows]

    for reply in replies:
        if reply.get("tool_calls"):
            assert reply["content"] == ""
            continue
        first, *lines, last = reply["content"].split("\n")
        assert (first, last) == (NOTHING_FITS, HOW_TO_GET_ONE)
        for line, spec in zip(lines, usable, strict=True):
            name, _, sentence = line.removeprefix("- ").partition(": ")
            assert name == spec.name
            assert " ".join(spec.description.split()).startswith(sentence)


def test_a_request_of_the_demo_is_answered_with_the_tools_result() -> None:
    response = llm.generate(
        messages=[llm.user("What is 15% of 340?")],
        tools=[CalculatorTool()],
        engine=ENGINE,
        max_steps=3,
    )

    (call,) = response.tool_calls
    assert call.arguments == {"expression": "15/100*340"}
    assert response.text == call.output
    assert float(response.text) == 51
    assert response.steps == 2


def test_a_call_has_its_own_id_no_usage_and_the_engines_name() -> None:
    replies = [reply_to("2+2") for _ in range(50)]

    assert len({reply["tool_calls"][0]["id"] for reply in replies}) == 50
    for reply in replies:
        assert reply["finish_reason"] == "tool_calls"
        assert reply["model"] == "offline"
        assert reply["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def test_the_same_request_gets_the_same_call() -> None:
    assert {str(called(reply_to("Is it raining in Oslo?"))) for _ in range(5)} == {
        "('weather', {'city': 'Oslo'})"
    }


def test_several_results_are_joined_in_order_and_a_failed_one_is_told_as_such() -> None:
    asked = Message(Role.ASSISTANT, "", tool_calls=[ToolCall("1", "a", "{}")])
    older = Message(Role.TOOL, "old", name="a", tool_call_id="0")
    first = Message(Role.TOOL, "51", name="calculator", tool_call_id="1")
    second = Message(
        Role.TOOL, "no such city", name="weather", tool_call_id="2", metadata={"success": False}
    )

    reply = ENGINE.generate([user("x"), older, asked, first, second], specs=SPECS)

    assert reply["content"] == "51\n\nThe tool weather failed: no such city"
    assert reply["finish_reason"] == "stop"
    assert "tool_calls" not in reply


def test_without_tools_it_says_how_to_get_a_language_model() -> None:
    reply = ENGINE.generate([user("What is 2+2?")])

    assert reply["content"] == (
        f"No language model is available, and there are no tools to run. {HOW_TO_GET_ONE}"
    )
    assert reply["finish_reason"] == "stop"


def test_the_notice_is_one_line_that_says_what_happened_and_what_to_do() -> None:
    assert "\n" not in NOTICE
    assert "No language model answered" in NOTICE
    assert HOW_TO_GET_ONE in NOTICE


def test_without_specs_the_definitions_are_read() -> None:
    definitions = [openai_function(spec) for spec in SPECS if spec.name != "llm"]

    reply = ENGINE.generate([user("Weather forecast for Tokyo please")], tools=definitions)

    assert called(reply) == ("weather", {"city": "Tokyo"})


def test_a_tool_that_needs_a_model_is_neither_called_nor_listed() -> None:
    reply = reply_to('Ask a language model "why?"', [LLMTool().spec, CalculatorTool().spec])

    assert called(reply) is None
    assert "- llm" not in reply["content"]
    assert "- calculator" in reply["content"]


@pytest.mark.parametrize(
    ("request_text", "call"),
    [
        ("Weather forecast for Mexico City", ("weather", {"city": "Mexico City"})),
        ("Roll 2 dice with 20 sides", ("roll_dice", {"sides": 20, "count": 2})),
        ("Turn it into 250 USD", None),
        ("Set the kitchen to -18 degrees", None),
        ("What time is it in Tokyo?", None),
        ("Set the kitchen to 18 degrees", ("set_thermostat", {"room": "kitchen", "degrees": 18})),
        ("Set the kitchen to 50 degrees", None),
        ("Weather forecast for Oslo tomorrow", ("weather", {"city": "Oslo"})),
        ("天气怎么样呢", None),
        ("广西的天气怎么样呢", ("weather", {"city": "广西"})),
    ],
)
def test_arguments_are_what_the_request_says_or_nothing_is_called(
    request_text: str, call: tuple[str, dict[str, Any]] | None
) -> None:
    assert called(reply_to(request_text, LATE_SPECS)) == call


def test_the_sample_of_a_parameter_is_still_a_value_and_shows_what_values_look_like() -> None:
    code = {"type": "string", "description": "currency code, e.g. USD"}
    spec = _spec("rate", "Tell the exchange rate of two currencies.", source=code, target=code)

    assert called(reply_to("exchange rate from USD to SEK", [spec])) == (
        "rate",
        {"source": "USD", "target": "SEK"},
    )
    assert called(reply_to("exchange rate from bananas to pears", [spec])) is None


def test_a_text_that_could_be_anything_does_not_make_a_date_a_reminder() -> None:
    day = {"type": "string", "format": "date"}
    spec = _spec("remind", "Create a reminder for a day.", text={"type": "string"}, date=day)

    assert called(reply_to("flights from Bangkok to Tokyo tomorrow", [spec])) is None
    assert called(reply_to("Create a reminder to call Ann tomorrow", [spec])) == (
        "remind",
        {"text": "call Ann", "date": "2026-01-16"},
    )


def test_a_tool_with_one_text_is_not_called_without_it() -> None:
    spec = ThinkTool().spec
    assert "required" not in spec.parameters

    assert called(reply_to("Think about the door", [spec])) == ("think", {"thought": "the door"})
    assert called(reply_to("Think", [spec])) is None


@pytest.mark.parametrize("name", ["calculator", "sums", "werkzeug_7"])
def test_a_calculator_is_known_by_its_spec_whatever_its_name(name: str) -> None:
    spec = replace(CalculatorTool().spec, name=name)

    assert called(reply_to("what is 3 times 4", [spec])) == (name, {"expression": "3*4"})


def test_an_expression_of_another_kind_is_no_arithmetic() -> None:
    schema = {
        "type": "object",
        "properties": {"expression": {"type": "string", "description": "a cron expression"}},
        "required": ["expression"],
    }
    cron = ToolSpec("plan", "Plan when something runs.", schema)

    assert called(reply_to("2+2", [cron])) is None


@pytest.mark.parametrize(
    "request_text",
    [
        "Don't read notes.txt",
        "do not delete notes.txt",
        "อย่าอ่านไฟล์ notes.txt",
        "不要读取文件 notes.txt",
    ],
)
def test_what_is_forbidden_is_not_done(request_text: str) -> None:
    assert called(reply_to(request_text)) is None


def test_a_path_alone_is_not_given_to_one_of_two_tools_by_chance() -> None:
    path = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    specs = [
        ToolSpec("read_it", "Read a file.", path),
        ToolSpec("delete_it", "Delete a file.", path),
    ]

    assert called(reply_to("notes.txt", specs)) is None
    assert called(reply_to("notes.txt", specs[:1])) == ("read_it", {"path": "notes.txt"})
    assert called(reply_to("delete notes.txt", specs)) == ("delete_it", {"path": "notes.txt"})


def test_arguments_that_the_schema_refuses_are_not_sent() -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 4}},
        "required": ["city"],
    }
    spec = ToolSpec("weather", "Tell the weather of a city.", schema)

    assert called(reply_to("weather in Oslo", [spec])) == ("weather", {"city": "Oslo"})
    assert called(reply_to("weather in Singapore", [spec])) is None


def test_a_number_is_for_the_argument_whose_word_follows_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "sides": {"type": "integer"},
            "dice": {"type": "integer"},
        },
        "required": ["sides"],
    }
    spec = ToolSpec("roll", "Roll dice.", schema)

    assert called(reply_to("Roll 2 dice with 20 sides", [spec])) == (
        "roll",
        {"dice": 2, "sides": 20},
    )
    assert called(reply_to("Roll 2 dice", [spec])) is None


def test_two_arguments_of_one_enum_are_told_apart_by_the_words_before_them() -> None:
    unit = {"type": "string", "enum": ["km", "miles"]}
    schema = {
        "type": "object",
        "properties": {"value": {"type": "number"}, "from_unit": unit, "to_unit": unit},
        "required": ["value", "from_unit", "to_unit"],
    }
    spec = ToolSpec("convert", "Convert a value from one unit to another.", schema)

    assert called(reply_to("Convert 5 km to miles", [spec])) == (
        "convert",
        {"from_unit": "km", "to_unit": "miles", "value": 5},
    )
    assert called(reply_to("Convert to miles: 5 km", [spec])) == (
        "convert",
        {"from_unit": "km", "to_unit": "miles", "value": 5},
    )


def test_lists_flags_and_programs_are_taken_as_they_are_written() -> None:
    numbers = _spec("median", "Tell the median of numbers.", numbers=_list("number"))
    tags = _spec("tag", "Tag the picture.", tags=_list("string"))
    run = _spec("python", "Run Python code.", code={"type": "string", "description": "code to run"})
    wipe = _spec("wipe", "Wipe the disk.", dry_run={"type": "boolean"})

    assert called(reply_to("median of 3, 9 and 4.5", [numbers])) == (
        "median",
        {"numbers": [3, 9, 4.5]},
    )
    assert called(reply_to("Tag the picture 'sea' and 'sun'", [tags])) == (
        "tag",
        {"tags": ["sea", "sun"]},
    )
    assert called(reply_to("Run this code: ```python\nprint(1)\n```", [run])) == (
        "python",
        {"code": "print(1)"},
    )
    assert called(reply_to("Wipe the disk, dry run", [wipe])) == ("wipe", {"dry_run": True})
    assert called(reply_to("Wipe the disk without dry run", [wipe])) == ("wipe", {"dry_run": False})


def _spec(name: str, description: str, **properties: Any) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSpec(name, description, schema)


def _list(kind: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": kind}}


def test_a_text_past_the_part_that_is_read_is_kept_whole() -> None:
    story = "a" + " long story" * 1_000

    call = called(reply_to(f"Remember that {story}"))

    assert call == ("memory_store", {"content": story})


def test_arithmetic_that_may_go_on_in_the_part_that_is_not_read_is_left_alone() -> None:
    filler = "is" + " " * 1_993

    assert called(reply_to(f"{filler}12+34")) == ("calculator", {"expression": "12+34"})
    assert called(reply_to(f"{filler}12+345")) is None


@pytest.mark.parametrize(
    "messages",
    [[], [Message(Role.SYSTEM, "Be brief.")], [user(None)], [user("  \n")], [user("\x00\ud800")]],
    ids=["none", "no user", "no text", "blank", "no characters"],
)
def test_a_conversation_without_a_request_gets_the_honest_answer(messages: list[Message]) -> None:
    assert ENGINE.generate(messages, specs=SPECS)["content"].startswith(NOTHING_FITS)


@pytest.mark.parametrize(
    "parameters",
    [
        None,
        [],
        {"properties": []},
        {"required": 5},
        {"required": ["x"]},
        {"properties": {"x": True, "y": None}, "required": ["x"]},
        {"properties": {"x": {"enum": []}}, "required": ["x"]},
        {"properties": {"x": {"enum": [None, {"a": 1}]}}, "required": ["x"]},
        {"properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"$ref": "#/$defs/X"}}},
        {"properties": {"x": {"type": "integer", "minimum": "low"}}, "required": ["x"]},
        {"properties": {"x": {"type": "string", "pattern": "("}}, "required": ["x"]},
        {"properties": {"x": {"type": "object"}}, "required": ["x"]},
    ],
)
def test_a_schema_of_any_shape_does_not_disturb_the_others(parameters: Any) -> None:
    odd = ToolSpec("odd", "Odd.", parameters, examples=[None, 5, ("a",), ("x", None), ""])  # type: ignore[list-item]

    reply_to("odd 3 'x'", [odd])

    assert called(reply_to("2+2", [odd, *SPECS])) == ("calculator", {"expression": "2+2"})


def test_a_request_among_thirty_tools_takes_milliseconds() -> None:
    specs = [*SPECS, *(replace(spec, name=f"{spec.name}_2") for spec in SPECS)][:30]
    requests = [row.request for row in TUNED]
    for request in requests:
        reply_to(request, specs)

    durations = []
    for request in requests:
        started = time.process_time()
        reply_to(request, specs)
        durations.append(time.process_time() - started)

    assert statistics.median(durations) < 0.005


def test_it_is_registered_as_offline_and_is_always_there() -> None:
    engine = EngineRegistry.create("offline")

    assert engine.engine_id == "offline"
    assert engine.takes_specs
    assert engine.health()
    assert engine.list_models() == ["offline"]


async def _stream(engine: OfflineEngine) -> list[str]:
    return [text async for text in engine.stream([user("hello")], specs=SPECS)]


def test_it_streams_what_it_says() -> None:
    assert "".join(asyncio.run(_stream(ENGINE))) == reply_to("hello")["content"]


class Echo(BaseTool):
    """A tool that gives back what it got."""

    @property
    def spec(self) -> ToolSpec:
        return _spec("echo", "Repeat a text.", text={"type": "string"})

    def execute(self, **params: Any) -> ToolResult:
        return ToolResult("echo", params["text"])


def test_a_call_runs_at_most_once_in_a_conversation_turn() -> None:
    response = llm.generate(
        messages=[llm.user('Repeat "echo echo 2+2"')],
        tools=[Echo(), CalculatorTool()],
        engine=ENGINE,
        max_steps=5,
    )

    assert response.text == "echo echo 2+2"
    assert [call.name for call in response.tool_calls] == ["echo"]
