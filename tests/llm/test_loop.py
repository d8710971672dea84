from agent_tools import add
from openjarvis.core.types import Role
from openjarvis.llm.generate import converse
from openjarvis.llm.history import user
from openjarvis.llm.loop import Conversation
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
    assert [message.role for message in engine.requests[1].messages] == [
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.USER,
    ]


def test_calls_in_the_turn_without_tools_are_dropped() -> None:
    engine = ScriptedEngine([calls("add", a=1, b=2), [says("So"), calls("add", a=3, b=4)]])

    response = converse(conversation(engine, last_word="No more tools."))

    assert len(response.tool_calls) == 1
    assert response.messages[-1].tool_calls is None


def test_an_answer_in_time_needs_no_last_word() -> None:
    run = conversation(ScriptedEngine([says("Three.")]), last_word="No more tools.")

    assert converse(run).text == "Three."
    assert not run.ran_out
