"""The tool that does nothing but give a model room to reason."""

from typing import Annotated

from openjarvis.core.registry import ToolRegistry
from openjarvis.toolkit.typed import TypedTool


@ToolRegistry.register("think")
class ThinkTool(TypedTool):
    """Write down a thought before acting.

    Call it to plan several steps, to weigh options, or to check the result of another tool. It
    changes nothing and costs nothing.
    """

    name = "think"
    category = "reasoning"
    read_only = True
    idempotent = True
    open_world = False
    examples = (
        "Think step by step before you answer",
        ("Think about which of the two is cheaper", {"thought": "Which of the two is cheaper?"}),
    )

    def run(self, thought: Annotated[str, "What you think, in your own words"] = "") -> str:
        return thought
