"""An engine whose answers are written down beforehand: tests without a provider."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from openjarvis.core.errors import LLMError
from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message, ToolCall
from openjarvis.engine.base import InferenceEngine, Reply, StreamChunk, reply_calls


@dataclass(frozen=True, slots=True)
class Says:
    """A turn in which the model says `text`."""

    text: str
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Calls:
    """A turn in which the model calls a tool; `arguments` is the JSON text."""

    name: str
    arguments: str
    call_id: str | None = None


Turn = Says | Calls | LLMError | Sequence[Says | Calls] | Callable[[Sequence[Message]], Any]
"""One answer; a callable gets the messages and returns one of the others."""


def says(text: str, *, finish_reason: str | None = None) -> Says:
    """Return a turn that answers with `text`."""
    return Says(text, finish_reason)


def calls(tool_name: str, /, **arguments: Any) -> Calls:
    """Return a turn that calls a tool with these arguments."""
    return Calls(tool_name, json.dumps(arguments, ensure_ascii=False))


def calls_raw(name: str, text: str, *, call_id: str | None = None) -> Calls:
    """Return a turn that calls a tool with `text` as the arguments, JSON or not."""
    return Calls(name, text, call_id)


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """What the engine was asked."""

    messages: list[Message]
    model: str
    tools: list[dict[str, Any]] | None
    options: dict[str, Any] = field(default_factory=dict)


@EngineRegistry.register("scripted")
class ScriptedEngine(InferenceEngine):
    """Answers with the turns of a script, in order, and records every request.

    `requests` is the list of `RecordedRequest`s. A request past the end of the script is an
    `AssertionError`, so that a test does not pass by accident. Threads may share it.

    Raises:
        TypeError: when the script is no list of turns.
    """

    engine_id = "scripted"

    def __init__(
        self,
        script: Sequence[Turn] = (),
        *,
        model: str = "scripted-model",
        chunk_size: int = 8,
        provider_types: Sequence[str] = (),
    ) -> None:
        _check_script(script)
        self._script = list(script)
        self._model = model
        self._chunk_size = chunk_size
        self._lock = Lock()
        self._ids = 0
        self.provider_types = frozenset(provider_types)  # type: ignore[misc]
        self.requests: list[RecordedRequest] = []

    def generate(
        self,
        messages: Sequence[Message],
        *,
        model: str = "",
        temperature: float = 0.7,
        max_tokens: int = 1024,
        tools: list[dict[str, Any]] | None = None,
        **kw: Any,
    ) -> Reply:
        options = {"temperature": temperature, "max_tokens": max_tokens, **kw}
        with self._lock:
            self.requests.append(RecordedRequest(list(messages), model, tools, options))
            position = len(self.requests) - 1
        if position >= len(self._script):
            raise AssertionError(
                f"The script has {len(self._script)} turns, and this is request {position + 1}; "
                f"the last message was {messages[-1].text[:200]!r}."
            )
        turn = self._script[position]
        if callable(turn) and not isinstance(turn, LLMError):
            turn = turn(messages)
        if isinstance(turn, LLMError):
            raise turn
        return self._reply(turn)

    async def agenerate(self, messages: Sequence[Message], **request: Any) -> Reply:
        return self.generate(messages, **request)

    def chunks(self, messages: Sequence[Message], **request: Any) -> Iterator[StreamChunk]:
        reply = self.generate(messages, **request)
        text, size = reply["content"], self._chunk_size
        for start in range(0, len(text), size):
            yield StreamChunk(text[start : start + size])
        yield StreamChunk(reply=reply)

    async def achunks(self, messages: Sequence[Message], **request: Any) -> Any:
        for chunk in self.chunks(messages, **request):
            yield chunk

    def list_models(self) -> list[str]:
        return [self._model]

    def assert_exhausted(self) -> None:
        """Fail when the script has turns that nobody asked for."""
        unused = len(self._script) - len(self.requests)
        if unused > 0:
            raise AssertionError(
                f"{unused} of {len(self._script)} scripted turns were never asked for."
            )

    def _reply(self, turn: Any) -> Reply:
        elements = [turn] if isinstance(turn, Says | Calls) else list(turn)
        spoken = [element for element in elements if isinstance(element, Says)]
        wanted = [element for element in elements if isinstance(element, Calls)]
        reason = next((said.finish_reason for said in spoken if said.finish_reason), None)
        reply = Reply(
            content="".join(said.text for said in spoken),
            usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            model=self._model,
            finish_reason=reason or ("tool_calls" if wanted else "stop"),
        )
        if wanted:
            reply["tool_calls"] = reply_calls([self._call(element) for element in wanted])
        return reply

    def _call(self, wanted: Calls) -> ToolCall:
        with self._lock:
            self._ids += 1
            call_id = f"call_{self._ids}" if wanted.call_id is None else wanted.call_id
        return ToolCall(call_id, wanted.name, wanted.arguments)


def _check_script(script: Any) -> None:
    turns = [script] if isinstance(script, str | bytes) else script
    if not isinstance(turns, Sequence) or any(isinstance(turn, str | bytes) for turn in turns):
        raise TypeError(
            'A script is a list of turns like says("…"), so write '
            f'ScriptedEngine([says("…")]); got {script!r:.80}.'
        )
