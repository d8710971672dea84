import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

from mcp import Client
from openjarvis import tool
from openjarvis.core.images import Image
from openjarvis.core.types import ToolResult
from openjarvis.execution.executor import ToolExecutor
from openjarvis.mcp.confirmation import MAX_WAITING
from openjarvis.mcp.server import Approval, make_server
from openjarvis.toolkit.base import BaseTool, ToolSpec
from openjarvis.toolkit.context import ToolContext
from openjarvis.tools.calculator import CalculatorTool
from pictures import PNG

BOTH_ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
refunds: list[int] = []


@pytest.fixture(autouse=True)
def no_refunds() -> None:
    refunds.clear()


@tool
def slow(context: ToolContext, steps: int = 3) -> str:
    """Work in steps."""
    for step in range(steps):
        context.progress(f"step {step}")
    return "done"


@tool(requires_confirmation=True)
def mail(text: str) -> str:
    """Send a letter."""
    return "sent"


class Refund(BaseTool):
    tool_id = "refund"
    spec = ToolSpec(  # type: ignore[assignment]
        "refund",
        "Give money back.",
        {
            "type": "object",
            "properties": {"amount": {"type": "integer"}},
            "required": ["amount"],
        },
        requires_confirmation=True,
        examples=["Refund 20"],
        destructive=True,
        idempotent=False,
    )

    def execute(self, **params: Any) -> ToolResult:
        refunds.append(params["amount"])
        return ToolResult("refund", f"refunded {params['amount']}")


@asynccontextmanager
async def hosted(approval: Approval = "deny", **client: Any) -> AsyncIterator[Client]:
    """Give the SDK's client, connected to our server in this process."""
    executor = ToolExecutor([CalculatorTool(), Refund(), slow, mail])
    async with Client(make_server(executor, approval), **client) as connected:
        yield connected


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


async def accept(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={})


async def decline(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="decline")


@tool
def draw() -> Image:
    """Draw a dot."""
    return Image(PNG)


@BOTH_ERAS
def test_images_of_a_tool_reach_the_host(mode: Any) -> None:
    async def talk() -> Any:
        server = make_server(ToolExecutor([draw]), "deny")
        async with Client(server, mode=mode) as client:
            return await client.call_tool("draw", {})

    text, image = asyncio.run(talk()).content

    assert text.text == Image(PNG).line
    assert (image.type, image.mime_type, image.data) == ("image", "image/png", Image(PNG).base64)


def test_schema_title_hints_and_examples_are_passed_on() -> None:
    async def talk() -> Any:
        async with hosted() as client:
            return (await client.list_tools()).tools[1]

    refund = asyncio.run(talk())

    assert refund.title == "Refund"
    assert refund.input_schema["required"] == ["amount"]
    assert refund.annotations.destructive_hint is True
    assert refund.annotations.idempotent_hint is False
    assert refund.annotations.read_only_hint is None
    assert "Examples:\n- Refund 20" in refund.description


@BOTH_ERAS
def test_failures_are_results_that_say_what_was_wrong(mode: str) -> None:
    async def talk() -> list[Any]:
        async with hosted(mode=mode) as client:
            return [
                await client.call_tool("calculator", {"expression": "1/0"}),
                await client.call_tool("calculator", {"expresion": "1"}),
                await client.call_tool("calculator", None),
                await client.call_tool("calculater", {}),
            ]

    results = asyncio.run(talk())

    assert all(result.is_error for result in results)
    assert "division by zero" in text_of(results[0]).lower()
    assert "did you mean 'expression'" in text_of(results[1])
    assert "missing 'expression'" in text_of(results[2])
    assert "Unknown tool 'calculater'" in text_of(results[3])


@BOTH_ERAS
def test_progress_is_heard_while_the_tool_runs(mode: str) -> None:
    heard: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def talk() -> Any:
        async with hosted(mode=mode) as client:
            return await client.call_tool("slow", {}, progress_callback=hear)

    assert text_of(asyncio.run(talk())) == "done"
    assert heard == ["step 0", "step 1", "step 2"]


@BOTH_ERAS
def test_what_needs_a_confirmation_is_denied_by_default(mode: str) -> None:
    async def talk() -> Any:
        async with hosted(mode=mode, elicitation_callback=accept) as client:
            return await client.call_tool("refund", {"amount": 20})

    result = asyncio.run(talk())

    assert result.is_error
    assert "was denied" in text_of(result)
    assert refunds == []


@BOTH_ERAS
def test_the_hosts_user_approves_by_elicitation_and_it_runs_once(mode: str) -> None:
    questions: list[str] = []

    async def ask(context: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={})

    async def talk() -> Any:
        async with hosted("elicit", mode=mode, elicitation_callback=ask) as client:
            return await client.call_tool("refund", {"amount": 20})

    result = asyncio.run(talk())

    assert text_of(result) == "refunded 20"
    assert questions == ['Allow refund to run with {"amount": 20}?']
    assert refunds == [20]


@BOTH_ERAS
@pytest.mark.parametrize("answer", [decline, None])
def test_a_no_or_a_host_that_cannot_ask_denies(mode: str, answer: Any) -> None:
    async def talk() -> Any:
        async with hosted("elicit", mode=mode, elicitation_callback=answer) as client:
            return await client.call_tool("refund", {"amount": 20})

    result = asyncio.run(talk())

    assert result.is_error
    assert "denied" in text_of(result)
    assert refunds == []


@BOTH_ERAS
def test_what_is_too_long_to_be_read_is_denied_and_nothing_is_cut(mode: str) -> None:
    questions: list[str] = []

    async def ask(context: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={})

    async def talk() -> list[Any]:
        async with hosted("elicit", mode=mode, elicitation_callback=ask) as client:
            return [
                await client.call_tool("mail", {"text": "x" * length + " THE END"})
                for length in (4_900, 5_000)
            ]

    read, unread = asyncio.run(talk())

    assert text_of(read) == "sent"
    assert "more than a person is asked about" in text_of(unread)
    assert [question[-12:] for question in questions] == ['x THE END"}?']


def test_questions_that_nobody_answers_give_way_to_later_ones() -> None:
    async def talk() -> list[str]:
        async with hosted("elicit", elicitation_callback=accept) as client:
            session = client.session
            first = await session.call_tool("refund", {"amount": 1}, allow_input_required=True)
            for amount in range(2, MAX_WAITING + 1):
                await session.call_tool("refund", {"amount": amount}, allow_input_required=True)
            last = await client.call_tool("refund", {"amount": 500})
            with pytest.raises(MCPError) as raised:
                await session.call_tool(
                    "refund",
                    {"amount": 1},
                    input_responses={"approval": ElicitResult(action="accept", content={})},
                    request_state=first.request_state,
                )
            return [text_of(last), str(raised.value)]

    last, first = asyncio.run(talk())

    assert last == "refunded 500"
    assert "not waiting for an approval" in first
    assert refunds == [500]


def test_an_approval_cannot_be_used_for_other_arguments_or_twice() -> None:
    async def talk() -> list[str]:
        async with hosted("elicit", elicitation_callback=accept) as client:
            session = client.session
            first = await session.call_tool("refund", {"amount": 1}, allow_input_required=True)
            answers = {"approval": ElicitResult(action="accept", content={})}
            said: list[str] = []
            for amount in (1000, 1, 1):
                try:
                    done = await session.call_tool(
                        "refund",
                        {"amount": amount},
                        input_responses=answers,
                        request_state=first.request_state,
                        allow_input_required=True,
                    )
                    said.append(text_of(done))
                except MCPError as error:
                    said.append(str(error))
            return said

    changed, genuine, again = asyncio.run(talk())

    assert "Invalid or expired requestState" in changed
    assert genuine == "refunded 1"
    assert "not waiting for an approval" in again
    assert refunds == [1]
