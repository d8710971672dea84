import pytest

import openjarvis.dropins
from openjarvis.dropins import BaseTool, ToolManifest, ToolResult, contract


def test_the_package_offers_all_of_the_contract() -> None:
    assert openjarvis.dropins.__all__ == contract.__all__
    assert all(
        getattr(openjarvis.dropins, name) is getattr(contract, name) for name in contract.__all__
    )


def test_a_tool_without_a_constructor_keeps_the_configuration() -> None:
    class Plain(BaseTool):
        def manifest(self) -> ToolManifest:
            return ToolManifest("plain", "Use it plainly.")

        def execute(self, params: dict[str, object]) -> ToolResult:
            return ToolResult(success=True)

    assert Plain({"key": 1}).config == {"key": 1}
    assert Plain().config == {}
    assert Plain().is_available()


def test_what_a_manifest_leaves_unsaid_is_empty_and_its_own() -> None:
    first, second = ToolManifest("a", "A."), ToolManifest("b", "B.")

    assert first.parameters == {}
    assert first.examples == []
    assert first.parameters is not second.parameters


def test_an_unknown_field_of_a_manifest_is_an_error() -> None:
    with pytest.raises(TypeError, match="parameter"):
        ToolManifest("a", "A.", parameter={})  # type: ignore[call-arg]


def test_a_result_may_say_only_that_it_went_well() -> None:
    assert ToolResult(success=True) == ToolResult(True, "", "")
