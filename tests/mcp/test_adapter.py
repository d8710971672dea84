import asyncio
import json
from typing import Any

import pytest

from mcp_servers import OpenPool, misbehaving
from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.record import Outcome
from openjarvis.execution.trip import Run
from openjarvis.mcp.content import MAX_PARTS
from openjarvis.toolkit.base import ToolSpec
from openjarvis.toolkit.services import Services
from openjarvis.tools.mcp_adapter import MCPToolAdapter

SPEC = ToolSpec(
    "srv__echo", "Say it.", {"type": "object", "properties": {"text": {"type": "string"}}}
)


class Client:
    """A client of somebody's: anything with `call_tool`."""

    def __init__(self, answer: Any) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answer = answer

    def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.append((name, arguments))
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def test_a_call_goes_to_the_client_and_its_answer_comes_back() -> None:
    client = Client(text("hi"))

    result = MCPToolAdapter(client, SPEC, "echo").execute(text="hello")

    assert client.calls == [("echo", {"text": "hello"})]
    assert (result.tool_name, result.content, result.success) == ("srv__echo", "hi", True)


def test_an_answer_that_is_an_error_is_no_success() -> None:
    result = MCPToolAdapter(Client(text("no", isError=True)), SPEC).execute()

    assert (result.success, result.content) == (False, "no")


def test_a_client_that_raises_is_a_failure() -> None:
    result = MCPToolAdapter(Client(RuntimeError("gone")), SPEC).execute()

    assert (result.success, result.content) == (False, "RuntimeError: gone")


def test_an_async_client_is_awaited() -> None:
    class Async:
        async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
            await asyncio.sleep(0)
            return text("later")

    executor = ToolExecutor([MCPToolAdapter(Async(), SPEC)])

    assert executor.execute(ToolCall("1", "srv__echo", "{}")).content == "later"


@pytest.mark.parametrize("name", ["self", "context", "arguments", "params", "name"])
def test_an_argument_may_have_any_name(name: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}}}
    client = Client(text("ok"))
    executor = ToolExecutor([MCPToolAdapter(client, ToolSpec("t", "T.", schema))])

    result = executor.execute(ToolCall("1", "t", json.dumps({name: "value"})))

    assert result.success
    assert client.calls == [("t", {name: "value"})]


def test_images_and_files_are_kept_beside_the_text() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}
    file = {"type": "resource", "resource": {"uri": "file:///a", "blob": "aGk="}}
    note = {"type": "resource", "resource": {"uri": "file:///b", "text": "read me"}}
    link = {"type": "resource_link", "name": "c", "uri": "file:///c"}
    content = [{"type": "text", "text": "see"}, image, file, note, link]

    result = MCPToolAdapter(Client({"content": content}), SPEC).execute()

    assert result.content.splitlines() == [
        "see",
        "[image image/png, 5 bytes, sha256 2cf24dba5fb0a30e]",
        "[resource file:///a, 3 bytes]",
        "[resource file:///b]",
        "read me",
        "[link c: file:///c]",
    ]
    assert result.metadata["parts"] == [image, file]


def test_a_picture_past_the_limit_is_left_out_and_says_so() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": "a" * 9_000_000}

    result = MCPToolAdapter(Client({"content": [image]}), SPEC).execute()

    assert "too large, left out" in result.content
    assert "parts" not in result.metadata


def test_structured_content_is_the_text_where_there_is_none() -> None:
    answer = {"content": [], "structuredContent": {"degrees": 33}}

    result = MCPToolAdapter(Client(answer), SPEC).execute()

    assert result.content == '{"degrees": 33}'
    assert result.metadata["structured_content"] == {"degrees": 33}


def ask(open_pool: OpenPool, **arguments: Any) -> Any:
    pool = open_pool(misbehaving())
    executor = ToolExecutor(
        [MCPToolAdapter.build(Services(mcp=pool))], approve=lambda request: True
    )
    return executor.execute(ToolCall("1", "mcp_adapter", json.dumps(arguments)))


def test_mcp_adapter_lists_and_calls_any_tool_of_any_server(open_pool: OpenPool) -> None:
    assert "echo: What it says." in ask(open_pool, server="bad").content
    called = ask(open_pool, server="bad", tool="echo", arguments={"text": "hi"})
    assert (called.success, called.content) == (True, "echo: hi")


def test_mcp_adapter_says_what_is_wrong(open_pool: OpenPool) -> None:
    assert "Did you mean 'bad'" in ask(open_pool, server="bda").content
    assert "Did you mean 'bad__echo'" in ask(open_pool, server="bad", tool="ehco").content
    wrong = ask(open_pool, server="bad", tool="echo", arguments={"txt": "hi"})
    assert "unknown argument 'txt'" in wrong.content


def test_mcp_adapter_needs_a_confirmation_and_servers() -> None:
    tool = MCPToolAdapter.build(Services())

    executor = ToolExecutor([tool])
    done, record = executor.perform(ToolCall("1", "mcp_adapter", '{"server": "a"}'), Run())

    assert record.outcome is Outcome.DENIED
    assert not done.success
    allowed = ToolExecutor([tool], approve=lambda request: True)
    result = allowed.execute(ToolCall("1", "mcp_adapter", '{"server": "a"}'))
    assert "No MCP servers are configured" in result.content


def test_structured_content_that_is_too_large_is_left_out() -> None:
    answer = text("much", structuredContent={"a": "x" * MAX_PARTS})

    result = MCPToolAdapter(Client(answer), SPEC).execute()

    assert result.content == "much"
    assert "structured_content" not in result.metadata
