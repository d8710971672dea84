"""What every agent is: an engine, tools, and `run` that turns an input into an answer."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from openjarvis.core.events import EventBus, EventType
from openjarvis.core.types import Conversation as History
from openjarvis.core.types import ToolResult
from openjarvis.execution.approval import Approver
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.record import CallRecord
from openjarvis.llm.history import user
from openjarvis.llm.request import Request, Tools, prepare


@dataclass(slots=True)
class AgentContext:
    """What an agent is given beside the input.

    `conversation` is the history so far, a `Conversation` or a list of messages; `memory_results`
    are passages with `content` and `source` that may help; `metadata["context"]` reaches tools and
    the approver. `document` is a long text, or the file that holds it, for the agents that work on
    one. `on_progress(call_id, text)` hears what running tools say of how far they are, in their
    threads.
    """

    conversation: History = field(default_factory=History)
    tools: list[str] = field(default_factory=list)
    memory_results: list[Any] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    document: str | Path = ""
    on_progress: Callable[[str, str], None] | None = None

    def __post_init__(self) -> None:
        given: Any = self.conversation
        if isinstance(given, list | tuple):
            self.conversation = History(list(given))
        elif not isinstance(given, History):
            raise TypeError(
                f"conversation is {type(given).__name__}, expected a Conversation, or a list of "
                "messages as llm.user('…') makes them."
            )


@dataclass(slots=True)
class AgentResult:
    """What an agent answered.

    `tool_results` are in the order of the calls and match `tool_calls`, their records, one to one.
    `turns` counts model turns, `max_turns` at the most. `metadata` has `usage`, `spending` (its
    `cost_usd` is None when a price is not known), and `max_turns_exceeded` when the turns ran out
    before an answer: `content` is then what the model said when it was asked once more, without
    tools.
    """

    content: str
    tool_results: list[ToolResult] = field(default_factory=list)
    turns: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)
    tool_calls: list[CallRecord] = field(default_factory=list)


class BaseAgent(ABC):
    """An agent. One instance may serve several threads: a run keeps its state to itself.

    `tools` may be tools, typed functions or a `ToolExecutor` made of them; `approve` decides about
    every call. The engine is any object with the engine's `generate`.
    """

    agent_id: ClassVar[str] = ""
    uses_tools: ClassVar[bool] = True
    own_tools: ClassVar[tuple[str, ...]] = ()
    """Tools, by name, that a system adds to those chosen: the agent cannot work without them."""
    settings: ClassVar[str] = ""
    """The section of the configuration whose values are options of the constructor."""
    modes: ClassVar[tuple[str, ...]] = ()
    """What the constructor's option `mode` may be; the first is the default."""
    takes_document: ClassVar[bool] = False
    """Whether it works on `AgentContext.document`."""

    def __init__(
        self,
        engine: Any,
        model: str,
        *,
        tools: Tools | ToolExecutor | None = None,
        bus: EventBus | None = None,
        max_turns: int = 10,
        temperature: float = 0.7,
        max_tokens: int = 1024,
        approve: Approver | None = None,
        system_prompt: str = "",
        parallel_tools: bool = True,
    ) -> None:
        self._engine = engine
        self._model = model
        self._bus = bus
        self._max_turns = max_turns
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._approve = approve
        self._system_prompt = system_prompt
        self._executor = (
            tools
            if isinstance(tools, ToolExecutor)
            else ToolExecutor(tools or (), bus, max_parallel=32 if parallel_tools else 1)
        )

    def run(self, input: str, context: AgentContext | None = None) -> AgentResult:  # noqa: A002 - documented name
        """Return the answer to `input`.

        Raises:
            LLMError: when the model cannot be asked; its `response` holds what had been gathered.
        """
        self._publish(EventType.AGENT_TURN_START, input=input)
        result = self.answer(input, context or AgentContext())
        self._publish(
            EventType.AGENT_TURN_END, turns=result.turns, content_length=len(result.content)
        )
        return result

    @abstractmethod
    def answer(self, text: str, context: AgentContext) -> AgentResult:
        """Return the answer to `text`; `run` tells the bus about it."""

    def _request(
        self,
        text: str,
        context: AgentContext,
        *,
        tools: Tools | ToolExecutor,
        max_steps: int | None,
        protocol: str = "",
        model: str = "",
    ) -> Request:
        """Return the request for `text`; `protocol` is what the model is told of how to answer."""
        return prepare(
            engine=self._engine,
            model=model or self._model,
            system=self._system(context, protocol),
            messages=[*context.conversation.messages, user(text)],
            tools=tools,
            max_steps=max_steps,
            approve=self._approve,
            context=context.metadata.get("context"),
            temperature=self._temperature,
            max_tokens=self._max_tokens,
            bus=self._bus,
            on_progress=context.on_progress,
            agent=self.agent_id,
        )

    def _system(self, context: AgentContext, protocol: str) -> str:
        passages = [
            f"[Source: {getattr(entry, 'source', '') or 'memory'}] {entry.content}"
            for entry in context.memory_results
        ]
        parts = [self._system_prompt, protocol, *(["Context:", *passages] if passages else [])]
        return "\n\n".join(part for part in parts if part)

    def _publish(self, event_type: EventType, **data: Any) -> None:
        if self._bus is not None:
            self._bus.publish(event_type, {"agent": self.agent_id, **data})
