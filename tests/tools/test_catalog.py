from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openjarvis.core.errors import ConfigError, ToolDefinitionError
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolCall, ToolResult
from openjarvis.execution.executor import ToolExecutor
from openjarvis.testing import ScriptedEngine, says
from openjarvis.toolkit.base import BaseTool, ToolSpec
from openjarvis.toolkit.function import tool
from openjarvis.toolkit.provider import ProviderTool
from openjarvis.toolkit.services import Services
from openjarvis.tools import catalog
from openjarvis.tools.catalog import UnknownToolError


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    with ToolRegistry.isolated():
        yield


class Plain(BaseTool):
    tool_id = "plain"

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec("plain", "Do a plain thing.")

    def execute(self, **params: Any) -> ToolResult:
        return ToolResult("plain", "done")


def built_names(*chosen: Any, **options: Any) -> list[str]:
    tools = catalog.build(chosen, options.pop("services", Services()), **options)
    return [entry.spec.name for entry in tools]


@pytest.mark.parametrize("name", catalog.names())
def test_every_tool_that_is_shipped_can_be_built_by_its_name(name: str) -> None:
    assert built_names(name) == [name]


@pytest.mark.parametrize("name", catalog.names())
def test_every_tool_that_is_shipped_tells_a_model_when_to_call_it(name: str) -> None:
    (made,) = catalog.build([name], Services())

    assert made.spec.description
    assert made.spec.category
    for parameter in made.spec.parameters["properties"].values():
        assert parameter["description"]


def test_tools_keep_the_order_they_were_chosen_in() -> None:
    assert built_names("think", Plain(), "calculator") == ["think", "plain", "calculator"]


def test_tools_of_every_spelling_may_be_mixed() -> None:
    @tool
    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    def whisper(text: str) -> str:
        """Whisper."""
        return text.lower()

    search = ProviderTool("search", "google.google_search")

    assert built_names("think", shout, whisper, search) == ["think", "shout", "whisper", "search"]


def test_a_registered_class_is_made_without_arguments() -> None:
    ToolRegistry.register("plain")(Plain)

    assert built_names("plain") == ["plain"]


def test_a_registered_instance_or_function_is_taken_as_it_is() -> None:
    made = Plain()
    ToolRegistry.register_value("plain", made)
    ToolRegistry.register_value("greet", tool("greet", "Greet.")(lambda: "hi"))

    assert catalog.build(["plain"], Services()).build() == [made]
    assert built_names("greet") == ["greet"]


def test_a_class_with_build_is_given_what_there_is() -> None:
    seen: list[Services] = []

    class Needy(Plain):
        @classmethod
        def build(cls, services: Services) -> "Needy":
            seen.append(services)
            return cls()

    ToolRegistry.register("plain")(Needy)
    services = Services(model="m")

    catalog.build(["plain"], services)

    assert seen == [services]


def test_the_model_tool_asks_the_engine_of_the_system() -> None:
    engine = ScriptedEngine([says("hello")])

    tools = catalog.build(["llm"], Services(engine=engine, model="m"))
    result = ToolExecutor(tools).execute(ToolCall("1", "llm", '{"prompt": "hi"}'))

    assert result.content == "hello"
    assert engine.requests[0].model == "m"


def test_the_file_tool_reads_the_folders_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Buy milk.")
    call = ToolCall("1", "file_read", f'{{"path": "{tmp_path / "a.txt"}"}}')

    inside = catalog.build(["file_read"], Services(allowed_dirs=[tmp_path]))
    outside = catalog.build(["file_read"], Services(allowed_dirs=[tmp_path / "b"]))

    assert ToolExecutor(inside).execute(call).content == "Buy milk."
    assert "Access denied" in ToolExecutor(outside).execute(call).content


def test_a_dropped_in_tool_is_found_by_its_name() -> None:
    made = Plain()

    assert catalog.build(["plain"], Services(), {"plain": made}).build() == [made]
    assert "plain" in catalog.names({"plain": made})


def test_an_unknown_name_is_refused_with_the_nearest_and_all_there_are() -> None:
    with pytest.raises(UnknownToolError) as caught:
        catalog.build(["plainn"], Services(), {"plain": Plain()})

    told = str(caught.value)
    assert told.startswith("Unknown tool 'plainn'. Did you mean 'plain'? There are ")
    assert "calculator" in told


@pytest.mark.parametrize("name", ["", "\n", "x" * 10_000, "\x1b[2J", "ไทย"])
def test_a_name_that_is_none_is_refused_in_few_words(name: str) -> None:
    with pytest.raises(UnknownToolError) as caught:
        catalog.build([name], Services())

    assert len(str(caught.value)) < 2_000
    assert "\n" not in str(caught.value)


def test_two_tools_of_one_name_are_refused_with_both_origins() -> None:
    ToolRegistry.register("plain")(Plain)

    @tool("plain", "Another one.")
    def other() -> str:
        return ""

    with pytest.raises(ToolDefinitionError, match="Two tools are named 'plain'") as caught:
        catalog.build(["plain", other], Services())

    assert "Plain" in str(caught.value)
    assert "other" in str(caught.value)


@pytest.mark.parametrize("error", [TypeError("needs x"), OSError("no disk"), KeyError("token")])
def test_a_class_that_cannot_be_made_is_told_with_its_name(error: Exception) -> None:
    class Broken(Plain):
        def __init__(self) -> None:
            raise error

    ToolRegistry.register("plain")(Broken)

    with pytest.raises(ToolDefinitionError) as caught:
        catalog.build(["plain"], Services())

    told = str(caught.value)
    assert told.startswith(f"The tool 'plain' cannot be made: {type(error).__name__}: ")
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("entry", [Plain, 3, object(), None])
def test_what_is_no_tool_is_refused(entry: Any) -> None:
    with pytest.raises(ToolDefinitionError, match=r"is a class|is no tool"):
        catalog.build([entry], Services())


def test_a_section_that_cannot_be_used_is_an_error_of_the_configuration() -> None:
    class Configured(Plain):
        @classmethod
        def build(cls, services: Services) -> "Configured":
            raise ConfigError("[tools.plain] kolour: unknown key")

    ToolRegistry.register("plain")(Configured)

    with pytest.raises(ConfigError) as caught:
        catalog.build(["plain"], Services())

    assert str(caught.value) == "[tools.plain] kolour: unknown key"
