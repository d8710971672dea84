"""Tool calls that a small model prints as text instead of making them.

Understood are the spellings of `PARSERS`, for offered tools only. A model may also *show* a call,
so the block must be the whole message or its end, stand outside quoted code, and be flawless: else
the text stays text. Pure, and no text makes it fail.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openjarvis.core import strict_json
from openjarvis.engine.written_calls import (
    NotWritten,
    Offered,
    WrittenCall,
    expect,
    read_call,
    skip_space,
)

MAX_CHARACTERS = 200_000
MAX_CALLS = 32


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call found in text; `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class TextCalls:
    """What a message with printed calls says: `text` before them, and the calls."""

    text: str
    calls: list[TextCall]


@dataclass(frozen=True, slots=True)
class _Block:
    """Calls that fill a text from `start` to where the parser was told to end."""

    start: int
    calls: list[TextCall]


class _NoCall(Exception):
    """Text that resembles calls and is none."""


def find_text_calls(text: str, offered: Offered) -> TextCalls | None:
    """Return the calls that `text` ends with, or None when it does not end with any."""
    end = len(text.rstrip())
    if not offered or not end or end > MAX_CHARACTERS:
        return None
    for parse in PARSERS:
        try:
            block = parse(text, end, offered)
        except (_NoCall, NotWritten, strict_json.JSONRefused):
            continue
        if block is not None and len(block.calls) <= MAX_CALLS and not _is_quoted(text, block):
            return TextCalls(text[: block.start].rstrip(), block.calls)
    return None


def find_cut_calls(text: str, offered: Offered) -> TextCalls | None:
    """Return the `<tool_call>`s at the end of a text that was cut off, or None when there are none.

    The arguments of the last one may be only the beginning of what was to be written.
    """
    start = text.rfind(_OPEN)
    if start < 0:
        return None
    whole = find_text_calls(text, offered)
    if whole is not None:
        return whole
    begun = _BEGUN.match(text, start + len(_OPEN))
    if begun is None or _CLOSE in text[start:] or begun["name"] not in offered:
        return None
    if _is_quoted(text, _Block(start, [])):
        return None
    before = find_text_calls(text[:start], offered) or TextCalls(text[:start].rstrip(), [])
    cut = TextCall(begun["name"], begun["arguments"] or "")
    return TextCalls(before.text, [*before.calls, cut])


def parameters_of(tools: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return what `find_text_calls` needs to know of OpenAI function definitions."""
    offered: dict[str, list[str]] = {}
    for definition in tools:
        function = definition.get("function")
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            schema = function.get("parameters")
            properties = schema.get("properties") if isinstance(schema, Mapping) else None
            offered[function["name"]] = list(properties or ())
    return offered


def _is_quoted(text: str, block: _Block) -> bool:
    before = text[: block.start]
    return before.endswith("`") or before.count("```") % 2 == 1


def _trailing(text: str, end: int, last: Callable[[int], _Block | None]) -> _Block | None:
    """Return the run of blocks before `end`; `last` gives the one that ends at a position."""
    calls: list[TextCall] = []
    start = end
    while len(calls) <= MAX_CALLS and (block := last(end)) is not None:
        calls = block.calls + calls
        start = block.start
        end = _without_space(text, start)
    return _Block(start, calls) if calls else None


def _without_space(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


# <tool_call>{"name": …, "arguments": {…}}</tool_call>, once or several times

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_BEGUN = re.compile(
    r'\s*\{\s*"name"\s*:\s*"(?P<name>[^"\\]*)"\s*,?\s*'
    r'(?:"(?:arguments|parameters)"\s*:\s*(?P<arguments>.*))?',
    re.DOTALL,
)


def _tagged(text: str, end: int, offered: Offered) -> _Block | None:
    if text.rfind(_OPEN) > text.rfind(_CLOSE):
        # Some models stop instead of closing the last one; only a whole object passes then.
        start = text.rfind(_OPEN)
        final = _json_calls(text[start + len(_OPEN) : end], offered)
        earlier = _tagged_run(text, _without_space(text, start), offered)
        return _Block(earlier.start, earlier.calls + final) if earlier else _Block(start, final)
    return _tagged_run(text, end, offered)


def _tagged_run(text: str, end: int, offered: Offered) -> _Block | None:
    def last(end: int) -> _Block | None:
        if not text.endswith(_CLOSE, 0, end):
            return None
        start = text.rfind(_OPEN, 0, end)
        if start < 0:
            raise _NoCall
        inner = text[start + len(_OPEN) : end - len(_CLOSE)]
        return _Block(start, _json_calls(inner, offered))

    return _trailing(text, end, last)


# [TOOL_CALLS] [{"name": …, "arguments": {…}}], or [TOOL_CALLS]name[ARGS]{…}

_MARK, _ARGS, _ID = "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"


def _marked(text: str, end: int, offered: Offered) -> _Block | None:
    start = text.find(_MARK)
    if start < 0:
        return None
    body = text[start + len(_MARK) : end].strip()
    if body.startswith(("[", "{")):
        return _Block(start, _json_calls(body, offered))
    return _Block(start, [_marked_call(part, offered) for part in body.split(_MARK)])


def _marked_call(part: str, offered: Offered) -> TextCall:
    head, has_arguments, arguments = part.partition(_ARGS)
    if not has_arguments:
        head, brace, rest = part.partition("{")
        arguments = brace + rest
    return _call(head.partition(_ID)[0].strip(), strict_json.loads(arguments), offered)


# A fence of JSON, or JSON alone

_FENCE = "```"
_FENCED = re.compile(r"(?:json|tool_calls?)?[ \t]*\r?\n", re.IGNORECASE)


def _fenced(text: str, end: int, offered: Offered) -> _Block | None:
    def last(end: int) -> _Block | None:
        if not text.endswith(_FENCE, 0, end):
            return None
        close = end - len(_FENCE)
        start = text.rfind(_FENCE, 0, close)
        opening = _FENCED.match(text, start + len(_FENCE)) if start >= 0 else None
        if opening is None or opening.end() > close or not _at_line_start(text, start):
            return None
        inner = text[opening.end() : close]
        return _Block(start, _json_calls(inner, offered, may_lack_arguments=False))

    return _trailing(text, end, last)


def _bare(text: str, end: int, offered: Offered) -> _Block | None:
    whole = text[:end].lstrip()
    if not whole.startswith(("{", "[")):
        return None
    return _Block(0, _json_calls(whole, offered, may_lack_arguments=False))


def _at_line_start(text: str, position: int) -> bool:
    return not text[text.rfind("\n", 0, position) + 1 : position].strip()


_CALL_KEYS = frozenset({"name", "arguments", "parameters", "id", "type"})
_WRAPPER_KEYS = frozenset({"function", "id", "type"})


def _json_calls(text: str, offered: Offered, *, may_lack_arguments: bool = True) -> list[TextCall]:
    """Return the calls of a JSON object or array.

    `may_lack_arguments`: whether a name alone is a call. Where no marker says so, it may be any
    data.
    """
    value = strict_json.loads(text)
    entries = value if isinstance(value, list) else [value]
    if not entries:
        raise _NoCall
    return [_json_call(entry, offered, may_lack_arguments=may_lack_arguments) for entry in entries]


def _json_call(entry: Any, offered: Offered, *, may_lack_arguments: bool) -> TextCall:
    if isinstance(entry, dict) and "function" in entry and entry.keys() <= _WRAPPER_KEYS:
        entry = entry["function"]
    if not isinstance(entry, dict) or not entry.keys() <= _CALL_KEYS:
        raise _NoCall
    given = [entry[key] for key in ("arguments", "parameters") if key in entry]
    if len(given) > 1 or not (given or may_lack_arguments):
        raise _NoCall
    return _call(entry.get("name"), given[0] if given else {}, offered)


def _call(name: Any, arguments: Any, offered: Offered) -> TextCall:
    if not isinstance(name, str) or name not in offered:
        raise _NoCall
    if isinstance(arguments, str):  # encoded twice, as OpenAI's own format has it
        if not isinstance(strict_json.loads(arguments), dict):
            raise _NoCall
        return TextCall(name, arguments)
    if not isinstance(arguments, dict):
        raise _NoCall
    return TextCall(name, json.dumps(arguments, ensure_ascii=False))


# functionname(key=value, …): the whole message, its last lines, or a [list, of, them]


def _written(text: str, end: int, offered: Offered) -> _Block | None:
    begin = skip_space(text, 0)
    if text[begin] == "[":
        return _Block(begin, _written_list(text, begin + 1, end, offered))
    if not text.endswith(")", 0, end):
        return None
    whole = _written_between(text, begin, end, offered)
    return whole or _trailing(text, end, lambda end: _written_line(text, end, offered))


def _written_line(text: str, end: int, offered: Offered) -> _Block | None:
    return _written_between(text, skip_space(text, text.rfind("\n", 0, end) + 1), end, offered)


def _written_between(text: str, start: int, end: int, offered: Offered) -> _Block | None:
    try:
        call = read_call(text, start, offered)
    except NotWritten:
        return None
    return _Block(start, [_text_call(call)]) if call.end == end else None


def _written_list(text: str, position: int, end: int, offered: Offered) -> list[TextCall]:
    calls: list[TextCall] = []
    while len(calls) <= MAX_CALLS:
        call = read_call(text, skip_space(text, position), offered)
        calls.append(_text_call(call))
        position = skip_space(text, call.end)
        if text.startswith("]", position) and position + 1 == end:
            return calls
        position = expect(text, position, ",")
    raise _NoCall


def _text_call(call: WrittenCall) -> TextCall:
    return TextCall(call.name, json.dumps(call.arguments, ensure_ascii=False))


PARSERS: tuple[Callable[[str, int, Offered], _Block | None], ...] = (
    _tagged,
    _marked,
    _fenced,
    _bare,
    _written,
)
"""The spellings that are understood, in the order in which they are tried."""
