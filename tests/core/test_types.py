from dataclasses import asdict

import pytest

from openjarvis.core.types import Conversation, Message, Role, ToolCall, ToolResult


def numbered(count: int) -> list[Message]:
    return [Message(Role.USER, str(number)) for number in range(count)]


def contents(messages: list[Message]) -> list[str | None]:
    return [message.content for message in messages]


def test_the_roles_are_the_words_that_providers_use() -> None:
    assert [str(role) for role in Role] == ["system", "user", "assistant", "tool"]
    assert Role.USER == "user"


def test_a_role_may_be_given_as_its_word() -> None:
    assert Message("assistant", "Hi").role is Role.ASSISTANT  # type: ignore[arg-type]


def test_a_role_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="'robot' is not a valid Role"):
        Message("robot")  # type: ignore[arg-type]


def test_a_message_needs_nothing_but_a_role() -> None:
    assert asdict(Message(Role.USER)) == {
        "role": "user",
        "content": "",
        "name": None,
        "tool_calls": None,
        "tool_call_id": None,
        "metadata": {},
    }


@pytest.mark.parametrize(("content", "text"), [(None, ""), ("", ""), ("สวัสดี", "สวัสดี")])
def test_the_text_of_a_message_is_always_a_string(content: str | None, text: str) -> None:
    assert Message(Role.ASSISTANT, content).text == text


def test_metadata_is_not_shared_between_messages_or_results() -> None:
    first, second = Message(Role.USER), Message(Role.USER)
    one, other = ToolResult("t", ""), ToolResult("t", "")

    first.metadata["signature"] = "x"
    one.metadata["k"] = one.usage["k"] = 1

    assert second.metadata == {}
    assert (other.metadata, other.usage) == ({}, {})


def test_a_tool_call_keeps_the_text_of_the_model_as_it_is() -> None:
    assert ToolCall("c1", "calculator", '{"a" : 1,}').arguments == '{"a" : 1,}'


def test_a_tool_result_is_a_success_that_costs_nothing_unless_said() -> None:
    assert asdict(ToolResult("think", "done")) == {
        "tool_name": "think",
        "content": "done",
        "success": True,
        "usage": {},
        "cost_usd": 0.0,
        "latency_seconds": 0.0,
        "metadata": {},
    }


def test_a_conversation_without_a_maximum_keeps_everything() -> None:
    conversation = Conversation()

    for message in numbered(300):
        conversation.add(message)

    assert len(conversation.messages) == 300


@pytest.mark.parametrize(("maximum", "kept"), [(0, []), (1, ["4"]), (3, ["2", "3", "4"])])
def test_a_conversation_drops_its_oldest_messages_past_the_maximum(
    maximum: int, kept: list[str]
) -> None:
    conversation = Conversation(max_messages=maximum)

    for message in numbered(5):
        conversation.add(message)

    assert contents(conversation.messages) == kept


def test_a_conversation_that_starts_too_long_is_cut_at_the_next_message() -> None:
    conversation = Conversation(numbered(5), max_messages=2)

    conversation.add(Message(Role.USER, "new"))

    assert contents(conversation.messages) == ["4", "new"]


@pytest.mark.parametrize(
    ("size", "seen"), [(0, []), (-2, []), (2, ["1", "2"]), (99, ["0", "1", "2"])]
)
def test_a_window_gives_the_last_messages(size: int, seen: list[str]) -> None:
    assert contents(Conversation(numbered(3)).window(size)) == seen


def test_a_window_can_be_changed_without_changing_the_conversation() -> None:
    conversation = Conversation(numbered(3))

    conversation.window(2).clear()

    assert len(conversation.messages) == 3
