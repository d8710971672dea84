import pytest

from openjarvis.core.registry import ToolRegistry
from openjarvis.tools.think import ThinkTool


@pytest.mark.parametrize("thought", ["First the price, then the tax.", "", "ก่อนอื่น…", "x" * 100_000])
def test_a_thought_comes_back_as_it_is(thought: str) -> None:
    result = ThinkTool().execute(thought=thought)

    assert (result.content, result.success) == (thought, True)


def test_no_thought_at_all_is_a_success_with_nothing_to_say() -> None:
    result = ThinkTool().execute()

    assert (result.content, result.success) == ("", True)


def test_thinking_costs_nothing_and_is_described_for_a_model() -> None:
    spec = ToolRegistry.get("think")().spec

    assert (spec.name, spec.category, spec.cost_estimate) == ("think", "reasoning", 0.0)
    assert "Call it" in spec.description
    assert spec.read_only
