"""What agents tell a model about how to answer; `build_tool_descriptions` tells of the tools."""

from collections.abc import Iterable

from openjarvis.toolkit.base import Tool
from openjarvis.toolkit.describe import build_tool_descriptions

LAST_WORD = (
    "There are no turns left for tools. Give your final answer now, from what you have found; say "
    "what could not be found."
)
"""What a model is told whose turns are used up."""

LAST_WORD_ON_CODE = (
    "There are no turns left for code. Give your final answer now, in plain words, from what you "
    "have found; say what could not be found."
)
"""The same for a model that acts by writing code."""

_STRUCTURED = """\
Solve the task step by step, with tools where they help.

Each of your replies is one step, in exactly one of these two forms.

To use a tool:
THOUGHT: why this tool, and with what input
TOOL: the name of one tool from the list
INPUT: its parameters as one JSON object

To finish:
THOUGHT: why the task is solved
FINAL_ANSWER: the answer for the user

Stop after INPUT. The result is sent to you as OBSERVATION; never write one yourself."""

_REACT = """\
Answer the question as well as you can, with tools where they help.

Each of your replies is one step, in exactly one of these two forms.

To use a tool:
Thought: what you need to find out
Action: the name of one tool from the list
Action Input: its parameters as one JSON object

To finish:
Thought: I know the answer
Final Answer: the answer for the user

Stop after Action Input. The result is sent to you as Observation; never write one yourself."""

_OPENHANDS = """\
Solve the task by running Python code, one short block at a time.

To run code, write one block and stop:
```python
print(6 * 7)
```
What it prints, and the value of its last expression, is sent to you as Output; never write one
yourself. Every block starts afresh: define again what you need.

To use another tool of the list, write instead:
Action: the name of the tool
Action Input: its parameters as one JSON object

When the task is solved, answer in plain words without a code block."""

_RLM = """\
You work on a text that is too long to be shown to you. It is the variable `context`, a Python str
of {size:,} characters in {lines:,} lines, in a Python session whose variables stay. Look into it
with code, one short block at a time:
```repl
print(context[:500])
```
Write one block and stop. What it prints is sent to you, cut to a few thousand characters, so print
little and keep the rest in variables; never write an output yourself.

In the session you may call:
- llm_query(prompt) -> str: ask a sub-model. It sees only the prompt, so put the piece of `context`
  it needs into it; some ten thousand characters at a time are fine.
- llm_query_batched(prompts) -> list[str]: ask several at the same time.
- FINAL(answer): end with this answer.
- FINAL_VAR("name"): end with what this variable holds.
At most {queries} questions may be asked in all. Setting answer["content"] and then
answer["ready"] = True ends too.

Search first (str.find, re), then read what you found; use sub-models for pieces that need to be
understood. Outside a block you may also write FINAL(the answer) as your whole reply."""

_OFFERED = "\n\nA sub-model may call these tools; tell it in the prompt when it should."


def build_system_prompt(tools: Iterable[Tool] | None = None) -> str:
    """Return the prompt of the structured orchestrator."""
    return _with_tools(_STRUCTURED, tools)


def react_prompt(tools: Iterable[Tool] | None = None) -> str:
    """Return the prompt of `native_react`."""
    return _with_tools(_REACT, tools)


def openhands_prompt(tools: Iterable[Tool] | None = None) -> str:
    """Return the prompt of `native_openhands`; `tools` are those beside `code_interpreter`."""
    return _with_tools(_OPENHANDS, tools)


def rlm_prompt(tools: Iterable[Tool], *, size: int, lines: int, queries: int) -> str:
    """Return the prompt of `rlm` about a text of `size` characters in `lines` lines."""
    offered = list(tools)
    prompt = _with_tools(_RLM.format(size=size, lines=lines, queries=queries), offered)
    return prompt + _OFFERED if offered else prompt


def _with_tools(protocol: str, tools: Iterable[Tool] | None) -> str:
    return f"{protocol}\n\n## Available Tools\n{build_tool_descriptions(tools or ())}"
