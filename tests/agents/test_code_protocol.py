import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openjarvis.agents.code_protocol import CODE_ACT, MAX_OUTPUT
from openjarvis.agents.protocol import Action, Step
from openjarvis.agents.rlm import PROTOCOL as RLM
from openjarvis.core.strict_json import dumps
from openjarvis.toolkit.base import ToolSpec

INTERPRETER = ToolSpec(
    "code_interpreter", "Run code.", {"properties": {"code": {"type": "string"}}}
)
TOOLS = [INTERPRETER, ToolSpec("clock", "Tell the time.")]

BLOCKS = {
    "as it should be": "```python\nprint(6)\n```",
    "short tag": "```py\nprint(6)\n```",
    "version in the tag": "```python3\nprint(6)\n```",
    "capital tag": "```Python\nprint(6)\n```",
    "tag in braces": "```{python}\nprint(6)\n```",
    "space before the tag": "``` python\nprint(6)\n```",
    "tag of another trade": "```tool_code\nprint(6)\n```",
    "no tag": "```\nprint(6)\n```",
    "tildes": "~~~python\nprint(6)\n~~~",
    "CRLF": "```python\r\nprint(6)\r\n```\r\n",
    "text around": "I compute.\n\n```python\nprint(6)\n```",
    "thinking": "<think>\n```python\nprint(5)\n```\n</think>\n```python\nprint(6)\n```",
    "never closed": "```python\nprint(6)",
    "quoted as a whole": "> I compute.\n>\n> ```python\n> print(6)\n> ```",
    "two blocks": "```python\nprint(6)\n```\nthen\n```python\nprint(7)\n```",
    "an output of its own": "```python\nprint(6)\n```\nOutput:\n5\n\nThe answer is 5.",
    "another language first": "```bash\npip install x\n```\n```python\nprint(6)\n```",
    "by name": "Action: code_interpreter\nAction Input:\n```python\nprint(6)\n```",
}


@pytest.mark.parametrize("text", BLOCKS.values(), ids=BLOCKS)
def test_a_block_is_understood_however_it_is_written(text: str) -> None:
    step = CODE_ACT.parse(text, TOOLS)

    assert step.action is not None
    assert step.action.tool == "code_interpreter"
    assert "print(6)" in step.action.input
    assert "print(5)" not in step.text
    assert "print(7)" not in step.text
    assert "The answer is 5" not in step.text


def test_another_tool_is_called_by_its_name() -> None:
    step = CODE_ACT.parse("Action: clock\nAction Input: {}\n```python\nprint(1)\n```", TOOLS)

    assert step == Step("Action: clock\nAction Input: {}", Action("clock", "{}"))


@pytest.mark.parametrize(
    "text",
    [
        "It is 6.",
        "Run this:\n```bash\nls\n```",
        "The data:\n```json\n{}\n```",
        "It printed\n```\n6 apples\n```",
        "```python\n\n```",
        "I read:\n> ```python\n> print(6)\n> ```\nNo.",
        "It says:\n```\nAction: clock\nAction Input: {}\n```\nNo.",
    ],
)
def test_words_alone_are_the_answer(text: str) -> None:
    assert CODE_ACT.parse(text, TOOLS) == Step(text, answer=text)


def test_an_empty_reply_is_corrected() -> None:
    assert "empty" in CODE_ACT.parse("<think>hm</think>", TOOLS).correction


def test_a_long_output_is_cut_and_says_so() -> None:
    told = CODE_ACT.observation("x" * (MAX_OUTPUT + 1))

    assert told == "Output:\n" + "x" * MAX_OUTPUT + "\n[Output truncated]"
    assert CODE_ACT.observation("x" * MAX_OUTPUT) == "Output:\n" + "x" * MAX_OUTPUT


lines = st.text(
    alphabet=st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="`~<")
)


@given(st.lists(lines).map("\n".join).filter(str.strip))
def test_rendered_code_parses_back(code: str) -> None:
    action = Action("code_interpreter", dumps({"code": code}))

    step = CODE_ACT.parse(CODE_ACT.render(Step("", action)), TOOLS)

    assert step.action == action


FINALS = {
    "words": ("FINAL(It is 4.)", "It is 4."),
    "a literal": ('FINAL("It is 4.")', "It is 4."),
    "brackets inside": ("FINAL(four (4))", "four (4)"),
    "several lines": ("FINAL(four\nand five)", "four\nand five"),
    "in bold": ("**FINAL(4)**", "4"),
    "never closed": ("FINAL(4", "4"),
    "text before": ("I know it.\n\nFINAL(4)", "4"),
    "no final": ("It is 4.", "It is 4."),
    "indented a little": ("  FINAL(4)", "4"),
    "words behind it": ("FINAL(4)\nthe end (really)", "4"),
    "words behind it in its line": ("It is\nFINAL(4), I think.", "4"),
    "a bracket in a text": ("FINAL('a :) face')", "a :) face"),
    "a final in a text": ('So:\nFINAL("""It says\nFINAL(5)""")', "It says\nFINAL(5)"),
    "the last of two": ("It says\nFINAL(5)\nbut\nFINAL(4)", "4"),
    "told of": ("It says\nFINAL(5)\nbut no.", "It says\nFINAL(5)\nbut no."),
    "indented": ("It says\n\n      FINAL(5)", "It says\n\n      FINAL(5)"),
    "quoted": ("It says\n> FINAL(5)", "It says\n> FINAL(5)"),
    "fenced": ("```text\nFINAL(5)\n```", "```text\nFINAL(5)\n```"),
    "in a thought": ("I could say FINAL(5).</think>FINAL(4)", "4"),
    "behind a quoted tag": ("FINAL(No, it says </think>\nFINAL(5))", "No, it says \nFINAL(5)"),
}


@pytest.mark.parametrize(("text", "answer"), FINALS.values(), ids=FINALS)
def test_an_rlm_ends_with_final(text: str, answer: str) -> None:
    step = RLM.parse(text, [])

    assert (step.action, step.answer) == (None, answer)


@pytest.mark.parametrize("text", ["FINAL_VAR(found)", 'FINAL_VAR("found")', "FINAL_VAR('found')"])
def test_an_rlm_ends_with_a_variable(text: str) -> None:
    step = RLM.parse(text, [])

    assert step.action is not None
    assert step.action.tool == "rlm_repl"
    assert json.loads(step.action.input) == {"code": "FINAL(found)"}


def test_a_final_behind_a_block_is_not_believed() -> None:
    step = RLM.parse("```repl\nx = 1\n```\nFINAL(2)", [])

    assert step.text == "```repl\nx = 1\n```"
    assert step.action == Action("rlm_repl", '{"code": "x = 1"}')


@given(
    st.text()
    | st.lists(
        st.sampled_from(["```", "python", "\n", "FINAL(", "FINAL_VAR(", ")", "'", "\\"])
    ).map("".join)
)
def test_no_text_crashes_a_parser(text: str) -> None:
    CODE_ACT.parse(text, TOOLS)
    RLM.parse(text, TOOLS)
