import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openai_server import call, whole
from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.engine.base import Reply
from openjarvis.engine.errors import Server
from openjarvis.engine.messages import reply_of, text_of, to_chat

SERVER = Server("127.0.0.1:1")


def chat(*messages: Message) -> list[dict[str, Any]]:
    return to_chat(messages, server=SERVER)


def read(completion: Any, **options: Any) -> Reply:
    return reply_of(completion, model="asked-model", server=SERVER, **options)


def test_every_role_has_its_form() -> None:
    made = ToolCall("c1", "weather", '{"city": "Oslo"}')

    assert chat(
        Message(Role.SYSTEM, "Be brief."),
        Message(Role.USER, "Rain?", name="Ann Lee"),
        Message(Role.ASSISTANT, None, tool_calls=[made]),
        Message(Role.TOOL, "No.", name="weather", tool_call_id="c1"),
        Message(Role.ASSISTANT, "No rain."),
    ) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Rain?", "name": "Ann_Lee"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
                }
            ],
        },
        {"role": "tool", "content": "No.", "tool_call_id": "c1"},
        {"role": "assistant", "content": "No rain."},
    ]


@pytest.mark.parametrize("content", [None, ""])
def test_calls_without_a_word_have_no_content(content: str | None) -> None:
    [message] = chat(Message(Role.ASSISTANT, content, tool_calls=[ToolCall("c1", "now", "{}")]))

    assert message["content"] is None


@pytest.mark.parametrize(("role", "content"), [("system", None), ("user", None), ("tool", None)])
def test_no_content_is_sent_as_an_empty_text(role: str, content: None) -> None:
    assert chat(Message(Role(role), content))[0]["content"] == ""


@pytest.mark.parametrize(
    ("name", "sent"),
    [("", "unnamed"), ("get weather\n", "get_weather_"), ("x" * 10_000, "x" * 64), ("ไทย", "___")],
)
def test_a_name_that_the_model_invented_does_not_make_the_history_unacceptable(
    name: str, sent: str
) -> None:
    [message] = chat(Message(Role.ASSISTANT, None, tool_calls=[ToolCall("c1", name, "{}")]))

    assert message["tool_calls"][0]["function"]["name"] == sent


@pytest.mark.parametrize("written", ["{oops", "[1]", '"x"', "null", '{"a": NaN}', "[" * 100_000])
def test_arguments_that_are_no_object_are_sent_inside_of_one(written: str) -> None:
    [message] = chat(Message(Role.ASSISTANT, None, tool_calls=[ToolCall("c1", "weather", written)]))

    sent = message["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"not_a_json_object": written}


@pytest.mark.parametrize(
    ("written", "sent"), [("", "{}"), (" \n", "{}"), (' { "a":1 }', ' { "a":1 }')]
)
def test_an_object_is_sent_as_it_was_written(written: str, sent: str) -> None:
    [message] = chat(Message(Role.ASSISTANT, None, tool_calls=[ToolCall("c1", "weather", written)]))

    assert message["tool_calls"][0]["function"]["arguments"] == sent


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"openai": None},
        {"openai": "x"},
        {"openai": {"server": "127.0.0.1:1", "message": 5, "calls": [1]}},
        {"openai": {"server": "elsewhere", "message": {"reasoning": "r"}, "calls": {}}},
        {"anthropic": {"server": "127.0.0.1:1", "message": {"reasoning": "r"}}},
    ],
)
def test_metadata_that_is_not_this_servers_stays_here(metadata: dict[str, Any]) -> None:
    made = ToolCall("c1", "weather", "{}")
    [message] = chat(Message(Role.ASSISTANT, "Hm.", tool_calls=[made], metadata=metadata))

    assert message.keys() == {"role", "content", "tool_calls"}
    assert message["tool_calls"][0].keys() == {"id", "type", "function"}


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "reasoning_details"])
def test_reasoning_comes_back_as_it_went(field: str) -> None:
    reasoning = [{"type": "t", "data": "…"}] if field == "reasoning_details" else "Hm."

    reply = read(whole("Yes.", **{field: reasoning}))
    [message] = chat(Message(Role.ASSISTANT, "Yes.", metadata=reply["metadata"]))

    assert message == {"role": "assistant", "content": "Yes.", field: reasoning}


def test_there_is_no_metadata_without_opaque_parts() -> None:
    assert "metadata" not in read(whole("Yes.", reasoning_content=None, reasoning=""))


@pytest.mark.parametrize(
    ("given_reason", "with_calls", "expected"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool_calls"),
        ("tool_calls", True, "tool_calls"),
        ("tool_calls", False, "stop"),
        ("length", False, "length"),
        ("length", True, "length"),
        ("content_filter", False, "content_filter"),
        ("eos", False, "stop"),
        ("eos", True, "tool_calls"),
        (None, False, "stop"),
        (["stop"], False, "stop"),
        (7, True, "tool_calls"),
    ],
)
def test_reasons_to_finish_are_put_in_our_words(
    given_reason: Any, with_calls: bool, expected: str
) -> None:
    made = [call("weather", "{}")] if with_calls else None

    assert read(whole("", tool_calls=made, finish_reason=given_reason))["finish_reason"] == expected


@pytest.mark.parametrize("call_id", [None, "", 5, "call_1"])
def test_a_missing_or_used_id_is_replaced_by_one_that_every_provider_takes(call_id: Any) -> None:
    made = [call("weather", "{}", call_id="call_1"), call("time", "{}", call_id=call_id)]

    first, second = (entry["id"] for entry in read(whole(tool_calls=made))["tool_calls"])

    assert first == "call_1"
    assert len(second) == 9
    assert second.isalnum()


def test_ids_of_earlier_turns_count_as_used() -> None:
    made = [call("weather", "{}", call_id="call_1")]

    reply = read(whole(tool_calls=made), taken_ids={"call_1"})

    assert reply["tool_calls"][0]["id"] != "call_1"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (call(None, "{}"), ("", "{}")),
        (call(5, "{}"), ("", "{}")),
        (call("weather", None), ("weather", "")),
        (call("weather", {"a": "ก"}), ("weather", '{"a": "ก"}')),
        (call("weather", [1]), ("weather", "[1]")),
        ({}, ("", "")),
        ("weather", ("", "")),
        (None, ("", "")),
    ],
)
def test_a_strange_call_is_still_a_call(entry: Any, expected: tuple[str, str]) -> None:
    [made] = read(whole(tool_calls=[entry]))["tool_calls"]

    assert (made["name"], made["arguments"]) == expected
    assert made["id"]


@pytest.mark.parametrize("tool_calls", [None, [], {}, "x", 5])
def test_no_calls_are_no_calls(tool_calls: Any) -> None:
    assert "tool_calls" not in read(whole("Hi.", tool_calls=tool_calls))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Hi.", "Hi."),
        (None, ""),
        (5, ""),
        ([{"type": "text", "text": "a"}, {"type": "image"}, "x", {"text": "b"}], "ab"),
    ],
)
def test_text_is_found_in_whatever_the_content_is(content: Any, text: str) -> None:
    assert text_of(content) == text


def test_a_refusal_is_the_text_when_there_is_no_other() -> None:
    assert read(whole(None, refusal="I will not."))["content"] == "I will not."
    assert read(whole("Sure.", refusal=None))["content"] == "Sure."


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, {}),
        ("x", {}),
        ({"prompt_tokens": 1}, {}),
        ({"prompt_tokens": "1", "completion_tokens": 2}, {}),
        (
            {"prompt_tokens": 1, "completion_tokens": 2, "other": {}},
            {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
        ),
        (
            {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 9},
            {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 9},
        ),
    ],
)
def test_usage_is_what_was_counted(usage: Any, expected: dict[str, int]) -> None:
    assert read({**whole("Hi."), "usage": usage})["usage"] == expected


@pytest.mark.parametrize("model", [None, "", 5])
def test_the_model_is_the_one_asked_for_when_the_server_does_not_say(model: Any) -> None:
    assert read({**whole("Hi."), "model": model})["model"] == "asked-model"


@given(
    content=st.text() | st.none(),
    name=st.text(max_size=80),
    arguments=st.text(max_size=200),
    call_id=st.text(max_size=10),
)
def test_every_message_can_be_sent(
    content: str | None, name: str, arguments: str, call_id: str
) -> None:
    [message] = chat(
        Message(Role.ASSISTANT, content, tool_calls=[ToolCall(call_id, name, arguments)])
    )

    json.dumps(message)
    assert isinstance(json.loads(message["tool_calls"][0]["function"]["arguments"]), dict)
