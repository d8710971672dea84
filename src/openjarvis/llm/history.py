"""A history that any provider takes: every tool call answered once, right after it was made."""

from collections.abc import Iterable, Sequence

from openjarvis.core.errors import invalid_request
from openjarvis.core.types import Message, Role, ToolCall

UNANSWERED = "Not run."
"""The answer that stands for a call of a history that nobody answered."""


def system(text: str) -> Message:
    """Return a system message."""
    return Message(Role.SYSTEM, text)


def user(text: str) -> Message:
    """Return a user's message."""
    return Message(Role.USER, text)


def assistant(text: str, tool_calls: Sequence[ToolCall] = ()) -> Message:
    """Return a model's message."""
    return Message(Role.ASSISTANT, text, tool_calls=list(tool_calls) or None)


def tool_result(call: ToolCall | str, text: str, *, name: str | None = None) -> Message:
    """Return the answer to a tool call, given by the call or its id.

    Appended to a history it takes the place of an earlier answer to the same call, so a call that
    was `NOT_RUN` can be run by hand and answered.
    """
    if isinstance(call, ToolCall):
        return Message(Role.TOOL, text, name=call.name, tool_call_id=call.id)
    return Message(Role.TOOL, text, name=name, tool_call_id=call)


def sendable(messages: Iterable[Message]) -> list[Message]:
    """Return `messages` with each tool call followed by its answers, in the order of the calls.

    The last answer to a call counts; a call without one gets `UNANSWERED`.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when something is no message, or answers a call that nobody
            made.
    """
    given = list(messages)
    for position, message in enumerate(given):
        if not isinstance(message, Message):
            raise invalid_request(
                f"messages[{position}] is {type(message).__name__}, expected a Message; "
                "llm.user('…') makes one."
            )
    if not any(message.role is Role.TOOL or message.tool_calls for message in given):
        return given
    answers = {message.tool_call_id: message for message in given if message.role is Role.TOOL}
    ordered: list[Message] = []
    asked: set[str | None] = set()
    for message in given:
        if message.role is Role.TOOL:
            continue
        ordered.append(message)
        for call in message.tool_calls or ():
            asked.add(call.id)
            ordered.append(answers.get(call.id) or tool_result(call, UNANSWERED))
    orphans = [str(call_id) for call_id in answers if call_id not in asked]
    if orphans:
        raise invalid_request(
            f"The history answers tool calls that it does not hold: {', '.join(orphans)[:200]}. "
            "Keep the assistant message that made them."
        )
    return ordered
