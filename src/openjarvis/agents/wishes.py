"""Which tool a model means, however it writes it: by name, like a function call, or as JSON."""

import re
from collections.abc import Sequence
from typing import Any

from openjarvis.agents.protocol import Action, Step
from openjarvis.agents.reading import bare, fences
from openjarvis.core.strict_json import JSONRefused, dumps, loads
from openjarvis.engine.text_calls import find_text_calls, parameters_of
from openjarvis.engine.written_calls import NotWritten, read_call
from openjarvis.toolkit.base import ToolSpec, openai_function

_NAME_KEYS = ("action", "tool", "tool_name", "name", "function")
_INPUT_KEYS = ("action_input", "tool_input", "input", "arguments", "parameters", "args")
FINISHES = frozenset({"finish", "final answer", "final_answer", "finalanswer", "answer", "done"})
"""Names that models give an action which ends the run, in lower case."""

_IN_A_SENTENCE = re.compile(
    r"(?:use|call|run|invoke)\s++(?:the\s++)?+(?:(?:tool|function)\s++)?+[`\"'*]*+([\w-]{1,64})",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"([\w-]{1,64})[ \t]*(?:\[(.*)\]|\((.*)\))", re.DOTALL)
_INPUT_LINE = re.compile(r"(?:(?:action|tool)[ _]?)?input\s*[:：]\s*", re.IGNORECASE)


def wish(written: str, tools: Sequence[ToolSpec]) -> Action:
    """Return the action in what stands behind a label; its tool may be one that nobody offers."""
    text = written.strip()
    as_json = _from_json(text, tools)
    if as_json is not None:
        return as_json
    line, _, rest = text.partition("\n")
    rest = rest.strip()
    labelled = _INPUT_LINE.match(rest)
    given = rest[labelled.end() :] if labelled else rest
    name = _offered(bare(line), tools)
    if name is not None:
        return Action(name, given)
    called = _BRACKETED.fullmatch(text) or _BRACKETED.fullmatch(line.strip().strip("*`"))
    if called is not None and (name := _offered(called[1], tools)) is not None:
        return Action(name, _between(called, name, tools) or given)
    word, _, more = bare(line).partition(" ")
    name = _offered(bare(word), tools)
    if name is not None:
        return Action(name, given or more.strip(" :-–—"))
    sentence = _IN_A_SENTENCE.match(bare(line))
    name = _offered(sentence[1], tools) if sentence else None
    return Action(name or bare(line), given)


def printed_call(said: str, tools: Sequence[ToolSpec]) -> Step | None:
    """Return the first call of a text that ends with calls as models are trained to print them."""
    found = find_text_calls(said, _parameters(tools))
    if found is not None:
        return Step(found.text, Action(found.calls[0].name, found.calls[0].arguments))
    block = next(fences(said), None)
    before, written = ("", said) if block is None else (said[: block.start], block.content)
    action = _from_json(written, tools, needs_input=True)
    if action is None:
        return None
    is_known = _offered(action.tool, tools) is not None or action.tool.lower() in FINISHES
    return Step(before.strip(), action) if is_known else None


def answer_in(written: str) -> str:
    """Return the answer that was written as the input of an action that ends the run."""
    try:
        value = loads(written)
    except JSONRefused:
        return written
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    return value if isinstance(value, str) else written


def _offered(name: str, tools: Sequence[ToolSpec]) -> str | None:
    """Return the offered tool of this name; where no case of it is ambiguous, in any case."""
    same = [spec.name for spec in tools if spec.name.lower() == name.lower()]
    if name in same:
        return name
    return same[0] if len(same) == 1 else None


def _from_json(text: str, tools: Sequence[ToolSpec], *, needs_input: bool = False) -> Action | None:
    """Return the action of a text that is one JSON object with a name and an input."""
    block = next(fences(text), None) if text.startswith("```") else None
    try:
        value = loads(block.content if block is not None else text)
    except JSONRefused:
        return None
    if not isinstance(value, dict):
        return None
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    if name is None or (needs_input and not any(key in value for key in _INPUT_KEYS)):
        return None
    given: Any = next((value[key] for key in _INPUT_KEYS if key in value), "")
    return Action(_offered(name, tools) or name, given if isinstance(given, str) else dumps(given))


def _between(called: re.Match[str], name: str, tools: Sequence[ToolSpec]) -> str:
    """Return the input between the brackets: keywords as JSON, anything else as it stands."""
    inside = called[2] if called[2] is not None else called[3]
    try:
        return dumps(read_call(f"{name}({inside})", 0, _parameters(tools)).arguments)
    except (NotWritten, ValueError, TypeError):
        return inside.strip()


def _parameters(tools: Sequence[ToolSpec]) -> dict[str, list[str]]:
    return parameters_of([openai_function(spec) for spec in tools])
