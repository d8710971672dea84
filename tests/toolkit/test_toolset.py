import asyncio
from typing import Any

import pytest

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.core.types import ToolResult
from openjarvis.toolkit.base import BaseTool, ToolSpec
from openjarvis.toolkit.function import FunctionTool, tool
from openjarvis.toolkit.provider import ProviderTool
from openjarvis.toolkit.toolset import RenamedTool, ToolSet, as_tool, origin, renamed


class Echo(BaseTool):
    """Say it again."""

    tool_id = "echo"

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec("echo", "Say it again.", category="text", examples=["Say hi"])

    def execute(self, /, **params: Any) -> ToolResult:
        return ToolResult("echo", str(params))


@tool(read_only=True, timeout_seconds=5)
def lookup(order: str) -> str:
    """Look an order up."""
    return f"order {order}"


def plain(number: int) -> int:
    """Double it."""
    return number * 2


SEARCH = ProviderTool("search", "x.search", {"depth": 2})


def names(tools: Any) -> list[str]:
    return [one.spec.name for one in tools]


def test_a_set_is_built_from_tools_of_every_spelling_in_order() -> None:
    built = ToolSet().add(lookup, Echo()).add_tool(SEARCH).add_tool(plain).build()

    assert names(built) == ["lookup", "echo", "search", "plain"]
    assert built[0] is lookup
    assert isinstance(built[3], FunctionTool)


def test_a_set_is_iterable_and_knows_its_names() -> None:
    tools = ToolSet([lookup, SEARCH])

    assert names(tools) == ["lookup", "search"]
    assert len(tools) == 2
    assert "lookup" in tools
    assert "other" not in tools
    assert len(ToolSet()) == 0


def test_what_was_built_does_not_change_with_the_set() -> None:
    tools = ToolSet([lookup])
    built = tools.build()

    tools.add(plain)
    built.clear()

    assert names(tools) == ["lookup", "plain"]


def test_two_tools_of_one_name_are_refused_naming_both_origins() -> None:
    @tool("echo", "Another.")
    def other() -> str:
        return ""

    with pytest.raises(ToolDefinitionError) as refusal:
        ToolSet([Echo(), other])

    assert "Two tools are named 'echo'" in str(refusal.value)
    assert f"{__name__}.Echo and {other.target.__module__}." in str(refusal.value)
    assert "<locals>.other" in str(refusal.value)


def test_a_provider_tool_may_not_share_a_name_either() -> None:
    with pytest.raises(ToolDefinitionError, match=r"'echo': .*Echo and provider tool x\.search"):
        ToolSet([Echo(), ProviderTool("echo", "x.search")])


def test_a_filter_keeps_the_tools_whose_spec_it_accepts() -> None:
    tools = ToolSet([lookup, Echo(), SEARCH])

    assert names(tools.filter(lambda spec: bool(spec.read_only))) == ["lookup"]
    assert len(tools) == 3


def test_a_prefix_stands_before_every_name() -> None:
    tools = ToolSet([lookup, Echo(), SEARCH]).prefix("shop_")

    assert names(tools) == ["shop_lookup", "shop_echo", "shop_search"]


def test_two_sets_of_the_same_tools_fit_together_with_prefixes() -> None:
    both = ToolSet([*ToolSet([lookup]).prefix("a_"), *ToolSet([lookup]).prefix("b_")])

    assert names(both) == ["a_lookup", "b_lookup"]


def test_names_can_be_swapped() -> None:
    tools = ToolSet([lookup, plain]).rename({"lookup": "plain", "plain": "lookup"})

    results = [one.execute(order="A7") for one in tools.filter(lambda s: s.name == "plain")]  # type: ignore[union-attr]

    assert names(tools) == ["plain", "lookup"]
    assert results == [ToolResult("plain", "order A7")]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nothing": "x"}, "There is no tool 'nothing' to rename; there are lookup, plain"),
        ({"lookup": "plain"}, "Two tools are named 'plain'"),
        ({"lookup": "a b"}, "the tool name 'a b' must be"),
    ],
)
def test_a_rename_that_cannot_be_is_refused(change: dict[str, str], reason: str) -> None:
    with pytest.raises(ToolDefinitionError, match=reason):
        ToolSet([lookup, plain]).rename(change)


def test_a_prefix_that_makes_a_name_too_long_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="must be 1 to 64"):
        ToolSet([lookup]).prefix("x" * 60)


def test_a_renamed_tool_keeps_all_but_its_name() -> None:
    other = renamed(lookup, "find")
    assert isinstance(other, RenamedTool)

    result = other.execute(order="A7")

    assert (other.spec.name, other.tool_id, result.tool_name) == ("find", "find", "find")
    assert (other.spec.read_only, other.spec.timeout_seconds) == (True, 5)
    assert other.spec.parameters == lookup.spec.parameters
    assert result.content == "order A7"
    assert lookup.spec.name == "lookup"


def test_a_tool_renamed_twice_is_one_step_from_the_original() -> None:
    twice = renamed(renamed(lookup, "a"), "b")

    assert isinstance(twice, RenamedTool)
    assert twice.inner is lookup
    assert origin(twice) == f"{__name__}.lookup"


def test_a_renamed_provider_tool_stays_one() -> None:
    other = renamed(SEARCH, "find")

    assert isinstance(other, ProviderTool)
    assert (other.name, other.provider_type, other.options) == ("find", "x.search", {"depth": 2})


def test_the_result_that_a_tool_keeps_is_not_renamed_with_it() -> None:
    kept = ToolResult("cached", "42")

    class Cached(Echo):
        def execute(self, **params: Any) -> ToolResult:
            return kept

    result = RenamedTool(Cached(), "other").execute()

    assert (result.tool_name, kept.tool_name) == ("other", "cached")


def test_an_argument_named_like_pythons_own_reaches_a_renamed_tool() -> None:
    result = RenamedTool(Echo(), "other").execute(self=1, params=2)

    assert result.content == "{'self': 1, 'params': 2}"


def test_an_async_function_becomes_a_tool_too() -> None:
    async def wait() -> str:
        await asyncio.sleep(0)
        return "done"

    (made,) = ToolSet([wait])

    assert isinstance(made, FunctionTool)
    assert made.execute().content == "done"


def test_a_bound_method_becomes_a_tool_of_its_object() -> None:
    class Shop:
        city = "Oslo"

        def where(self, floor: int) -> str:
            """Tell where the shop is."""
            return f"{self.city}, floor {floor}"

    made = as_tool(Shop().where)

    assert isinstance(made, FunctionTool)
    assert made.execute(floor=2).content == "Oslo, floor 2"


def test_a_duck_is_a_tool_as_it_is() -> None:
    class Duck:
        spec = ToolSpec("duck", "Quack.")

        def execute(self, **params: Any) -> ToolResult:
            return ToolResult("duck", "quack")

    duck = Duck()

    assert as_tool(duck) is duck


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (Echo, r"Echo is a class; give an instance of it: Echo\(\)"),
        ("calculator", "'calculator' is no tool"),
        (None, "None is no tool"),
        (3, "3 is no tool"),
        ({"type": "function"}, "is no tool"),
        (lambda: None, "the tool name '<lambda>' must be"),
        (ToolSpec("t", ""), "is no tool"),
    ],
)
def test_what_is_no_tool_is_refused(entry: Any, reason: str) -> None:
    with pytest.raises(ToolDefinitionError, match=reason):
        ToolSet([entry])


def test_an_origin_that_a_tool_tells_is_believed() -> None:
    class Told(Echo):
        origin = "/tools/weather.py:12"

    assert origin(Told()) == "/tools/weather.py:12"
