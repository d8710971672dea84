"""A small model says what it likes: every agent copes, and ends."""

from collections.abc import Iterator
from typing import Any

import pytest

from agent_tools import add, shout
from gguf_model import model_path
from openjarvis.agents.base import AgentContext
from openjarvis.core.registry import AgentRegistry
from openjarvis.core.types import Conversation
from openjarvis.engine.llamacpp import LlamaCppEngine
from openjarvis.llm.history import assistant, user
from openjarvis.tools.code_interpreter import CodeInterpreterTool

# One step of each protocol, which even this model takes up.
SHOWN = {
    "native_react": (
        'Thought: add\nAction: add\nAction Input: {"a": 41, "b": 1}',
        "Observation: 42",
    ),
    "structured": ('THOUGHT: add\nTOOL: add\nINPUT: {"a": 41, "b": 1}', "OBSERVATION: 42"),
    "native_openhands": ("```python\nprint(41 + 1)\n```", "Output:\n42"),
    "rlm": ("```repl\nprint(context[:9])\n```", "Output:\nOnce upon"),
    "simple": ("It is 42.", "Sure?"),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[LlamaCppEngine]:
    made = LlamaCppEngine(model_path(), context_length=4096, threads=1)
    yield made
    made.close()


@pytest.mark.parametrize("key", SHOWN)
def test_whatever_a_small_model_writes_the_run_ends(engine: LlamaCppEngine, key: str) -> None:
    options: dict[str, Any] = {"mode": "structured"} if key == "structured" else {}
    kind = AgentRegistry.get("orchestrator" if key == "structured" else key)
    tools = [add, shout, *([CodeInterpreterTool()] if key == "native_openhands" else [])]
    agent = kind(engine, "", tools=tools, max_turns=2, max_tokens=24, temperature=1.0, **options)
    step, output = SHOWN[key]
    shown = [user("What is 41 + 1?"), assistant(step), user(output), assistant("It is 42.")]

    result = agent.run(
        "What is 2 + 3? Use a tool.",
        AgentContext(Conversation(shown), document="Once upon a time." if key == "rlm" else ""),
    )

    assert isinstance(result.content, str)
    assert 1 <= result.turns <= 2
    assert len(result.tool_results) == len(result.tool_calls) <= 2
    told = result.metadata["messages"][len(shown) :]
    assert not any(message.tool_calls for message in told)
    assert sum("has no usable" in message.text for message in told) <= 2
