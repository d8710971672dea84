"""The agent whose model acts by writing Python (CodeAct)."""

from contextlib import AbstractContextManager, nullcontext

from openjarvis.agents.base import AgentContext
from openjarvis.agents.code_protocol import CODE_ACT
from openjarvis.agents.prompts import openhands_prompt
from openjarvis.agents.tool_agent import ToolAgent
from openjarvis.core.registry import AgentRegistry
from openjarvis.llm.loop import Conversation


@AgentRegistry.register("native_openhands")
class NativeOpenHandsAgent(ToolAgent):
    """Blocks of Python run through the tool `code_interpreter`; other tools are called by name."""

    agent_id = "native_openhands"
    own_tools = (CODE_ACT.code_tool,)

    def begin(self, text: str, context: AgentContext) -> AbstractContextManager[Conversation]:
        others = [tool for tool in self._executor.tools if tool.spec.name != CODE_ACT.code_tool]
        return nullcontext(self._writing(text, context, CODE_ACT, openhands_prompt(others)))
