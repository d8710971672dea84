"""The agent for models that reason in text: `Thought:`, `Action:`, `Observation:`."""

from contextlib import AbstractContextManager, nullcontext

from openjarvis.agents.base import AgentContext
from openjarvis.agents.keyword_protocol import REACT
from openjarvis.agents.prompts import react_prompt
from openjarvis.agents.tool_agent import ToolAgent
from openjarvis.core.registry import AgentRegistry
from openjarvis.llm.loop import Conversation


@AgentRegistry.register("native_react")
class NativeReActAgent(ToolAgent):
    """ReAct in text, one tool a turn: for models that cannot call functions."""

    agent_id = "native_react"

    def begin(self, text: str, context: AgentContext) -> AbstractContextManager[Conversation]:
        prompt = react_prompt(self._executor.tools)
        return nullcontext(self._writing(text, context, REACT, prompt))
