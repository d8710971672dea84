"""The agent that asks once."""

from contextlib import AbstractContextManager, nullcontext

from openjarvis.agents.base import AgentContext
from openjarvis.agents.conversing import ConversingAgent
from openjarvis.core.registry import AgentRegistry
from openjarvis.llm.loop import Conversation


@AgentRegistry.register("simple")
class SimpleAgent(ConversingAgent):
    """One answer from the model, without tools."""

    agent_id = "simple"
    uses_tools = False

    def begin(self, text: str, context: AgentContext) -> AbstractContextManager[Conversation]:
        request = self._request(text, context, tools=(), max_steps=None)
        return nullcontext(Conversation(request))
