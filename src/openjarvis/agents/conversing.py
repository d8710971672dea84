"""What agents on the one loop share: a run that is begun, driven to its end, and summed up."""

import logging
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from openjarvis.agents.base import AgentContext, AgentResult, BaseAgent
from openjarvis.core.events import EventType
from openjarvis.llm.generate import converse
from openjarvis.llm.loop import Conversation

_log = logging.getLogger("openjarvis.agents")

NO_ANSWER = "No final answer within {} turns."


class ConversingAgent(BaseAgent):
    """An agent whose run is a `Conversation`, which may also be driven as a stream."""

    @abstractmethod
    def begin(self, text: str, context: AgentContext) -> AbstractContextManager[Conversation]:
        """Return the run that answers `text`, not yet driven."""

    @contextmanager
    def conversing(self, text: str, context: AgentContext | None = None) -> Iterator[Conversation]:
        """Give the run that answers `text`, for a driver of the caller's (`llm.Stream` is one).

        What the run needs beside the engine is there until the block is left.

        Raises:
            LLMError: when there is something wrong with the request.
        """
        self._publish(EventType.AGENT_TURN_START, input=text)
        with self.begin(text, context or AgentContext()) as conversation:
            yield conversation
        response = conversation.response()
        self._publish(
            EventType.AGENT_TURN_END, turns=response.steps, content_length=len(response.text)
        )

    def answer(self, text: str, context: AgentContext) -> AgentResult:
        with self.begin(text, context) as conversation:
            self._drive(conversation)
        return result_of(conversation)

    def _drive(self, conversation: Conversation) -> None:
        try:
            converse(conversation)
        except Exception:
            if not conversation.ran_out:
                raise
            # The last answer is asked for beyond the turns: without it the rest still counts.
            _log.warning("The last answer of %s failed", self.agent_id, exc_info=True)


def result_of(conversation: Conversation) -> AgentResult:
    """Return what a run has come to, wherever it stands."""
    response = conversation.response()
    metadata: dict[str, Any] = {
        **response.metadata,
        "usage": response.usage,
        "spending": response.spending,
        "model": response.model,
        "finish_reason": response.finish_reason.value,
        "messages": response.messages,
    }
    content = response.text
    if conversation.ran_out:
        metadata["max_turns_exceeded"] = True
        # Where the last answer failed, a step of a protocol is left, which is nothing to read.
        is_readable = conversation.has_ended or conversation.streams_answer
        content = (content if is_readable else "") or NO_ANSWER.format(response.steps)
    return AgentResult(content, conversation.results, response.steps, metadata, response.tool_calls)
