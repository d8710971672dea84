"""Steps written as Python: a fenced block is run, `Action:` names another tool, else it is said."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from openjarvis.agents.keyword_protocol import REACT
from openjarvis.agents.prompts import LAST_WORD_ON_CODE
from openjarvis.agents.protocol import Action, Protocol, Step
from openjarvis.agents.reading import Fence, fences, spoken, unquoted
from openjarvis.core.strict_json import JSONRefused, dumps, loads
from openjarvis.toolkit.base import ToolSpec

MAX_OUTPUT = 10_000
TRUNCATED = "[Output truncated]"

_EMPTY = "That reply was empty. Write one block of code, or the answer in plain words."

_LANGUAGES = frozenset({"ipython", "repl", "tool_code", "code", "jupyter", "execute"})
_LOOKS_LIKE_PYTHON = re.compile(
    r"^[ \t]*(?:import \w|from \w[\w.]* import|def \w|for \w|while |class \w|with \w|try:|print\(|"
    r"[A-Za-z_][\w.\[\]'\"]{0,80}[ \t]*[+\-*/]?=[ \t]*[^=\s])",
    re.MULTILINE,
)


@dataclass(frozen=True)
class CodeProtocol(Protocol):
    """Blocks of code go to `code_tool` as its `code`."""

    code_tool: str

    def parse(self, text: str, tools: Sequence[ToolSpec]) -> Step:
        said = spoken(text, self.has_step)
        meant = unquoted(said)
        block = next((one for one in fences(meant) if _is_code(one)), None)
        said = said if block is None else meant
        if block is not None and REACT.parse(said[: block.start], tools).action is None:
            return Step(said[: block.end], Action(self.code_tool, dumps({"code": block.content})))
        step = REACT.parse(said, tools)
        # Words alone are the answer here; only where there are none is there something to correct.
        return replace(step, correction="" if step.action or step.answer else _EMPTY)

    def has_step(self, said: str) -> bool:
        """Tell whether something other than code has begun in `said`."""
        return REACT.has_step(said)

    def render(self, step: Step) -> str:
        if step.action is None:
            return step.answer
        if step.action.tool != self.code_tool:
            return REACT.render(step)
        return f"```python\n{_code(step.action.input)}\n```"

    @property
    def last_word(self) -> str:
        return LAST_WORD_ON_CODE

    def observation(self, output: str) -> str:
        if len(output) > MAX_OUTPUT:
            output = f"{output[:MAX_OUTPUT]}\n{TRUNCATED}"
        return f"Output:\n{output}"


def _code(written: str) -> str:
    """Return the code in the arguments of a call."""
    try:
        value = loads(written)
    except JSONRefused:
        return written
    return str(value.get("code", "")) if isinstance(value, dict) else written


def _is_code(block: Fence) -> bool:
    if not block.content.strip():
        return False
    if block.language:
        return block.language.startswith("py") or block.language in _LANGUAGES
    return bool(_LOOKS_LIKE_PYTHON.search(block.content))


CODE_ACT = CodeProtocol("code_interpreter")
