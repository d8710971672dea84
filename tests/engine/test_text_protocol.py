from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.engine.text_calls import find_text_calls
from openjarvis.engine.text_protocol import in_words, written_call

TOOL = {"type": "function", "function": {"name": "now", "parameters": {}}}
CALL = ToolCall("c1", "now", '{"zone": "ไทย"}')


def test_tools_are_told_behind_the_system_text() -> None:
    got = in_words([Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "Time?")], [TOOL])

    assert [message.role for message in got] == [Role.SYSTEM, Role.USER]
    assert got[0].text.startswith("Be brief.\n\nYou can call tools.")
    assert '"name": "now"' in got[0].text


def test_calls_and_results_become_text_that_our_own_parsers_read() -> None:
    history = [
        Message(Role.ASSISTANT, "Wait.", tool_calls=[CALL]),
        Message(Role.TOOL, "noon", name="now", tool_call_id="c1"),
    ]

    said, result = in_words(history, ())

    found = find_text_calls(said.text, {"now": ["zone"]})
    assert found is not None
    assert found.text == "Wait."
    assert [(call.name, call.arguments) for call in found.calls] == [("now", CALL.arguments)]
    assert (result.role, result.text) == (Role.USER, "<tool_response>\nnow: noon\n</tool_response>")


def test_results_and_what_follows_them_are_one_turn() -> None:
    history = [
        Message(Role.ASSISTANT, "", tool_calls=[CALL]),
        Message(Role.TOOL, "noon", name="now", tool_call_id="c1"),
        Message(Role.TOOL, "night", name="now", tool_call_id="c2"),
        Message(Role.USER, "So?"),
        Message(Role.USER, "Well?"),
    ]

    said = in_words(history, ())

    assert [message.role for message in said] == [Role.ASSISTANT, Role.USER, Role.USER]
    assert "now: noon\n" in said[1].text
    assert "now: night\n" in said[1].text
    assert said[1].text.endswith("\nSo?")
    assert said[2].text == "Well?"


def test_arguments_that_are_no_object_stay_readable() -> None:
    assert written_call("now", "{zone") == (
        '<tool_call>{"name": "now", "arguments": {"not_a_json_object": "{zone"}}</tool_call>'
    )


def test_examples_stand_before_the_conversation() -> None:
    shown = [Message(Role.USER, "Now?"), Message(Role.ASSISTANT, "", tool_calls=[CALL])]

    got = in_words([Message(Role.USER, "Time?")], [TOOL], examples=shown)

    assert [message.text for message in got[1:]][::2] == ["Now?", "Time?"]
    assert got[2].text.startswith("<tool_call>")
