import asyncio
from threading import Event
from typing import Any

import pytest
from mcp.types import ElicitRequestFormParams, ElicitRequestURLParams

from openjarvis.execution.approval import ToolCallRequest
from openjarvis.mcp.answers import MAX_QUESTIONS, Answers
from openjarvis.toolkit.context import ToolContext

QUESTION = ElicitRequestFormParams(
    message="Really?", requested_schema={"type": "object", "properties": {}}
)


def answered(
    answers: Answers, params: Any, approve: Any, times: int = 1
) -> tuple[list[str], list[str]]:
    """Return the server's answers, and the names of what the approver was asked about."""
    asked: list[str] = []

    def noted(request: ToolCallRequest) -> bool:
        asked.append(request.name)
        return bool(approve(request))

    async def ask() -> list[str]:
        with answers.during(ToolContext(approve=noted)):
            return [(await answers.elicit(None, params)).action for _ in range(times)]

    return asyncio.run(ask()), asked


@pytest.mark.parametrize(
    ("params", "wanted"),
    [
        (
            ElicitRequestFormParams(
                message="Who are\n you?\x1b[31m",
                requested_schema={
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "nick": {"type": "string"},
                        "e\u202email": {"type": "string"},
                    },
                    "required": ["name", "e\u202email"],
                },
            ),
            "for name, nick, e\\u202email: Who are you?\\x1b[31m",
        ),
        (
            ElicitRequestURLParams(
                message="Pay here", url="https://evil.example/", elicitation_id="1"
            ),
            "to open an address: Pay here",
        ),
    ],
)
def test_what_a_yes_cannot_answer_is_declined_and_the_user_told_what_was_asked(
    params: Any, wanted: str, caplog: pytest.LogCaptureFixture
) -> None:
    actions, asked = answered(Answers("srv"), params, lambda request: True)

    assert (actions, asked) == (["decline"], [])
    assert [record.getMessage() for record in caplog.records] == [
        f"The MCP server srv asked {wanted} (declined: only a question that a yes answers can be "
        "put to you here)"
    ]


def test_notices_of_what_was_declined_are_as_few_as_questions(
    caplog: pytest.LogCaptureFixture,
) -> None:
    form = ElicitRequestFormParams(
        message="m" * 10_000,
        requested_schema={
            "type": "object",
            "properties": {f"field{n}": {"type": "string"} for n in range(1_000)},
            "required": ["field0"],
        },
    )

    actions, _ = answered(Answers("srv"), form, lambda request: True, times=30)

    assert actions == ["decline"] * 30
    assert len(caplog.records) == MAX_QUESTIONS
    assert all(len(record.getMessage()) < 1_000 for record in caplog.records)


def test_a_server_that_asks_without_end_is_declined_past_a_limit() -> None:
    answers, asked, decide = Answers("srv"), [], Event()

    def approve(request: ToolCallRequest) -> bool:
        asked.append(request.name)
        return decide.wait(20)

    async def pester() -> list[str]:
        with answers.during(ToolContext(approve=approve)):
            pending = [
                asyncio.ensure_future(answers.elicit(None, QUESTION))
                for _ in range(MAX_QUESTIONS + 30)
            ]
            done: set[Any] = set()
            while len(done) < 30:
                done, _ = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            decide.set()
            answered = await asyncio.gather(*pending)
        with answers.during(ToolContext(approve=approve)):  # the next call may ask again
            answered.append(await answers.elicit(None, QUESTION))
        return [one.action for one in answered]  # type: ignore[union-attr]

    actions = asyncio.run(pester())

    assert actions.count("decline") == 30
    assert len(asked) == MAX_QUESTIONS + 1
    assert actions[-1] == "accept"
