import asyncio

import pytest

from agent_tools import add
from openjarvis import llm
from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.llm.generate import converse
from openjarvis.llm.history import assistant, tool_result, user
from openjarvis.llm.loop import INTERRUPTED, Conversation
from openjarvis.llm.request import prepare
from openjarvis.llm.response import FinishReason
from openjarvis.testing import ScriptedEngine, calls, says


def conversation(engine: ScriptedEngine, **options: object) -> Conversation:
    request = prepare(messages=[user("1+2?")], engine=engine, tools=[add], max_steps=1)
    return Conversation(request, **options)  # type: ignore[arg-type]


def test_without_a_last_word_the_run_ends_where_the_steps_do() -> None:
    run = conversation(ScriptedEngine([calls("add", a=1, b=2)]))

    response = converse(run)

    assert (run.has_ended, run.ran_out) == (True, True)
    assert response.finish_reason is FinishReason.TOOL_USE


def test_a_last_word_gives_one_turn_more_without_tools() -> None:
    engine = ScriptedEngine([calls("add", a=1, b=2), says("I stopped.")])
    run = conversation(engine, last_word="No more tools.")

    response = converse(run)

    assert (response.text, response.steps) == ("I stopped.", 1)
    assert (run.has_ended, run.ran_out) == (True, True)
    assert engine.requests[1].tools is None
    assert engine.requests[1].messages[-1].text.endswith("No more tools.")
    assert [message.role for message in response.messages] == [
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.USER,
        Role.ASSISTANT,
    ]


def ask_a_driver(driver: str, engine: ScriptedEngine, history: list[Message]) -> None:
    if driver == "generate":
        llm.generate(messages=history, engine=engine)
    elif driver == "agenerate":
        asyncio.run(llm.agenerate(messages=history, engine=engine))
    elif driver == "stream":
        list(llm.stream(messages=history, engine=engine))
    else:

        async def read() -> None:
            async for _ in llm.astream(messages=history, engine=engine):
                pass

        asyncio.run(read())


@pytest.mark.parametrize("driver", ["generate", "agenerate", "stream", "astream"])
def test_beside_no_tools_calls_of_the_past_are_told_in_words(driver: str) -> None:
    call = ToolCall("c1", "add", '{"a": 1, "b": 2}')
    other = ToolCall("c2", "add", "{}")
    history = [
        user("1+2?"),
        assistant("Wait.", [call, other]),
        tool_result(call, "3"),
        tool_result(other, "no"),
        user("Thanks. And?"),
    ]
    engine = ScriptedEngine([says("Nothing.")])

    ask_a_driver(driver, engine, history)

    sent = engine.requests[0].messages
    assert [message.role for message in sent] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert not any(message.tool_calls for message in sent)
    assert '{"a": 1, "b": 2}' in sent[1].text
    assert "add: 3\n" in sent[2].text
    assert sent[2].text.endswith("Thanks. And?")


def test_beside_tools_calls_of_the_past_stay_calls() -> None:
    call = ToolCall("c1", "add", '{"a": 1, "b": 2}')
    history = [user("1+2?"), assistant("", [call]), tool_result(call, "3"), user("And?")]
    engine = ScriptedEngine([says("Nothing.")])

    llm.generate(messages=history, engine=engine, tools=[add], max_steps=2)

    assert engine.requests[0].messages == history


def test_calls_in_the_turn_without_tools_are_dropped() -> None:
    engine = ScriptedEngine([calls("add", a=1, b=2), [says("So"), calls("add", a=3, b=4)]])

    response = converse(conversation(engine, last_word="No more tools."))

    assert len(response.tool_calls) == 1
    assert response.messages[-1].tool_calls is None


def test_an_answer_in_time_needs_no_last_word() -> None:
    run = conversation(ScriptedEngine([says("Three.")]), last_word="No more tools.")

    assert converse(run).text == "Three."
    assert not run.ran_out


def test_a_run_that_was_broken_off_has_a_result_for_every_call() -> None:
    engine = ScriptedEngine([[calls("add", a=1, b=2), calls("add", a=3, b=4)]])
    request = prepare(messages=[user("1+2?")], engine=engine, tools=[add], max_steps=2)
    run = Conversation(request)
    run.ask()
    first, _ = run.take_reply(engine.generate(run.prompt, **run.options))
    request.executor.perform_all([first], run.run)

    response = run.interrupt()

    assert [record.output for record in response.tool_calls] == ["3", INTERRUPTED]
    assert [result.content for result in run.results] == ["3", INTERRUPTED]
    assert [result.success for result in run.results] == [True, False]


@pytest.mark.parametrize("partial", ["", " ", "\n"])
def test_a_turn_broken_off_before_its_first_word_leaves_no_message(partial: str) -> None:
    run = conversation(ScriptedEngine())

    response = run.interrupt(partial)

    assert [message.text for message in response.messages] == ["1+2?"]
