"""The tool that brings context for an answer, with its sources."""

from typing import Annotated, Any, Self

from pydantic import Field

from openjarvis.core.errors import ToolError
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool, failure_text


@ToolRegistry.register("retrieval")
class RetrievalTool(TypedTool):
    """Get what the user's stored notes and indexed documents say on a question, with sources.

    Call it before answering a question about the user's own documents, notes or facts.
    """

    name = "retrieval"
    category = "memory"
    read_only = True
    idempotent = True
    open_world = False
    required = ("query",)
    examples = (
        ("What do my documents say about refunds?", {"query": "refunds"}),
        "According to my notes, when is the deadline?",
    )

    def __init__(self, backend: Any = None, top_k: int = 5) -> None:
        """Search `backend`, anything with a memory's `retrieve`, for `top_k` texts by default."""
        self._backend = backend
        self._top_k = top_k

    @classmethod
    def build(cls, services: Services) -> Self:
        return cls(services.memory)

    def run(
        self,
        query: Annotated[str, "Words that stand in what is looked for, in its language"] = "",
        top_k: Annotated[
            int | None, Field(ge=1, le=100, description="How many texts at most")
        ] = None,
    ) -> ToolResult:
        if self._backend is None:
            raise ToolError("No memory backend is configured; set [memory] in the configuration.")
        if not query.strip():
            raise ToolError("No query: say what to look for.")
        try:
            found = self._backend.retrieve(query, top_k=top_k or self._top_k)
        except Exception as error:  # a backend may be anybody's and may raise anything
            raise ToolError(f"Retrieval error: {failure_text(error)}") from error
        texts = [f"[Source: {result.source or 'memory'}] {result.content}" for result in found]
        return ToolResult(
            self.name,
            "\n\n".join(texts) or "No relevant results.",
            metadata={"num_results": len(texts)},
        )
