import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openjarvis.engine.text_calls import find_cut_calls, find_text_calls, parameters_of

OFFERED = {"weather": ["city", "days"], "now": [], "get-time": ["zone"]}
OSLO = '{"name": "weather", "arguments": {"city": "Oslo"}}'
ROME = '{"name": "weather", "parameters": {"city": "Rome"}}'


def found(text: str) -> tuple[str, list[tuple[str, Any]]] | None:
    calls = find_text_calls(text, OFFERED)
    if calls is None:
        return None
    return calls.text, [(call.name, json.loads(call.arguments)) for call in calls.calls]


ONE = [("weather", {"city": "Oslo"})]
BOTH = [*ONE, ("weather", {"city": "Rome"})]


@pytest.mark.parametrize(
    ("text", "before", "calls"),
    [
        (f"<tool_call>{OSLO}</tool_call>", "", ONE),
        (f"  <tool_call>\n{OSLO}\n</tool_call>\n\n", "", ONE),
        (f"I look.\n<tool_call>{OSLO}</tool_call>", "I look.", ONE),
        (f"<think>Hm.</think><tool_call>{OSLO}</tool_call>", "<think>Hm.</think>", ONE),
        (f"<tool_call>{OSLO}</tool_call>\n<tool_call>{ROME}</tool_call>", "", BOTH),
        (f"<tool_call>[{OSLO}, {ROME}]</tool_call>", "", BOTH),
        (f"<tool_call>{OSLO}", "", ONE),
        (f"<tool_call>{OSLO}</tool_call>\n<tool_call>{ROME}", "", BOTH),
        ('<tool_call>{"name": "now"}</tool_call>', "", [("now", {})]),
        (
            f"Write <tool_call>{OSLO}</tool_call> so. Now:\n<tool_call>{ROME}</tool_call>",
            f"Write <tool_call>{OSLO}</tool_call> so. Now:",
            BOTH[1:],
        ),
        (f"[TOOL_CALLS] [{OSLO}]", "", ONE),
        (f"[TOOL_CALLS]{OSLO}", "", ONE),
        (f"Look. [TOOL_CALLS][{OSLO},{ROME}]", "Look.", BOTH),
        ('[TOOL_CALLS]weather[ARGS]{"city": "Oslo"}', "", ONE),
        ('[TOOL_CALLS]weather{"city": "Oslo"}', "", ONE),
        ('[TOOL_CALLS]weather[CALL_ID]a1b2[ARGS]{"city": "Oslo"}', "", ONE),
        (
            '[TOOL_CALLS]weather[ARGS]{"city": "Oslo"}[TOOL_CALLS]weather[ARGS]{"city": "Rome"}',
            "",
            BOTH,
        ),
        (f"```json\n{OSLO}\n```", "", ONE),
        (f"```JSON \r\n{OSLO}```", "", ONE),
        (f"```\n{OSLO}\n```", "", ONE),
        (f"```tool_call\n{OSLO}\n```", "", ONE),
        (f"I look.\n\n```json\n[{OSLO}, {ROME}]\n```\n", "I look.", BOTH),
        (f"```json\n{OSLO}\n```\n```json\n{ROME}\n```", "", BOTH),
        (f"```python\nx = 1\n```\n```json\n{OSLO}\n```", "```python\nx = 1\n```", ONE),
        (OSLO, "", ONE),
        (f"\n[{OSLO}, {ROME}]\n", "", BOTH),
        (
            '{"type": "function", "function": {"name": "weather", "arguments": '
            '"{\\"city\\": \\"Oslo\\"}"}}',
            "",
            ONE,
        ),
        ("weather(city='Oslo')", "", ONE),
        ('weather("Oslo")', "", ONE),
        ("now()", "", [("now", {})]),
        ("get-time(zone='UTC')", "", [("get-time", {"zone": "UTC"})]),
        ('I look.\nweather(city="Oslo")', "I look.", ONE),
        ("weather(city='Oslo')\n\nweather(city='Rome')", "", BOTH),
        ("weather(\n  city='Oslo',\n  days=3,\n)", "", [("weather", {"city": "Oslo", "days": 3})]),
        ("[weather(city='Oslo'), weather(city='Rome')]", "", BOTH),
    ],
)
def test_a_printed_call_is_found(text: str, before: str, calls: list[Any]) -> None:
    assert found(text) == (before, calls)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "It is sunny in Oslo.",
        # not offered
        '<tool_call>{"name": "rm", "arguments": {}}</tool_call>',
        '[TOOL_CALLS] [{"name": "rm", "arguments": {}}]',
        '```json\n{"name": "rm", "arguments": {}}\n```',
        "rm(path='/')",
        "Weather(city='Oslo')",
        f'<tool_call>[{OSLO}, {{"name": "rm", "arguments": {{}}}}]</tool_call>',
        # quoted as an example
        f"Write `<tool_call>{OSLO}</tool_call>` to call it.",
        f"Write `<tool_call>{OSLO}</tool_call>`",
        f"Write `<tool_call>{OSLO}</tool_call>",
        f"Write `[TOOL_CALLS] [{OSLO}]",
        f"<tool_call>{OSLO}</tool_call> is how a call looks.",
        f"```\n<tool_call>{OSLO}</tool_call>\n```",
        f"```\n<tool_call>{OSLO}</tool_call>",
        f"```json\n{OSLO}\n```\nis how a call looks.",
        f"````\n```json\n{OSLO}\n```\n````",
        f"Like so: ```json\n{OSLO}\n```",
        f"[TOOL_CALLS] [{OSLO}] is how a call looks.",
        "You could write weather(city='Oslo')",
        "`weather(city='Oslo')`",
        "```python\nweather(city='Oslo')\n```",
        "```python\nweather(city='Oslo')",
        f"Like this: {OSLO}",
        # data, not a call
        '{"name": "weather"}',
        '```json\n{"name": "weather"}\n```',
        '{"name": "weather", "arguments": {}, "age": 3}',
        '{"name": "weather", "arguments": {}, "parameters": {}}',
        "[]",
        "```json\n[]\n```",
        "[TOOL_CALLS] []",
        "<tool_call></tool_call>",
        "42",
        "null",
        # broken
        f"<tool_call>{OSLO[:-1]}</tool_call>",
        f"<tool_call>{OSLO[:-9]}",
        f"<tool_call>{OSLO}</tool_call><tool_call>oops</tool_call>",
        f"<tool_call>oops</tool_call><tool_call>{OSLO}</tool_call>",
        f"<tool_call>oops</tool_call><tool_call>{OSLO}",
        f"{OSLO}</tool_call>",
        f"oops</tool_call><tool_call>{OSLO}</tool_call>",
        "<tool_call>",
        "</tool_call>",
        f"```json\n{OSLO[:-2]}\n```",
        f"{OSLO}\n```",
        "```",
        "``````",
        "[TOOL_CALLS]",
        "[TOOL_CALLS]weather[ARGS]",
        "[TOOL_CALLS]weather[ARGS]{",
        '[TOOL_CALLS]weather[ARGS]["Oslo"]',
        '{"name": "weather", "arguments": "Oslo"}',
        '{"name": "weather", "arguments": ["Oslo"]}',
        '{"name": ["weather"], "arguments": {}}',
        '{"name": "weather", "arguments": {"city": "Oslo", "city": "Rome"}}',
        '{"name": "weather", "arguments": {"days": NaN}}',
        "weather(city='Oslo'",
        "weather(city='Oslo'))",
        "weather(town='Oslo')",
        "weather('Oslo', 3, 4)",
        "weather('Oslo', city='Rome')",
        "weather(city=input())",
        "weather(days=1+1)",
        "now(1)",
        "(now())",
        "[now()",
        "[now(),]",
        "[now()] now()",
        "[",
    ],
)
def test_other_text_stays_text(text: str) -> None:
    assert found(text) is None


def test_nothing_is_found_where_nothing_was_offered() -> None:
    assert find_text_calls(f"<tool_call>{OSLO}</tool_call>", {}) is None


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" * 20_000,
        f"<tool_call>{OSLO}</tool_call>" * 1_000,
        "</tool_call>" * 15_000,
        f"<tool_call>{OSLO}</tool_call>" + " " * 180_000 + f"<tool_call>{OSLO}</tool_call>" * 40,
        "[TOOL_CALLS]" * 15_000,
        f"```json\n{OSLO}\n```\n" * 2_000,
        "```" * 60_000,
        "now()\n" * 30_000,
        "[" + "now()," * 30_000,
        "weather(" * 20_000 + ")",
        "weather(days=" + "[" * 150_000 + ")",
        '{"name": "weather", "arguments": ' + '{"a":' * 30_000,
        "weather('" + "\\" * 150_001 + "')",
        "x" * 10_000_000,
        "weather(days=" + "9" * 100_000 + ")",
    ],
    ids=range(15),
)
def test_huge_text_is_answered_soon(text: str) -> None:
    assert find_text_calls(text, OFFERED) is None


TAGS = ["<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "```", "`"]
WORDS = ["weather", "now", "(", ")", "[", "]", "city=", "'Oslo'"]
CHARACTERS = ["```json\n", "\n", " ", '"', "'", "\\", ",", "{", "}", "1", "ก", "\ud800", "\x00"]
PIECES = st.sampled_from([*TAGS, *WORDS, *CHARACTERS, OSLO, ROME])


@given(st.text() | st.lists(PIECES, max_size=12).map("".join))
@example("weather('\\")
@example("weather('\\ud800')")
def test_no_text_makes_it_fail(text: str) -> None:
    calls = find_text_calls(text, OFFERED)

    for call in calls.calls if calls else ():
        assert call.name in OFFERED
        assert isinstance(json.loads(call.arguments), dict)
    assert calls is None or text.startswith(calls.text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.fixed_dictionaries({"city": VALUES, "days": VALUES}), st.integers(0, 5))
def test_the_arguments_survive_every_spelling(arguments: dict[str, Any], spelling: int) -> None:
    arguments_text = json.dumps(arguments, ensure_ascii=False)
    made = f'{{"name": "weather", "arguments": {arguments_text}}}'
    keywords = ", ".join(f"{key}={json.dumps(value)}" for key, value in arguments.items())
    text = [
        f"<tool_call>{made}</tool_call>",
        f"```json\n{made}\n```",
        made,
        f"[TOOL_CALLS] [{made}]",
        f"[TOOL_CALLS]weather[ARGS]{arguments_text}",
        f"weather({keywords})",
    ][spelling]

    calls = found(text)

    # A text inside the arguments may hold a mark itself; it is refused then, never changed.
    assert calls in (("", [("weather", arguments)]), None)


def test_parameters_come_from_the_definitions() -> None:
    weather = {"name": "weather", "parameters": {"properties": {"city": {}, "days": {}}}}

    assert parameters_of(
        [
            {"type": "function", "function": weather},
            {"type": "function", "function": {"name": "now", "parameters": {}}},
            {"type": "function", "function": {"name": "then"}},
            {"type": "web_search"},
            {"type": "function", "function": {"name": 5}},
        ]
    ) == {"weather": ["city", "days"], "now": [], "then": []}


@pytest.mark.parametrize(
    ("text", "before", "calls"),
    [
        ('<tool_call>{"name": "weather", "arguments": {"city": "Os', "", ['{"city": "Os']),
        ('I look.\n<tool_call>\n{"name": "weather", "arguments": {', "I look.", ["{"]),
        ('<tool_call>{"name": "weather"', "", [""]),
        (f"I look.<tool_call>{OSLO}</tool_call>", "I look.", ['{"city": "Oslo"}']),
        (
            f'<tool_call>{OSLO}</tool_call>\n<tool_call>{{"name": "now", "arguments": {{',
            "",
            ['{"city": "Oslo"}', "{"],
        ),
    ],
)
def test_a_call_that_is_cut_off_is_told_from_text(text: str, before: str, calls: list[str]) -> None:
    cut = find_cut_calls(text, OFFERED)

    assert cut is not None
    assert cut.text == before
    assert [call.arguments for call in cut.calls] == calls


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No rain.",
        OSLO,
        "now()",
        "<tool_call>",
        '<tool_call>{"na',
        '<tool_call>{"name": "rm", "arguments": {',
        '<tool_call>{"name": "weath',
        'Write `<tool_call>{"name": "weather", "arguments": {',
        '```\n<tool_call>{"name": "weather", "arguments": {',
        f"<tool_call>{OSLO}</tool_call> is how it is wri",
    ],
)
def test_other_texts_that_are_cut_off_are_no_calls(text: str) -> None:
    assert find_cut_calls(text, OFFERED) is None
