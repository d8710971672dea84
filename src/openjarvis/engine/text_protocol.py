"""Tools for a model that knows none: told in the system text, called and answered in words.

What the model prints is read by `text_calls`. Pure.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from openjarvis.core.types import Message, Role
from openjarvis.engine.messages import acceptable_arguments

_INSTRUCTIONS = """You can call tools. To call one, answer with nothing but
<tool_call>{"name": "the tool's name", "arguments": {"its": "arguments"}}</tool_call>
and wait: the result comes in the next message. Call a tool only when it helps; otherwise answer.

The tools, as JSON:
"""


def in_words(
    messages: Iterable[Message],
    tools: Sequence[Mapping[str, Any]],
    *,
    examples: Sequence[Message] = (),
) -> list[Message]:
    """Return the messages with the tools in the system text, and calls and results as text.

    `examples` are turns that show how it is done.
    """
    spoken = _joined(messages)
    if not tools:
        return spoken
    listed = "\n".join(
        json.dumps(definition.get("function"), ensure_ascii=False) for definition in tools
    )
    given = [message.text for message in spoken if message.role is Role.SYSTEM]
    system = "\n\n".join([*given, _INSTRUCTIONS + listed])
    rest = [message for message in spoken if message.role is not Role.SYSTEM]
    return [Message(Role.SYSTEM, system), *map(_spoken, examples), *rest]


def _joined(messages: Iterable[Message]) -> list[Message]:
    """Return the messages in words; results and what follows them from the user are one turn."""
    # Many models' templates take no two user turns in a row.
    spoken: list[Message] = []
    is_result = False
    for message in messages:
        said = _spoken(message)
        if is_result and said.role is Role.USER:
            said = replace(said, content=f"{spoken.pop().text}\n{said.text}")
        spoken.append(said)
        is_result = message.role is Role.TOOL
    return spoken


def _spoken(message: Message) -> Message:
    if message.role is Role.TOOL:
        from_whom = f"{message.name}: " if message.name else ""
        return Message(Role.USER, f"<tool_response>\n{from_whom}{message.text}\n</tool_response>")
    if not message.tool_calls:
        return message
    calls = [written_call(call.name, call.arguments) for call in message.tool_calls]
    return Message(Role.ASSISTANT, "\n".join(filter(None, [message.text, *calls])))


def written_call(name: str, arguments: str) -> str:
    """Return a call as the protocol writes it."""
    quoted = json.dumps(name, ensure_ascii=False)
    return (
        f'<tool_call>{{"name": {quoted}, "arguments": {acceptable_arguments(arguments)}}}'
        "</tool_call>"
    )
