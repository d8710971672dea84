from typing import Any

import pytest

from openjarvis.core.errors import ToolDefinitionError, ToolError
from openjarvis.core.types import ToolResult as CoreResult
from openjarvis.dropins import BaseTool, ToolManifest, ToolResult
from openjarvis.dropins.adapter import DropInTool
from openjarvis.toolkit.toolset import ToolSet, origin

_CALLABLE = {"self": "s", "params": "p", "tool_name": "t"}


class Echo(BaseTool):
    """Returns what it was made with, or the parameters it was given."""

    def __init__(self, returned: Any = None, **manifest: Any) -> None:
        super().__init__()
        self.returned = returned
        self.given: dict[str, Any] = {}
        self._manifest = {"name": "echo", "description": "Use it to hear yourself.", **manifest}

    def manifest(self) -> ToolManifest:
        return ToolManifest(**self._manifest)

    def execute(self, params: dict[str, Any]) -> ToolResult:
        self.given = params
        return self.returned  # type: ignore[no-any-return]


def adapted(inner: BaseTool) -> DropInTool:
    return DropInTool(inner, "tools/echo.py:7")


def test_every_field_of_the_manifest_reaches_the_spec() -> None:
    fields = {
        "category": "test",
        "cost_estimate": 0.5,
        "latency_estimate": 2.0,
        "requires_confirmation": True,
        "metadata": {"repeatable": True},
        "timeout_seconds": 5,
        "read_only": True,
        "destructive": False,
        "idempotent": True,
        "open_world": False,
        "examples": ["Hello?", ("Hello!", {})],
    }

    spec = adapted(Echo(**fields)).spec

    assert {name: getattr(spec, name) for name in fields} == fields


def test_its_origin_is_told_when_names_clash() -> None:
    tools = ToolSet([adapted(Echo())])

    with pytest.raises(ToolDefinitionError, match=r"tools/echo\.py:7 and tools/echo\.py:7"):
        tools.add(adapted(Echo()))
    assert origin(tools.build()[0]) == "tools/echo.py:7"


@pytest.mark.parametrize(
    ("returned", "content"),
    [
        (ToolResult(success=True, data="text"), "text"),
        (ToolResult(success=True), ""),
        (ToolResult(success=True, data="ฝน"), "ฝน"),
        (ToolResult(success=True, data={"sky": "ฝน"}), '{"sky": "ฝน"}'),
        (ToolResult(success=True, data=[1, None]), "[1, null]"),
        (ToolResult(success=True, data=None), "null"),
        (ToolResult(success=True, data={3}), "[3]"),
        ("plain text", "plain text"),
        ({"sky": "rain"}, '{"sky": "rain"}'),
        (CoreResult("echo", "as it is"), "as it is"),
    ],
)
def test_what_it_returns_becomes_text_for_the_model(returned: Any, content: str) -> None:
    result = adapted(Echo(returned)).execute()

    assert result == CoreResult("echo", content)


@pytest.mark.parametrize(
    ("returned", "content"),
    [
        (ToolResult(success=False, data="", error="no such city"), "no such city"),
        (ToolResult(False, "ignored", "why"), "why"),
        (ToolResult(success=False), "The tool 'echo' failed without saying why."),
        (ToolResult(success=False, error=ValueError("bad")), "bad"),  # type: ignore[arg-type]
        (
            ToolResult(success=False, error="404 for https://u:hunter2@api.example.com/?x=1"),
            "404 for https://[secret]@api.example.com/?x=1",
        ),
    ],
)
def test_a_failure_says_why_without_secrets(returned: ToolResult, content: str) -> None:
    result = adapted(Echo(returned)).execute()

    assert result == CoreResult("echo", content, success=False)


@pytest.mark.parametrize(
    ("returned", "told"),
    [(None, "returned nothing"), (ToolResult(True, object()), "JSON cannot hold")],
)
def test_what_no_model_could_read_is_an_error(returned: Any, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        adapted(Echo(returned)).execute()


def test_what_execute_raises_is_left_to_the_executor() -> None:
    class Failing(Echo):
        def execute(self, params: dict[str, Any]) -> ToolResult:
            raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        adapted(Failing()).execute()


def test_an_async_execute_is_awaited() -> None:
    class Async(Echo):
        async def execute(self, params: dict[str, Any]) -> ToolResult:  # type: ignore[override]
            return ToolResult(success=True, data=params)

    result = adapted(Async(parameters={"a": "first"})).execute(a="1")

    assert result.content == '{"a": "1"}'


def test_parameters_may_have_any_name() -> None:
    inner = Echo("done", parameters=_CALLABLE)

    adapted(inner).execute(**_CALLABLE)

    assert inner.given == _CALLABLE


def test_defaults_of_the_schema_fill_what_is_missing_anew_each_time() -> None:
    tags: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "default": []}
    inner = Echo("done", parameters={"tags": tags, "limit": {"type": "integer", "default": 5}})
    tool = adapted(inner)

    tool.execute(limit=2)
    assert inner.given == {"tags": [], "limit": 2}
    inner.given["tags"].append("left over")
    tool.execute()

    assert inner.given == {"tags": [], "limit": 5}


def test_what_a_model_was_told_does_not_change_with_the_manifest() -> None:
    parameters: dict[str, Any] = {"city": {"type": "string", "enum": ["Oslo"]}}
    tool = adapted(Echo(parameters=parameters))

    parameters["city"]["enum"].append("Bergen")

    assert tool.spec.parameters["properties"]["city"]["enum"] == ["Oslo"]


def test_a_manifest_of_another_type_is_refused() -> None:
    class Wrong(Echo):
        def manifest(self) -> ToolManifest:
            return {"name": "wrong"}  # type: ignore[return-value]

    with pytest.raises(ToolDefinitionError, match=r"manifest\(\) must return a ToolManifest"):
        adapted(Wrong())


def test_an_async_manifest_is_refused() -> None:
    class Wrong(Echo):
        async def manifest(self) -> ToolManifest:  # type: ignore[override]
            return ToolManifest("wrong", "")

    with pytest.raises(ToolDefinitionError, match=r"Wrong\.manifest must not be async"):
        adapted(Wrong())


def test_an_execute_that_cannot_take_the_parameters_is_refused() -> None:
    class Wrong(Echo):
        def execute(self) -> ToolResult:  # type: ignore[override]
            return ToolResult(success=True)

    with pytest.raises(ToolDefinitionError, match=r"Wrong\.execute must take one argument"):
        adapted(Wrong())


def test_the_model_gets_the_schema_as_a_function_definition() -> None:
    tool = adapted(Echo(parameters={"city": "where"}))

    definition = tool.to_openai_function()

    assert definition["function"]["parameters"]["required"] == ["city"]
