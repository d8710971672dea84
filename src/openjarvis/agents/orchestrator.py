"""The agent that lets a model call functions, turn by turn."""

from typing import Any

from openjarvis.agents.base import AgentContext, AgentResult, BaseAgent
from openjarvis.core.registry import AgentRegistry

NO_ANSWER = "No final answer within {turns} turns."


@AgentRegistry.register("orchestrator")
class OrchestratorAgent(BaseAgent):
    """Function calling: the calls of a turn run in parallel, until the model answers.

    When the turns run out first, `metadata["max_turns_exceeded"]` is True and the last calls have
    not run.
    """

    agent_id = "orchestrator"

    def __init__(self, engine: Any, model: str, *, mode: str = "function_calling", **options: Any):
        if mode != "function_calling":
            raise ValueError(f"mode={mode!r}: expected 'function_calling'.")
        super().__init__(engine, model, **options)

    def answer(self, text: str, context: AgentContext) -> AgentResult:
        result = self._converse(text, context, tools=self._executor, max_steps=self._max_turns)
        if result.metadata.get("max_turns_exceeded") and not result.content:
            result.content = NO_ANSWER.format(turns=result.turns)
        return result
