"""The agent for texts too long to be shown to a model: it looks into them with code."""

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, NamedTuple

from openjarvis.agents.base import AgentContext
from openjarvis.agents.code_protocol import CodeProtocol
from openjarvis.agents.document import read_document
from openjarvis.agents.prompts import rlm_prompt
from openjarvis.agents.protocol import Action, Step
from openjarvis.agents.reading import fences
from openjarvis.agents.rlm_queries import Budget, Queries
from openjarvis.agents.rlm_repl import RLM_REPL, RLMRepl
from openjarvis.agents.text_loop import TextConversation
from openjarvis.agents.tool_agent import ToolAgent
from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.core.registry import AgentRegistry
from openjarvis.core.strict_json import dumps
from openjarvis.execution.record import CallRecord
from openjarvis.llm.generate import converse
from openjarvis.llm.loop import Conversation
from openjarvis.sandbox.isolation import SandboxRefused
from openjarvis.sandbox.limits import Limits
from openjarvis.sandbox.session import Sandbox
from openjarvis.toolkit.base import ToolSpec

LONG_QUESTION = 20_000
"""A longer input is not put before the model: without a document it is the document."""

_THE_TASK_IS_INSIDE = "The task is in the variable `context`, with what it is about. Do it."
_SUB_SYSTEM = "Answer from what you are given. Be brief and exact."
_FINAL = re.compile(r"^[*` ]{0,5}FINAL(_VAR)?\(", re.MULTILINE)
_STRING = re.compile(r"""(\"{3}|'{3}|["'])(?:\\.|(?!\1)[^\\])*+\1\s*+(?=\))""", re.DOTALL)
_BRACKET = re.compile(r"[()]")


@dataclass(frozen=True)
class RLMProtocol(CodeProtocol):
    """Blocks of code, and `FINAL(…)` or `FINAL_VAR(…)` outside of them."""

    def parse(self, text: str, tools: Sequence[ToolSpec]) -> Step:
        step = super().parse(text, tools)
        final = _final(step.answer) if step.action is None else None
        if final is None:
            return step
        if not final.is_name:
            return Step(step.text, answer=_literal(final.inside))
        name = _literal(final.inside)
        code = f"FINAL({name})" if name.isidentifier() else f"FINAL_VAR({name!r})"
        return Step(step.text, Action(self.code_tool, dumps({"code": code})))

    def has_step(self, said: str) -> bool:
        return super().has_step(said) or _final(said) is not None


class _Final(NamedTuple):
    """What stands between the brackets of `FINAL(…)`, or of `FINAL_VAR(…)`, which `is_name`."""

    inside: str
    is_name: bool


def _final(answer: str) -> _Final | None:
    """Return the end that an answer gives; what it only tells or quotes of one is none.

    It begins on the first line, or nothing but the rest of its line comes after it.
    """
    blocks = fences(answer)
    block = next(blocks, None)
    first = len(answer) - len(answer.lstrip())
    last = len(answer.rstrip())
    position = 0
    while (mark := _FINAL.search(answer, position)) is not None:
        position = end = _closing(answer, mark.end())
        while block is not None and block.end <= mark.start():
            block = next(blocks, None)
        if block is not None and block.start <= mark.start():
            continue
        if mark.start() <= first or answer.find("\n", end, last) < 0:
            return _Final(answer[mark.end() : end].strip(), mark[1] is not None)
    return None


def _closing(text: str, start: int) -> int:
    """Return where the bracket closes that is open at `start`; the end where it never does."""
    string = _STRING.match(text, start)
    if string is not None:
        return string.end()
    depth = 1
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return bracket.start()
    return len(text)


PROTOCOL = RLMProtocol(RLM_REPL)


@AgentRegistry.register("rlm")
class RLMAgent(ToolAgent):
    """The document is a variable of a sandboxed session; the model searches it with code.

    The document is `AgentContext.document`, else what the memory found, else a long input itself.
    From the session `llm_query` asks `sub_model` (by default the same model), which may use the
    tools. `max_queries` bounds the questions of a run. With `max_depth` above 1 a sub-model is an
    `rlm` itself, down to that depth.
    """

    agent_id = "rlm"
    settings = "rlm"
    takes_document = True

    def __init__(
        self,
        engine: Any,
        model: str,
        *,
        sub_model: str = "",
        max_queries: int = 50,
        max_depth: int = 1,
        code_seconds: float = 60.0,
        allow_unsandboxed: bool = False,
        sandbox: Sandbox | None = None,
        **options: Any,
    ) -> None:
        super().__init__(engine, model, **options)
        self._sub_model = sub_model or model
        self._max_queries = max_queries
        self._max_depth = max_depth
        self._sandbox = sandbox or Sandbox(
            Limits(timeout_seconds=code_seconds), allow_unsandboxed=allow_unsandboxed
        )

    @contextmanager
    def begin(self, text: str, context: AgentContext) -> Iterator[Conversation]:
        with self._looking(text, context, Budget(self._max_queries), depth=1) as conversation:
            yield conversation

    @contextmanager
    def _looking(
        self, text: str, context: AgentContext, budget: Budget, *, depth: int
    ) -> Iterator[Conversation]:
        """Give a run with a session of its own."""
        question, document = _divided(text, context)
        below = _Below()
        queries = Queries(lambda prompt: self._ask(prompt, context, below, budget, depth), budget)
        repl = self._open(document, queries)
        try:
            conversation = TextConversation(
                self._request(
                    question,
                    replace(
                        context, memory_results=context.memory_results if context.document else []
                    ),
                    tools=self._executor.having([repl]),
                    max_steps=self._max_turns,
                    protocol=self._prompt(document),
                ),
                PROTOCOL,
                ending=lambda: queries.final,
            )
            try:
                yield conversation
            finally:
                below.report(conversation)
        finally:
            if depth == 1:
                budget.close()
            repl.close()

    def _prompt(self, document: str) -> str:
        return rlm_prompt(
            self._executor.tools,
            size=len(document),
            lines=document.count("\n") + 1,
            queries=self._max_queries,
        )

    def _open(self, document: str, queries: Queries) -> RLMRepl:
        try:
            return RLMRepl(self._sandbox, document, queries)
        except SandboxRefused as refusal:
            raise LLMError(LLMErrorCode.UNAVAILABLE, str(refusal), 503) from refusal

    def _ask(
        self, prompt: str, context: AgentContext, below: "_Below", budget: Budget, depth: int
    ) -> str:
        """Return what a sub-model answers."""
        inner = AgentContext(metadata=context.metadata, on_progress=context.on_progress)
        if depth < self._max_depth:
            inner.document = prompt
            with self._looking("", inner, budget, depth=depth + 1) as conversation:
                return below.drive(conversation)
        request = self._request(
            prompt,
            inner,
            tools=self._executor,
            max_steps=self._max_turns,
            protocol=_SUB_SYSTEM,
            model=self._sub_model,
        )
        return below.drive(Conversation(request))


class _Below:
    """What the runs below one run have used. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._usage: dict[str, int] = {}
        self._turns: list[tuple[str, dict[str, int], float | None]] = []
        self._calls: list[CallRecord] = []
        self._queries = 0

    def drive(self, conversation: Conversation) -> str:
        """Return the answer of a run, and note what it used, however it ends."""
        try:
            converse(conversation)
        finally:
            response = conversation.response()
            with self._lock:
                self._queries += 1
                self._calls += response.tool_calls
                self._turns += response.spending.turns
                for kind, tokens in response.usage.items():
                    self._usage[kind] = self._usage.get(kind, 0) + tokens
        return response.text

    def report(self, conversation: Conversation) -> None:
        """Add what was used to the run above."""
        response = conversation.response()
        with self._lock:
            for kind, tokens in self._usage.items():
                response.usage[kind] = response.usage.get(kind, 0) + tokens
            for turn in self._turns:
                response.spending.add(*turn)
            response.metadata |= {"sub_queries": self._queries, "sub_calls": list(self._calls)}


def _divided(text: str, context: AgentContext) -> tuple[str, str]:
    """Return the question that the model reads, and the document that it does not."""
    document = read_document(context.document)
    if not document:
        document = "\n\n".join(str(entry.content) for entry in context.memory_results)
    if not document and len(text) > LONG_QUESTION:
        document, text = read_document(text), ""
    return text or _THE_TASK_IS_INSIDE, document


def _literal(written: str) -> str:
    """Return the text of a string literal, or what is written as it stands."""
    quoted = written[:1] in ("'", '"') and written[:1] == written[-1:]
    try:
        value = ast.literal_eval(written) if quoted else written
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return written
    return value if isinstance(value, str) else written
