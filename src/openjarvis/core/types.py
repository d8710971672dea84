"""The words of a conversation: roles, messages, tool calls and their results."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """Who speaks in a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(slots=True)
class ToolCall:
    """A model's wish to run a tool; `arguments` is the JSON text exactly as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class Message:
    """One message of a conversation.

    `metadata` carries what a provider wants back unchanged (reasoning signatures and the like).
    """

    role: Role
    content: str | None = ""
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if type(self.role) is not Role:
            self.role = Role(self.role)

    @property
    def text(self) -> str:
        """The content as text; a message without content reads as ""."""
        return self.content or ""


@dataclass(slots=True)
class Conversation:
    """Messages in order; past `max_messages` the oldest are dropped."""

    messages: list[Message] = field(default_factory=list)
    max_messages: int | None = None

    def add(self, message: Message) -> None:
        """Append `message` and drop the oldest past the maximum."""
        self.messages.append(message)
        if self.max_messages is not None and len(self.messages) > self.max_messages:
            del self.messages[: len(self.messages) - self.max_messages]

    def window(self, n: int) -> list[Message]:
        """Return the last `n` messages, oldest first; none for `n` of zero or less."""
        return self.messages[-n:] if n > 0 else []


@dataclass(slots=True)
class ToolResult:
    """What a tool call gave.

    `content` is the text for the model; `cost_usd` is in US dollars and `latency_seconds` is wall
    time, measured by the executor.
    """

    tool_name: str
    content: str
    success: bool = True
    usage: dict[str, Any] = field(default_factory=dict)
    cost_usd: float = 0.0
    latency_seconds: float = 0.0
    metadata: dict[str, Any] = field(default_factory=dict)
