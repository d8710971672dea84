"""The tool with which a model asks a model."""

from typing import Annotated, Any, Self

from openjarvis.core.errors import ToolError
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import Message, Role, ToolResult
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool, failure_text

_TEMPERATURE = 0.7
_MAX_TOKENS = 1024


@ToolRegistry.register("llm")
class LLMTool(TypedTool):
    """Ask a language model that sees only the prompt, not this conversation.

    Call it for a task that stands on its own: to summarise, translate, rewrite or classify a text,
    or to get a second opinion.
    """

    name = "llm"
    category = "inference"
    metadata = {"needs_model": True}  # noqa: RUF012 - a ClassVar in the base
    timeout_seconds = 120.0
    read_only = True
    required = ("prompt",)
    examples = (
        ("Translate 'good morning' into Thai", {"prompt": "Translate into Thai: good morning"}),
        "Summarise this text in one sentence",
    )

    def __init__(self, engine: Any = None, model: str = "") -> None:
        """Ask `engine` (anything with an engine's `generate`) for `model`."""
        self._engine = engine
        self._model = model

    @classmethod
    def build(cls, services: Services) -> Self:
        return cls(services.engine, services.model)

    def run(
        self,
        prompt: Annotated[str, "The whole task, with every text it is about"] = "",
        system: Annotated[str, "How to answer: role, tone, format"] = "",
    ) -> ToolResult:
        if self._engine is None:
            raise ToolError(
                "No inference engine is configured; `jarvis engines` tells how to get one."
            )
        if not self._model:
            raise ToolError(
                "No model is configured; name one with --model or in the configuration."
            )
        if not prompt.strip():
            raise ToolError("No prompt: say what the model is to do.")
        return self._asked(_messages(prompt, system))

    def _asked(self, messages: list[Message]) -> ToolResult:
        try:
            reply = self._engine.generate(
                messages, model=self._model, temperature=_TEMPERATURE, max_tokens=_MAX_TOKENS
            )
            return self._result(reply)
        except Exception as error:  # an engine may be anybody's and may raise anything
            raise ToolError(f"LLM error: {failure_text(error)}") from error

    def _result(self, reply: Any) -> ToolResult:
        content = reply.get("content")
        reason = reply.get("finish_reason")
        if not isinstance(content, str) or not content:
            raise ToolError(f"the model answered without text (it stopped for: {reason}).")
        return ToolResult(
            self.name,
            content,
            usage=dict(reply.get("usage") or {}),
            cost_usd=reply.get("cost_usd") or 0.0,
            metadata={"model": reply.get("model") or self._model, "finish_reason": reason},
        )


def _messages(prompt: str, system: str) -> list[Message]:
    said = [Message(Role.SYSTEM, system)] if system else []
    return [*said, Message(Role.USER, prompt)]
