import asyncio
from threading import Event
from typing import Any

from mcp.types import ElicitRequestFormParams

from openjarvis.execution.approval import ToolCallRequest
from openjarvis.mcp.answers import MAX_QUESTIONS, Answers
from openjarvis.toolkit.context import ToolContext

QUESTION = ElicitRequestFormParams(
    message="Really?", requested_schema={"type": "object", "properties": {}}
)


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
