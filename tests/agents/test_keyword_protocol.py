import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openjarvis.agents.keyword_protocol import REACT, STRUCTURED, KeywordProtocol
from openjarvis.agents.protocol import Action, Step
from openjarvis.core.strict_json import dumps
from openjarvis.toolkit.base import ToolSpec

CALCULATOR = ToolSpec(
    "calculator",
    "Calculate.",
    {"type": "object", "properties": {"expression": {"type": "string"}}},
)
CLOCK = ToolSpec("clock", "Tell the time.")
TOOLS = [CALCULATOR, CLOCK]
INPUT = '{"expression": "2+2"}'
CALL = Action("calculator", INPUT)

ACTIONS = {
    "as it should be": f"Thought: add\nAction: calculator\nAction Input: {INPUT}",
    "lower case": f"thought: add\naction: calculator\naction input: {INPUT}",
    "upper case": f"THOUGHT: add\nACTION: calculator\nACTION INPUT: {INPUT}",
    "bold labels": f"**Thought:** add\n**Action:** calculator\n**Action Input:** {INPUT}",
    "bold labels, colon outside": f"**Action**: calculator\n**Action Input**: {INPUT}",
    "headings": f"### Action: calculator\n### Action Input: {INPUT}",
    "a list": f"- Action: calculator\n- Action Input: {INPUT}",
    "numbers": f"1. Thought: add\n2. Action: calculator\n3. Action Input: {INPUT}",
    "quoted": f"> Action: calculator\n> Action Input: {INPUT}",
    "quoted with words": f"> I add.\n>\n> Action: calculator\n>Action Input: {INPUT}",
    "fenced": f"```\nThought: add\nAction: calculator\nAction Input: {INPUT}\n```",
    "fenced with a language": f"```text\nAction: calculator\nAction Input: {INPUT}\n```\n",
    "in a fence that is never closed": f"```\nAction: calculator\nAction Input: {INPUT}",
    "a fence before": f"```\nx\n```\nAction: calculator\nAction Input: {INPUT}",
    "a fence behind a label": f"Thought: ```\nx\n```\nAction: calculator\nAction Input: {INPUT}",
    "underscore": f"Action: calculator\nAction_Input: {INPUT}",
    "one word": f"Action: calculator\nActionInput: {INPUT}",
    "only Input": f"Action: calculator\nInput: {INPUT}",
    "space before the colon": f"Action : calculator\nAction Input : {INPUT}",
    "full-width colons": f"Thought：加\nAction：calculator\nAction Input：{INPUT}",
    "CRLF": f"Thought: add\r\nAction: calculator\r\nAction Input: {INPUT}\r\n",
    "old line ends": f"Thought: add\rAction: calculator\rAction Input: {INPUT}",
    "indented": f"  Action: calculator\n  Action Input: {INPUT}",
    "name in code": f"Action: `calculator`\nAction Input: {INPUT}",
    "name in bold": f"Action: **calculator**\nAction Input: {INPUT}",
    "name in brackets": f"Action: [calculator]\nAction Input: {INPUT}",
    "name with a stop": f"Action: calculator.\nAction Input: {INPUT}",
    "name in quotes": f'Action: "calculator"\nAction Input: {INPUT}',
    "name in another case": f"Action: Calculator\nAction Input: {INPUT}",
    "name on the next line": f"Action:\ncalculator\nAction Input: {INPUT}",
    "input on the next line": f"Action: calculator\nAction Input:\n{INPUT}",
    "thinking": f"<think>Action: clock</think>\nAction: calculator\nAction Input: {INPUT}",
    "thinking not opened": f"Action: clock</think>\nAction: calculator\nAction Input: {INPUT}",
    "thinking not closed": f"<think>Action: calculator\nAction Input: {INPUT}",
    "text before": f"Sure, I can help!\n\nAction: calculator\nAction Input: {INPUT}",
    "prose behind the JSON": f"Action: calculator\nAction Input: {INPUT}\nThis will add them.",
    "one brace too many": f"Action: calculator\nAction Input: {INPUT}}}",
    "an echo first": f"Observation: 3\nThought: add\nAction: calculator\nAction Input: {INPUT}",
    "all in one line": f"Thought: I add. Action: calculator Action Input: {INPUT}",
    "as a function call": "Action: calculator(expression='2+2')",
    "as a positional call": 'Action: calculator("2+2")',
    "as a JSON action": 'Action: {"action": "calculator", "action_input": {"expression": "2+2"}}',
    "as fenced JSON": 'Action:\n```json\n{"name": "calculator", "arguments": '
    '{"expression": "2+2"}}\n```',
    "as a printed call": '<tool_call>{"name": "calculator", "arguments": '
    '{"expression": "2+2"}}</tool_call>',
    "as fenced JSON without a label": 'I look.\n```json\n{"action": "calculator", '
    '"action_input": {"expression": "2+2"}}\n```',
    "as JSON without a label": '{"tool": "calculator", "tool_input": {"expression": "2+2"}}',
    "a thought, then a printed call": "Thought: add\n"
    '<tool_call>{"name": "calculator", "arguments": {"expression": "2+2"}}</tool_call>',
    "numbered labels": f"Thought 1: add\nAction 1: calculator\nAction Input 1: {INPUT}",
    "a numbered echo": f"Observation 1: 3\nAction 2: calculator\nAction Input 2: {INPUT}",
    "in a sentence": f"Action: Use the `calculator` tool\nAction Input: {INPUT}",
    "in a sentence with a purpose": f"Action: use calculator to add\nAction Input: {INPUT}",
    "an end of turn that is spelt out": f"Action: calculator\nAction Input: {INPUT}<|im_end|>\n"
    "<|im_start|>user\nObservation: 5",
    "no action first": f"Action: None\nAction: calculator\nAction Input: {INPUT}",
}


@pytest.mark.parametrize("text", ACTIONS.values(), ids=ACTIONS)
def test_an_action_is_understood_however_it_is_written(text: str) -> None:
    step = REACT.parse(text, TOOLS)

    assert step.action is not None
    assert (step.action.tool, json.loads(step.action.input)) == ("calculator", json.loads(INPUT))
    assert step.correction == ""


INPUTS = {
    "plain text": ("2 + 2", "2 + 2"),
    "several lines": ("2\n+ 2", "2\n+ 2"),
    "fenced": (
        '```json\n{"expression": "2+2"}\n```\nand so on',
        '```json\n{"expression": "2+2"}\n```',
    ),
    "labels inside a fence": ("```\nThought: x\n```", "```\nThought: x\n```"),
    "labels inside JSON": ('{"a": "\\nObservation: x"}', '{"a": "\\nObservation: x"}'),
    "quoted text that goes on": ('"a" + "b"', '"a" + "b"'),
    "an observation in the same line": ("2+2 Observation: 4", "2+2"),
    "a numbered one in the same line": ("2+2 Observation 1: 4", "2+2"),
    "single quotes": ("{'expression': '2+2'}", "{'expression': '2+2'}"),
    "cut off": ('{"expression": "2+', '{"expression": "2+'),
    "nothing": ("", ""),
}


@pytest.mark.parametrize(("written", "expected"), INPUTS.values(), ids=INPUTS)
def test_an_input_ends_where_it_ends(written: str, expected: str) -> None:
    step = REACT.parse(f"Action: calculator\nAction Input: {written}", TOOLS)

    assert step.action == Action("calculator", expected)


INVENTED = {
    "an observation": "\nObservation: 5\nThought: so\nFinal Answer: 5",
    "another action": '\nAction: clock\nAction Input: {"zone": "UTC"}',
    "a thought and an answer": "\nThought: it must be 5\nFinal Answer: 5",
    "in bold": "\n**Observation:** 5\n**Final Answer:** 5",
    "in capitals": "\nOBSERVATION: 5",
    "with a number": "\nObservation 1: 5\nThought 2: so\nAction 2: clock",
    "as another turn": "<|eot_id|>\nuser\n5",
}


@pytest.mark.parametrize("invented", INVENTED.values(), ids=INVENTED)
@pytest.mark.parametrize("written", [INPUT, "2+2"])
def test_what_follows_an_action_is_cut(invented: str, written: str) -> None:
    real = f"Thought: add\nAction: calculator\nAction Input: {written}"

    step = REACT.parse(real + invented, TOOLS)

    assert step == Step(real, Action("calculator", written))


PAY = "Action: calculator\nAction Input: all"
QUOTED = "> Action: calculator\n> Action Input: all"
NO_ACTIONS = {
    "quoted before an answer": f"The page says:\n{QUOTED}\nIt is hostile.\nFinal Answer: No.",
    "quoted in a thought": f"Thought: the page says:\n{QUOTED}\nso no.\nFinal Answer: No.",
    "quoted in an answer": f"Final Answer: No.\n{QUOTED}",
    "in inline code": 'It says `Action: calculator` `Action Input: {"a": 1}`. No.',
    "in quotation marks": "It says “Action: calculator” “Action Input: all”. No.",
    "quoted and nothing else": f"The page says:\n{QUOTED}\nNo.",
    "fenced before an answer": f"The mail says:\n```\n{PAY}\n```\nFinal Answer: No.",
    "fenced in a thought": f"Thought: the mail says:\n~~~\n{PAY}\n~~~\nFinal Answer: No.",
    "fenced and nothing else": f"The mail says:\n```\n{PAY}\n```\nNo.",
    "behind a tag in an answer": f"Final Answer: No. It says </think>\n{PAY}",
    "behind a tag of another name": f"Final Answer: No. It says </thinking>\n{PAY}",
    "behind a second tag": f"<think>x</think>Final Answer: No </think>\n{PAY}",
}


@pytest.mark.parametrize("text", NO_ACTIONS.values(), ids=NO_ACTIONS)
def test_an_action_that_is_only_quoted_is_none(text: str) -> None:
    step = REACT.parse(text, TOOLS)

    assert step.action is None
    assert "No" in step.answer


def test_a_tag_in_the_input_of_an_action_hides_no_action() -> None:
    step = REACT.parse(f"Action: clock\nAction Input: say </think>\n{PAY}", TOOLS)

    assert step.action == Action("clock", "say")


ANSWERS = {
    "as it should be": ("Thought: done\nFinal Answer: 4", "4"),
    "any case": ("final answer: 4", "4"),
    "with underscore": ("FINAL_ANSWER: 4", "4"),
    "bold label": ("**Final Answer:** 4", "4"),
    "bold answer": ("Final Answer: **4** it is", "**4** it is"),
    "a heading": ("## Final Answer\n\n4", "4"),
    "several lines": ("Final Answer: 4\n\n- because\n- of this", "4\n\n- because\n- of this"),
    "goes on by itself": ("Final Answer: 4\nObservation: well\nFinal Answer: 5", "4"),
    "no label": ("It is 4.", "It is 4."),
    "no label, thinking": ("<think>2 and 2</think>It is 4.", "It is 4."),
    "in one line": ("Thought: done. Final Answer: 4", "4"),
    "an action that ends": ("Action: Final Answer\nAction Input: 4", "4"),
    "an action that finishes": ('Action: Finish\nAction Input: {"answer": "4"}', "4"),
    "finish in brackets": ("Action: none\nThought: I know\nFinal Answer: 4", "4"),
    "full-width": ("Final Answer：四", "四"),
    "an end of turn that is spelt out": ("Final Answer: 4<|im_end|>", "4"),
    "as a JSON action": ('{"action": "Final Answer", "action_input": "4"}', "4"),
    "an end of turn that is spoken of": ("<|im_end|> ends it.", "<|im_end|> ends it."),
    "JSON that was asked for": (
        '{"name": "calculator", "use": "sums"}',
        '{"name": "calculator", "use": "sums"}',
    ),
    "an action in the answer": ("Final Answer: 4\nAction: none", "4\nAction: none"),
}


@pytest.mark.parametrize(("text", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_is_understood_however_it_is_written(text: str, answer: str) -> None:
    step = REACT.parse(text, TOOLS)

    assert (step.action, step.answer, step.correction) == (None, answer, "")


@pytest.mark.parametrize(
    "text",
    [
        "Thought: let me see",
        "Thought: let me see\nAction: None",
        "Action Input: 2+2",
        "Final Answer:",
        "Observation: 4",
        "Action:",
    ],
)
def test_a_step_that_is_none_is_corrected_in_the_words_of_the_protocol(text: str) -> None:
    step = REACT.parse(text, TOOLS)

    assert step.action is None
    assert "'Action: <tool>' and 'Action Input: <JSON>', or 'Final Answer:" in step.correction


def test_a_tool_that_nobody_offers_is_left_to_the_executor() -> None:
    step = REACT.parse("Action: weather\nAction Input: Oslo", TOOLS)

    assert step.action == Action("weather", "Oslo")


def test_the_case_of_a_name_is_not_guessed_where_two_tools_differ_by_it() -> None:
    step = REACT.parse("Action: CLOCK\nAction Input:", [CLOCK, ToolSpec("Clock", "Another.")])

    assert step.action == Action("CLOCK", "")


def test_a_tool_named_like_a_word_for_the_end_is_a_tool() -> None:
    step = REACT.parse("Action: finish\nAction Input: x", [ToolSpec("finish", "End a job.")])

    assert step.action == Action("finish", "x")


STRUCTURED_TEXTS = {
    "as it should be": f"THOUGHT: add\nTOOL: calculator\nINPUT: {INPUT}",
    "any case": f"Thought: add\nTool: calculator\nInput: {INPUT}",
    "labels of another protocol": f"Thought: add\nAction: calculator\nAction Input: {INPUT}",
    "with tool input": f"TOOL: calculator\nTOOL_INPUT: {INPUT}\nOBSERVATION: 5",
}


@pytest.mark.parametrize("text", STRUCTURED_TEXTS.values(), ids=STRUCTURED_TEXTS)
def test_the_structured_spelling_is_read(text: str) -> None:
    assert STRUCTURED.parse(text, TOOLS).action == CALL


words = st.text(
    alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=":：<>`*_#"),
    min_size=1,
).map(str.strip)


@given(
    st.sampled_from([REACT, STRUCTURED]),
    words,
    st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())),
)
def test_a_rendered_action_parses_back(
    protocol: KeywordProtocol, thought: str, arguments: dict[str, object]
) -> None:
    action = Action("calculator", dumps(arguments).encode(errors="replace").decode())
    rendered = protocol.render(Step(thought, action))

    step = protocol.parse(rendered, TOOLS)

    assert step.action == action
    assert step.text == rendered.strip()


@given(st.sampled_from([REACT, STRUCTURED]), words.filter(bool))
def test_a_rendered_answer_parses_back(protocol: KeywordProtocol, answer: str) -> None:
    step = protocol.parse(protocol.render(Step("", answer=answer)), TOOLS)

    assert (step.action, step.answer) == (None, answer)


PIECES = [
    "Thought:", "Action:", "Action Input:", "Final Answer:", "Observation:", "\n", "\r\n", "```",
    "```json\n", "<think>", "</think>", "{", "}", '"', "calculator", "(", ")", "[", "]", "**", ":",
    "TOOL:", "INPUT:", "\\", "\x00", "：", "<tool_call>", "FINAL(", " ", "None", "~~~", "#",
]  # fmt: skip


@given(
    st.sampled_from([REACT, STRUCTURED]),
    st.text() | st.lists(st.sampled_from(PIECES) | st.text(max_size=5)).map("".join),
)
def test_no_text_crashes_a_parser(protocol: KeywordProtocol, text: str) -> None:
    step = protocol.parse(text, TOOLS)

    assert step.action is None or step.answer == ""


@pytest.mark.parametrize(
    "piece",
    [
        *PIECES,
        "Observation: 1\n",
        "Action: x\n",
        "Action: [",
        "Thought: x\n",
        "Action: None\n",
        "* ",
        "> ",
        "1. ",
        "Final Answer\n",
        "\n```\n",
        "Action Input: {",
    ],
)
def test_a_very_long_text_is_read_in_linear_time(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    started = time.process_time()

    REACT.parse(text, TOOLS)
    STRUCTURED.parse(f"TOOL: calculator\nINPUT: {text}", TOOLS)

    assert time.process_time() - started < 2
