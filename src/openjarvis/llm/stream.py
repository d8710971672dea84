"""`stream` and `astream`: the loop with the answer coming in as it is written."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any, Self, Unpack

from openjarvis.core.types import ToolCall
from openjarvis.engine.base import InferenceEngine, StreamChunk, whole
from openjarvis.execution.record import CallRecord
from openjarvis.execution.trip import Performed
from openjarvis.llm.generate import areply, leave_response
from openjarvis.llm.loop import Conversation
from openjarvis.llm.request import RequestFields, prepare
from openjarvis.llm.response import FinishReason, Response


@dataclass(frozen=True, slots=True)
class TextEvent:
    """A piece of what the model says."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """The model asked for a tool, which is run now."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolResultEvent:
    """A call ended."""

    record: CallRecord


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A model turn is complete; `step` counts from 1."""

    step: int
    finish_reason: FinishReason


StreamEvent = TextEvent | ToolCallEvent | ToolResultEvent | StepEvent


class Stream:
    """A run whose text can be read as it comes: `for text in stream`, or `stream.events()`.

    Leaving the `with` block early closes the connection. `response` tells at any time where the run
    stands; its `sources` are complete only after the end.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._events = _events(conversation)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[str]:
        for event in self._events:
            if type(event) is TextEvent:
                yield event.text

    def events(self) -> Iterator[StreamEvent]:
        """Yield what happens: text, calls, their results, the ends of turns."""
        return self._events

    @property
    def response(self) -> Response:
        """Where the run stands."""
        return self._conversation.response()

    def close(self) -> None:
        """End the run; a request under way is broken off."""
        self._events.close()


class AsyncStream:
    """`Stream` for `async with` and `async for`."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._events = _aevents(conversation)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for event in self._events:
            if type(event) is TextEvent:
                yield event.text

    def events(self) -> AsyncIterator[StreamEvent]:
        """Yield what happens: text, calls, their results, the ends of turns."""
        return self._events

    @property
    def response(self) -> Response:
        """Where the run stands."""
        return self._conversation.response()

    async def aclose(self) -> None:
        """End the run; a request under way is broken off."""
        await self._events.aclose()


def stream(**request: Unpack[RequestFields]) -> Stream:
    """Return a run to read as it comes; nothing is sent before the first event is asked for.

    ```python
    with llm.stream(messages=[llm.user("Tell me a story")]) as story:
        for text in story:
            print(text, end="")
    ```

    Raises:
        LLMError: `LLM_INVALID_REQUEST` at once; the others while the stream is read.
    """
    return Stream(Conversation(prepare(**request)))


def astream(**request: Unpack[RequestFields]) -> AsyncStream:
    """Return what `stream` returns, for `async with` and `async for`."""
    return AsyncStream(Conversation(prepare(**request)))


class _Teller:
    """Turns what comes in of a run into events; the drivers below do the waiting."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._heard: list[str] = []
        self._reply: Any = None
        self.calls: Sequence[ToolCall] = ()

    def ask(self) -> None:
        """Begin a model turn."""
        self._heard.clear()
        self._reply = None
        self._conversation.ask()

    def hear(self, chunk: StreamChunk) -> bool:
        """Note a piece of the turn; tell whether it is text."""
        if chunk.reply is not None:
            self._reply = chunk.reply
        if chunk.text:
            self._heard.append(chunk.text)
        return bool(chunk.text)

    def end_turn(self) -> Iterator[StreamEvent]:
        """Complete the turn, and name the calls to run now."""
        self.calls = self._conversation.take_reply(self._reply)
        self._heard.clear()
        response = self._conversation.response()
        yield StepEvent(response.steps, response.finish_reason)
        yield from (ToolCallEvent(call) for call in self.calls)

    def results(self, performed: Sequence[Performed]) -> Iterator[StreamEvent]:
        """Hand the results to the conversation."""
        self._conversation.take_results(performed)
        yield from (ToolResultEvent(done.record) for done in performed)

    def break_off(self, error: BaseException) -> None:
        """Close the run where it stands."""
        leave_response(error, self._conversation.interrupt("".join(self._heard)))


def _events(conversation: Conversation) -> Generator[StreamEvent]:
    teller, executor = _Teller(conversation), conversation.request.executor
    try:
        while not conversation.has_ended:
            teller.ask()
            with closing(_chunks(conversation)) as chunks:
                for chunk in chunks:
                    if teller.hear(chunk):
                        yield TextEvent(chunk.text)
            yield from teller.end_turn()
            if teller.calls:
                yield from teller.results(executor.perform_all(teller.calls, conversation.run))
    except BaseException as error:
        teller.break_off(error)
        raise


async def _aevents(conversation: Conversation) -> AsyncGenerator[StreamEvent]:
    teller, executor = _Teller(conversation), conversation.request.executor
    try:
        while not conversation.has_ended:
            teller.ask()
            async with aclosing(_achunks(conversation)) as chunks:
                async for chunk in chunks:
                    if teller.hear(chunk):
                        yield TextEvent(chunk.text)
            for event in teller.end_turn():
                yield event
            if teller.calls:
                performed = await executor.aperform_all(teller.calls, conversation.run)
                for event in teller.results(performed):
                    yield event
    except BaseException as error:
        teller.break_off(error)
        raise


def _chunks(conversation: Conversation) -> Any:
    """Return the engine's stream; an engine that only generates gives its reply in one piece."""
    engine = conversation.request.engine
    if isinstance(engine, InferenceEngine):
        return engine.chunks(conversation.prompt, **conversation.options)
    return _whole(engine.generate(conversation.prompt, **conversation.options))


async def _achunks(conversation: Conversation) -> AsyncGenerator[StreamChunk]:
    engine = conversation.request.engine
    if isinstance(engine, InferenceEngine):
        async for chunk in engine.achunks(conversation.prompt, **conversation.options):
            yield chunk
    else:
        for chunk in whole(await areply(conversation)):
            yield chunk


def _whole(reply: Any) -> Generator[StreamChunk]:
    yield from whole(reply)
