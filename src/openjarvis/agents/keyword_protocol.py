"""Steps written as labelled lines: `Thought:`, `Action:`, `Action Input:`, `Final Answer:`.

Two spellings of one protocol, `REACT` and `STRUCTURED`. Labels are read in any case, with Markdown
around them and with full-width colons.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from openjarvis.agents.arguments import json_end
from openjarvis.agents.prompts import LAST_WORD
from openjarvis.agents.protocol import Action, Protocol, Step
from openjarvis.agents.reading import fences, spoken, unfenced, unquoted
from openjarvis.agents.wishes import FINISHES, answer_in, printed_call, wish
from openjarvis.engine.written_calls import skip_space
from openjarvis.toolkit.base import ToolSpec

# Possessive (`*+`), so that no run of blanks or stars takes more time than its length.
_BEFORE = r"^[ \t]*+(?:[*_#`+\-]{1,12}+[ \t]*+|\d{1,3}+[.)][ \t]*+){0,4}+"
_BETWEEN = r"(?<![\w`\"'“‘-])"  # what is quoted is no step
_COLON = r"[ \t]*+[*_`]{0,4}+[ \t]*+[:：](?:[*_`]{1,4}(?=\s|\Z))?[ \t]*+"
_HEADING = r"[ \t]*+[*_`]{0,4}+[ \t]*+$"
_NO_TOOL = frozenset({"none", "n/a", "na", "no action", "no tool", "nothing", "null", "-", ""})
_NUMBER = r"(?:[ \t]*+#?\d{1,3}+)?+"
_SPOKEN_ON = re.compile(rf"(?<!\s)\s++(?:Observation|OBSERVATION){_NUMBER}\s*+[:：]")


class _Mark(NamedTuple):
    """A label: which it is, where it begins, and where what it labels begins."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class KeywordProtocol(Protocol):
    """One spelling: how the labels are written, and how they may be."""

    thought: str
    action: str
    input: str
    observed: str
    final: str
    action_pattern: str
    input_pattern: str

    def render(self, step: Step) -> str:
        lines = [f"{self.thought}: {step.text}"] if step.text else []
        if step.action is not None:
            lines.append(f"{self.action}: {step.action.tool}")
            lines.append(f"{self.input}: {step.action.input}")
        else:
            lines.append(f"{self.final}: {step.answer}")
        return "\n".join(lines)

    @property
    def last_word(self) -> str:
        return f"{LAST_WORD} Write nothing but '{self.final}: <answer>'."

    def observation(self, output: str) -> str:
        return f"{self.observed}: {output}"

    def parse(self, text: str, tools: Sequence[ToolSpec]) -> Step:
        said = spoken(text, self.has_step)
        meant = unfenced(unquoted(said))
        if _marks(meant, self):
            said = meant  # a step that is quoted as a whole is not a quotation
        said = _without_echo(said, self)
        marks = _marks(said, self)
        decisive = next((one for one in marks if one.kind in ("action", "final")), None)
        if decisive is None:
            inline = _inline_marks(said, self)
            marks = inline or marks
        step = self._first(said, marks, tools)
        if step is None:
            step = self._printed_call(said, tools)
        return step or self._without_step(said, marks)

    def has_step(self, said: str) -> bool:
        """Tell whether an answer or the input of an action has begun in `said`."""
        marks = _found(said, self, inline=False) + _found(said, self, inline=True)
        return any(mark.kind in ("input", "final") for mark in marks)

    def _first(self, said: str, marks: list[_Mark], tools: Sequence[ToolSpec]) -> Step | None:
        """Return the first step that the labels make; what comes after it is not looked at."""
        for position, mark in enumerate(marks):
            step: Step | None = None
            if mark.kind == "final":
                return self._finished(said, mark, marks[position + 1 :])
            if mark.kind == "action":
                step = self._acted(said, mark, marks[position + 1 : position + 3], tools)
            if step is not None:
                return step
        return None

    def _finished(self, said: str, mark: _Mark, later: list[_Mark]) -> Step | None:
        # What follows as another thought or observation is a conversation with itself.
        end = next((one.start for one in later if one.kind in ("observed", "thought")), len(said))
        answer = said[mark.end : end].strip()
        return Step(said[:end].rstrip(), answer=answer) if answer else None

    def _acted(
        self, said: str, mark: _Mark, later: list[_Mark], tools: Sequence[ToolSpec]
    ) -> Step | None:
        """Return the step of an action; None when the label names no tool."""
        ends = [one.start for one in later] + [len(said)]
        end = ends[0]
        action = wish(said[mark.end : end], tools)
        if later and later[0].kind == "input":
            written, end = _input(said, later[0].end, ends[1])
            action = Action(action.tool, written or action.input)
        is_offered = any(spec.name == action.tool for spec in tools)
        if not is_offered and action.tool.lower() in _NO_TOOL:
            return None
        return _ended(Step(said[:end].rstrip(), action), is_offered=is_offered)

    def _printed_call(self, said: str, tools: Sequence[ToolSpec]) -> Step | None:
        found = printed_call(said, tools)
        if found is None or found.action is None:
            return None
        is_offered = any(spec.name == found.action.tool for spec in tools)
        return _ended(Step(self.render(found), found.action), is_offered=is_offered)

    def _without_step(self, said: str, marks: list[_Mark]) -> Step:
        """Return plain words as the answer; labels without a step of theirs need correction."""
        if said and not marks:
            return Step(said, answer=said)
        thoughts = [
            said[mark.end : end].strip()
            for mark, end in _sections(said, marks)
            if mark.kind == "thought"
        ]
        left = next((thought for thought in reversed(thoughts) if thought), said)
        return Step(said, answer=left, correction=self._correction())

    def _correction(self) -> str:
        return (
            f"That step has no usable {self.action} and no {self.final}. Write either "
            f"'{self.action}: <tool>' and '{self.input}: <JSON>', or '{self.final}: <answer>'."
        )


def _ended(step: Step, *, is_offered: bool) -> Step:
    """Return a step whose action only says that the run is over as the answer that it is."""
    action = step.action
    if is_offered or action is None or not action.input or action.tool.lower() not in FINISHES:
        return step
    return Step(step.text, answer=answer_in(action.input))


REACT = KeywordProtocol(
    thought="Thought",
    action="Action",
    input="Action Input",
    observed="Observation",
    final="Final Answer",
    action_pattern=r"action",
    input_pattern=r"action[ _]?input",
)
STRUCTURED = KeywordProtocol(
    thought="THOUGHT",
    action="TOOL",
    input="INPUT",
    observed="OBSERVATION",
    final="FINAL_ANSWER",
    action_pattern=r"tool|action",
    input_pattern=r"(?:tool[ _]?|action[ _]?)?input",
)


@cache
def _labels(protocol: KeywordProtocol, *, inline: bool) -> re.Pattern[str]:
    """Return what finds labels, at the beginning of a line or, spelt exactly, `inline`."""
    kinds = {
        "thought": "thoughts?",
        "input": protocol.input_pattern,
        "action": protocol.action_pattern,
        "observed": "observations?",
    }
    if inline:
        kinds = {
            kind: re.escape(getattr(protocol, kind))
            for kind in ("thought", "input", "action", "observed")
        }
        final = f"(?P<final>{re.escape(protocol.final)}){_COLON}"
    else:
        final = f"(?P<final>final[ _]?answer)(?:{_COLON}|{_HEADING})"
    others = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in kinds.items())
    pattern = f"(?:(?:{others}){_NUMBER}{_COLON}|{final})"
    if inline:
        return re.compile(_BETWEEN + pattern)
    return re.compile(_BEFORE + pattern, re.IGNORECASE | re.MULTILINE)


def _found(said: str, protocol: KeywordProtocol, *, inline: bool) -> list[_Mark]:
    """Return the labels of a text; what is quoted in it, with `>` or in a fence, labels nothing."""
    matches = _labels(protocol, inline=inline).finditer(said)
    marks = [_Mark(str(it.lastgroup), it.start(), it.end()) for it in matches]
    if not marks:
        return []
    # A fence may open behind a label.
    blank = _labels(protocol, inline=False).sub(lambda label: " " * len(label[0]), said)
    blocks = [
        (max(said.find("\n", block.start, block.end), block.start), block.end)
        for block in fences(blank)
    ]
    return [mark for mark in marks if not _is_quoted(said, mark.start, blocks)]


def _is_quoted(said: str, position: int, blocks: list[tuple[int, int]]) -> bool:
    number = bisect_left(blocks, (position,)) - 1
    if number >= 0 and position < blocks[number][1]:
        return True
    return said[said.rfind("\n", 0, position) + 1 : position].lstrip().startswith(">")


def _marks(said: str, protocol: KeywordProtocol) -> list[_Mark]:
    return _found(said, protocol, inline=False)


def _inline_marks(said: str, protocol: KeywordProtocol) -> list[_Mark]:
    """Return the labels of a model that breaks no lines; none unless they make a whole step."""
    marks = _found(said, protocol, inline=True)
    kinds = {mark.kind for mark in marks}
    return marks if "final" in kinds or {"action", "input"} <= kinds else []


def _without_echo(said: str, protocol: KeywordProtocol) -> str:
    """Return `said` without the observations that stand before its first step."""
    marks = _marks(said, protocol)
    if not any(mark.kind == "observed" for mark in marks):
        return said
    kept = [said[: marks[0].start]]
    for mark, end in _sections(said, marks):
        if mark.kind in ("action", "input", "final"):
            return "".join(kept) + said[mark.start :]
        if mark.kind != "observed":
            kept.append(said[mark.start : end])
    return "".join(kept)


def _sections(said: str, marks: list[_Mark]) -> Iterator[tuple[_Mark, int]]:
    """Yield each label with where its section ends."""
    ends = [mark.start for mark in marks[1:]] + [len(said)]
    yield from zip(marks, ends, strict=False)


def _input(said: str, start: int, limit: int) -> tuple[str, int]:
    """Return the input that begins at `start`, and where it ends.

    JSON and a fenced block end where they end; plain text goes to the next label, at `limit`.
    """
    start = skip_space(said, start)
    if said.startswith(("```", "~~~"), start):
        block = next(fences(said[start:]), None)
        if block is not None:
            return said[start : start + block.end], start + block.end
    end = json_end(said, start)
    if end is not None and (said[start] == "{" or not said[end:limit].split("\n")[0].strip()):
        return said[start:end], end
    limit = max(start, limit)
    invented = _SPOKEN_ON.search(said, start, limit)
    end = invented.start() if invented else limit
    return said[start:end].strip(), end
