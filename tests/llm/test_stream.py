"""The answer as it is written: events in their order, and leaving early."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from openjarvis import llm
from openjarvis.core.types import Message
from openjarvis.engine.base import InferenceEngine, Reply, StreamChunk
from openjarvis.llm import LLMError, Outcome
from openjarvis.testing import ScriptedEngine, calls, says


@llm.tool
def double(number: int) -> int:
    """Double a number."""
    return number * 2


def test_events_come_in_the_order_things_happen() -> None:
    engine = ScriptedEngine(
        [[says("Let me see."), calls("double", number=4)], says("8")], chunk_size=6
    )

    with llm.stream(
        messages=[llm.user("Double 4")], tools=[double], max_steps=2, engine=engine
    ) as stream:
        events = list(stream.events())

    assert [type(event).__name__ for event in events] == [
        "TextEvent",
        "TextEvent",
        "StepEvent",
        "ToolCallEvent",
        "ToolResultEvent",
        "TextEvent",
        "StepEvent",
    ]
    assert events[3].call.arguments == '{"number": 4}'  # type: ignore[union-attr]
    assert events[4].record.output == "8"  # type: ignore[union-attr]
    assert [event.step for event in events if isinstance(event, llm.StepEvent)] == [1, 2]
    assert stream.response.text == "8"


def test_the_text_is_that_of_all_turns() -> None:
    engine = ScriptedEngine([[says("One. "), calls("double", number=1)], says("Two.")])

    with llm.stream(
        messages=[llm.user("Go")], tools=[double], max_steps=2, engine=engine
    ) as stream:
        assert "".join(stream) == "One. Two."


def test_nothing_is_sent_before_the_first_event_is_asked_for() -> None:
    engine = ScriptedEngine([says("x")])

    with llm.stream(messages=[llm.user("Go")], engine=engine):
        pass

    assert engine.requests == []


class Connection(InferenceEngine):
    """An engine that says whether its connection is open."""

    engine_id = "connection"

    def __init__(self) -> None:
        self.is_open = False

    def generate(self, messages: Sequence[Message], **request: Any) -> Reply:
        raise AssertionError

    def chunks(self, messages: Sequence[Message], **request: Any) -> Iterator[StreamChunk]:
        self.is_open = True
        try:
            for word in ("one ", "two ", "three "):
                yield StreamChunk(word)
            yield StreamChunk(reply=Reply(content="one two three "))
        finally:
            self.is_open = False

    async def achunks(self, messages: Sequence[Message], **request: Any) -> Any:
        for chunk in self.chunks(messages, **request):
            yield chunk


def test_leaving_early_closes_the_connection_and_keeps_what_was_said() -> None:
    engine = Connection()

    with llm.stream(messages=[llm.user("Go")], engine=engine) as stream:
        for _ in stream:
            assert engine.is_open
            break

    assert not engine.is_open
    assert stream.response.text == "one "
    assert [message.text for message in stream.response.messages] == ["Go", "one "]


def test_an_error_in_the_block_closes_the_connection_too() -> None:
    engine = Connection()

    def fail_inside() -> None:
        with llm.stream(messages=[llm.user("Go")], engine=engine) as stream:
            next(iter(stream))
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fail_inside()

    assert not engine.is_open


def test_leaving_an_async_stream_early_closes_the_connection() -> None:
    engine = Connection()

    async def scenario() -> llm.Response:
        async with llm.astream(messages=[llm.user("Go")], engine=engine) as stream:
            async for _ in stream:
                break
        return stream.response

    assert asyncio.run(scenario()).text == "one "


def test_leaving_between_a_call_and_its_result_leaves_no_orphan() -> None:
    engine = ScriptedEngine([calls("double", number=4), says("ok")])

    with llm.stream(
        messages=[llm.user("Go")], tools=[double], max_steps=2, engine=engine
    ) as stream:
        for event in stream.events():
            if isinstance(event, llm.ToolCallEvent):
                break

    assert [record.outcome for record in stream.response.tool_calls] == [Outcome.NOT_RUN]
    assert llm.generate(messages=stream.response.messages, engine=engine).text == "ok"


def test_an_engine_that_breaks_off_keeps_the_half_answer_on_the_error() -> None:
    class Broken(Connection):
        def chunks(self, messages: Sequence[Message], **request: Any) -> Iterator[StreamChunk]:
            yield StreamChunk("half ")
            raise LLMError("LLM_UNAVAILABLE", "cut", 502, retryable=True)

    with pytest.raises(LLMError) as caught:
        list(llm.stream(messages=[llm.user("Go")], engine=Broken()))

    assert caught.value.response.text == "half "


def test_an_engine_without_streaming_gives_its_answer_in_one_piece() -> None:
    class Plain:
        def generate(self, messages: Any, **request: Any) -> Any:
            return {"content": "all at once"}

    assert list(llm.stream(messages=[llm.user("Go")], engine=Plain(), model="m")) == ["all at once"]
