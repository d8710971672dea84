from typing import Any

import pytest

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.toolkit.base import BaseTool, Tool, ToolSpec, check_name, openai_function


class Shout(BaseTool):
    """A tool as the contract shows it."""

    tool_id = "shout"

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            "shout",
            "Write in capitals.",
            {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        )

    def execute(self, **params: Any) -> ToolResult:
        return ToolResult("shout", params["text"].upper())


def test_a_spec_needs_a_name_and_a_description_only() -> None:
    spec = ToolSpec("t", "Does it.")

    assert (spec.parameters, spec.category, spec.metadata, spec.examples) == ({}, "", {}, [])
    assert (spec.cost_estimate, spec.latency_estimate, spec.timeout_seconds) == (0.0, 0.0, 30.0)
    assert spec.requires_confirmation is False
    assert [spec.read_only, spec.destructive, spec.idempotent, spec.open_world] == [None] * 4


def test_specs_share_nothing() -> None:
    first, second = ToolSpec("a", ""), ToolSpec("b", "")

    first.parameters["type"] = "object"
    first.metadata["repeatable"] = True

    assert (second.parameters, second.metadata) == ({}, {})


@pytest.mark.parametrize("missing", ["spec", "execute"])
def test_a_class_without_a_spec_or_execute_is_no_tool(missing: str) -> None:
    members = {"spec": property(lambda _: None), "execute": lambda _: None}
    del members[missing]
    incomplete = type("Incomplete", (BaseTool,), members)

    with pytest.raises(TypeError, match=missing):
        incomplete()


def test_a_class_is_defined_for_a_model_as_openai_has_it() -> None:
    assert Shout().to_openai_function() == {
        "type": "function",
        "function": {
            "name": "shout",
            "description": "Write in capitals.",
            "parameters": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        },
    }


def test_a_tool_without_parameters_is_defined_with_an_empty_object() -> None:
    definition = openai_function(ToolSpec("t", "Does it."))

    assert definition["function"]["parameters"] == {"type": "object", "properties": {}}


def test_a_registered_class_is_made_by_its_name() -> None:
    with ToolRegistry.isolated():
        ToolRegistry.register("shout")(Shout)

        result = ToolRegistry.create("shout").execute(text="hey")

    assert result.content == "HEY"


def test_anything_with_a_spec_and_execute_is_a_tool() -> None:
    class Duck:
        spec = ToolSpec("duck", "Quack.")

        def execute(self, **params: Any) -> ToolResult:
            return ToolResult("duck", "quack")

    assert isinstance(Duck(), Tool)
    assert not isinstance(object(), Tool)


@pytest.mark.parametrize("name", ["a", "get_order-status", "Z9", "x" * 64])
def test_a_name_that_models_can_call_is_taken(name: str) -> None:
    assert check_name(name, "owner") == name


@pytest.mark.parametrize(
    "name",
    ["", " ", "a b", "a.b", "a\n", "ä", "x" * 65, "天気", "<lambda>", "a\x00", "٣", None, 3, b"a"],
)
def test_a_name_that_models_cannot_call_is_refused_with_its_owner(name: Any) -> None:
    with pytest.raises(ToolDefinitionError, match=r"^shop\.lamp: the tool name .* must be 1 to 64"):
        check_name(name, "shop.lamp")


def test_a_refused_name_is_shown_only_in_part() -> None:
    with pytest.raises(ToolDefinitionError) as refusal:
        check_name("x" * 10_000, "owner")

    assert len(str(refusal.value)) < 200
