"""The agent that asks once."""

from openjarvis.agents.base import AgentContext, AgentResult, BaseAgent
from openjarvis.core.registry import AgentRegistry


@AgentRegistry.register("simple")
class SimpleAgent(BaseAgent):
    """One answer from the model, without tools."""

    agent_id = "simple"
    uses_tools = False

    def answer(self, text: str, context: AgentContext) -> AgentResult:
        return self._converse(text, context, tools=(), max_steps=None)
