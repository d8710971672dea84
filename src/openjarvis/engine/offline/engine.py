"""The engine without a model: it picks a tool by its description and says so when none fits.

It exists so that everything runs on a fresh machine with no key, no server and no download. It
never makes up an answer: what it says is a tool's result, or that there is nobody to ask.
"""

import json
import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, ClassVar
from uuid import uuid4

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.engine.base import InferenceEngine, Reply, reply_calls
from openjarvis.engine.offline.choose import Choice, choose
from openjarvis.engine.offline.notice import HOW_TO_GET_ONE
from openjarvis.engine.offline.request import read_request
from openjarvis.toolkit.base import ToolSpec
from openjarvis.toolkit.check import ArgumentsError, Checker

MODEL = "offline"
_NONE_FITS = (
    "No language model is available, and none of the tools fits this request. What there is:"
)
_NO_TOOLS = "No language model is available, and there are no tools to run."
_LONGEST_SENTENCE = 200


@EngineRegistry.register("offline")
class OfflineEngine(InferenceEngine):
    """Answers a request with at most one tool call, and a tool's result with that result.

    A tool whose metadata says `needs_model` is never called: there is none.
    """

    engine_id = "offline"
    takes_specs: ClassVar[bool] = True
    follows_prompts: ClassVar[bool] = False

    def __init__(self, *, today: Callable[[], date] = date.today) -> None:
        """Make the engine; `today` tells which day "tomorrow" is the day after."""
        self._today = today

    def generate(
        self,
        messages: Sequence[Message],
        *,
        model: str = MODEL,
        temperature: float = 0.7,
        max_tokens: int = 1024,
        tools: list[dict[str, Any]] | None = None,
        specs: Sequence[ToolSpec] | None = None,
        **kw: Any,
    ) -> Reply:
        """Return a tool call, a tool's result, or a sentence that nothing fits.

        `specs` tell more than `tools`: examples, and what needs a model. Without them the
        definitions are read.
        """
        if messages and messages[-1].role is Role.TOOL:
            return _says(_results(messages))
        offered = specs_of(tools or []) if specs is None else specs
        usable = [spec for spec in offered if not spec.metadata.get("needs_model")]
        request = next((one.text for one in reversed(messages) if one.role is Role.USER), "")
        choice = self._choice(request, usable)
        if choice is None:
            return _says(_what_there_is(usable))
        arguments = json.dumps(choice.arguments, ensure_ascii=False)
        return _calls(ToolCall(f"call_{uuid4().hex}", choice.tool, arguments))

    async def agenerate(self, messages: Sequence[Message], **request: Any) -> Reply:
        return self.generate(messages, **request)

    def list_models(self) -> list[str]:
        return [MODEL]

    def _choice(self, text: str, specs: Sequence[ToolSpec]) -> Choice | None:
        """Return the best choice whose arguments the tool's schema accepts."""
        if not text.strip() or not specs:
            return None
        by_name = {spec.name: spec for spec in specs}
        for choice in choose(read_request(text, self._today()), specs):
            if _is_accepted(choice, by_name[choice.tool]):
                return choice
        return None


def specs_of(definitions: Sequence[dict[str, Any]]) -> list[ToolSpec]:
    """Return what OpenAI function definitions tell of their tools."""
    functions = [definition.get("function") or {} for definition in definitions]
    return [
        ToolSpec(
            name=str(function["name"]),
            description=str(function.get("description") or ""),
            parameters=function.get("parameters") or {},
        )
        for function in functions
        if function.get("name")
    ]


def _is_accepted(choice: Choice, spec: ToolSpec) -> bool:
    try:
        Checker(spec.parameters or {}, owner=spec.name).check(choice.arguments)
    except (ArgumentsError, ToolDefinitionError):
        return False
    return True


def _results(messages: Sequence[Message]) -> str:
    """Return the results that end the conversation, as they are."""
    results: list[str] = []
    for message in reversed(messages):
        if message.role is not Role.TOOL:
            break
        results.append(_result(message))
    return "\n\n".join(reversed(results))


def _result(message: Message) -> str:
    if message.metadata.get("success", True):
        return message.text
    return f"The tool {message.name or 'that was called'} failed: {message.text}"


def _what_there_is(specs: Sequence[ToolSpec]) -> str:
    if not specs:
        return f"{_NO_TOOLS} {HOW_TO_GET_ONE}"
    return "\n".join([_NONE_FITS, *map(_listed, specs), HOW_TO_GET_ONE])


def _listed(spec: ToolSpec) -> str:
    """Return a tool's name with the first sentence of its description."""
    flat = " ".join((spec.description or "").split())
    sentence = re.split(r"(?<=[.!?。！？])\s", flat, maxsplit=1)[0]
    if len(sentence) > _LONGEST_SENTENCE:
        sentence = f"{sentence[:_LONGEST_SENTENCE]}…"
    return f"- {spec.name}: {sentence}" if sentence else f"- {spec.name}"


def _says(text: str) -> Reply:
    return Reply(content=text, usage=_no_usage(), model=MODEL, finish_reason="stop")


def _calls(call: ToolCall) -> Reply:
    return Reply(
        content="",
        usage=_no_usage(),
        model=MODEL,
        finish_reason="tool_calls",
        tool_calls=reply_calls([call]),
    )


def _no_usage() -> Any:
    return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
