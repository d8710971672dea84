"""The agent that lets a model call functions, turn by turn."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from openjarvis.agents.base import AgentContext
from openjarvis.agents.keyword_protocol import STRUCTURED
from openjarvis.agents.prompts import build_system_prompt
from openjarvis.agents.tool_agent import ToolAgent
from openjarvis.core.registry import AgentRegistry
from openjarvis.llm.loop import Conversation


@AgentRegistry.register("orchestrator")
class OrchestratorAgent(ToolAgent):
    """Function calling: the calls of a turn run in parallel, until the model answers.

    With `mode="structured"` the model writes `THOUGHT:`, `TOOL:`, `INPUT:` and `FINAL_ANSWER:`
    instead, one tool a turn: for models that cannot call functions.

    Raises:
        ValueError: when `mode` is neither.
    """

    agent_id = "orchestrator"
    modes = ("function_calling", "structured")

    def __init__(self, engine: Any, model: str, *, mode: str = modes[0], **options: Any) -> None:
        if mode not in self.modes:
            raise ValueError(f"mode={mode!r}: expected {' or '.join(map(repr, self.modes))}.")
        super().__init__(engine, model, **options)
        self._mode = mode

    def begin(self, text: str, context: AgentContext) -> AbstractContextManager[Conversation]:
        if self._mode == "function_calling":
            return nullcontext(self._calling(text, context))
        prompt = build_system_prompt(tools=self._executor.tools)
        return nullcontext(self._writing(text, context, STRUCTURED, prompt))
