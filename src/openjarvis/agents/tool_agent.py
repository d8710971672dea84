"""What the agents share that use tools in turns: by function calls, or by a protocol of text."""

from openjarvis.agents.base import AgentContext
from openjarvis.agents.conversing import ConversingAgent
from openjarvis.agents.prompts import LAST_WORD
from openjarvis.agents.protocol import Protocol
from openjarvis.agents.text_loop import TextConversation
from openjarvis.llm.loop import Conversation


class ToolAgent(ConversingAgent):
    """An agent that takes turns, and answers without tools when they have run out."""

    def _calling(self, text: str, context: AgentContext) -> Conversation:
        """Return a run whose model calls functions."""
        request = self._request(text, context, tools=self._executor, max_steps=self._max_turns)
        return Conversation(request, last_word=LAST_WORD)

    def _writing(
        self, text: str, context: AgentContext, protocol: Protocol, prompt: str
    ) -> Conversation:
        """Return a run whose model writes steps of `protocol`, as `prompt` tells it."""
        if getattr(self._engine, "follows_prompts", True) is False:
            return self._calling(text, context)
        request = self._request(
            text, context, tools=self._executor, max_steps=self._max_turns, protocol=prompt
        )
        return TextConversation(request, protocol)
