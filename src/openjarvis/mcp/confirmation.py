"""Approvals by elicitation: the host asks its user, in the way of either protocol era.

In the older era the server asks while the call waits. In the newer one it answers the call with a
question, and the host calls again with the answer; the call that asked waits meanwhile, so that
what is approved is exactly what runs, and it is recorded once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from secrets import token_urlsafe
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from openjarvis.execution.approval import Decision, Denied, ToolCallRequest
from openjarvis.execution.policy import read_by_a_person

MAX_WAITING = 100
"""How many questions wait for their answers; for one more, the oldest is given up."""

_KEY = "approval"
_FORM: dict[str, Any] = {"type": "object", "properties": {}}
"""Nothing to fill in: accepting is the answer."""

CANNOT_ASK = Denied(
    "this tool needs an approval, and the host cannot ask its user", code="NO_APPROVER"
)

GIVEN_UP = Denied(f"{MAX_WAITING} later questions wait for an answer", code="NO_DECISION")

Approve = Callable[[ToolCallRequest], Awaitable[Decision]]
Hear = Callable[[str, str], None]
Perform = Callable[[Approve, Hear], Coroutine[Any, Any, CallToolResult]]


class Confirmations:
    """Runs calls that may need an approval. Used in the server's event loop only."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Suspended] = {}

    async def run(
        self,
        context: ServerRequestContext[Any, Any],
        params: CallToolRequestParams,
        perform: Perform,
        hear: Hear,
    ) -> CallToolResult | InputRequiredResult:
        """Return what `perform` returns, given an approver that asks the host's user.

        `hear` is told the progress of the call as long as this request of the host lasts.
        """
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:

            async def ask(request: ToolCallRequest) -> Decision:
                return await _asked_now(context, request)

            return await perform(ask, hear)
        if params.request_state is not None:
            return await self._resumed(params, hear)
        suspended = _Suspended(hear, can_ask=_can_ask(context))
        suspended.task = asyncio.create_task(perform(suspended.approve, suspended.heard))
        return await self._next(suspended)

    async def _resumed(
        self, params: CallToolRequestParams, hear: Hear
    ) -> CallToolResult | InputRequiredResult:
        suspended = self._waiting.pop(params.request_state or "", None)
        if suspended is None:
            raise MCPError(INVALID_PARAMS, "This call is not waiting for an approval any more.")
        answer = (params.input_responses or {}).get(_KEY)
        suspended.hear = hear
        suspended.answer(_decision(answer if isinstance(answer, ElicitResult) else None))
        return await self._next(suspended)

    async def _next(self, suspended: "_Suspended") -> CallToolResult | InputRequiredResult:
        """Return the call's result, or its next question."""
        task = suspended.task
        assert task is not None  # noqa: S101 - `_begun` has set it
        question = asyncio.ensure_future(suspended.question.get())
        try:
            await asyncio.wait({task, question}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            question.cancel()
        if task.done():
            return task.result()
        if len(self._waiting) == MAX_WAITING:
            self._waiting.pop(next(iter(self._waiting))).answer(GIVEN_UP)
        state = token_urlsafe(24)
        self._waiting[state] = suspended
        task.add_done_callback(lambda _: self._waiting.pop(state, None))
        return InputRequiredResult(
            input_requests={_KEY: _elicitation(question.result())}, request_state=state
        )


class _Suspended:
    """A call that runs between the host's requests."""

    def __init__(self, hear: Hear, *, can_ask: bool) -> None:
        self.hear = hear
        self.task: asyncio.Task[CallToolResult] | None = None
        self.question: asyncio.Queue[str] = asyncio.Queue()
        self._can_ask = can_ask
        self._answer: asyncio.Future[Decision] | None = None

    async def approve(self, request: ToolCallRequest) -> Decision:
        if not request.spec.requires_confirmation:
            return None
        if not self._can_ask:
            return CANNOT_ASK
        question = _question(request)
        if isinstance(question, Denied):
            return question
        self._answer = asyncio.get_running_loop().create_future()
        self.question.put_nowait(question)
        return await self._answer

    def heard(self, call_id: str, text: str) -> None:
        self.hear(call_id, text)

    def answer(self, decision: Decision) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(decision)


async def _asked_now(context: ServerRequestContext[Any, Any], request: ToolCallRequest) -> Decision:
    if not request.spec.requires_confirmation:
        return None
    if not _can_ask(context):
        return CANNOT_ASK
    question = _question(request)
    if isinstance(question, Denied):
        return question
    answer = await context.session.elicit_form(
        question, _FORM, related_request_id=context.request_id
    )
    return _decision(answer)


def _can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    capabilities = context.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


def _decision(answer: ElicitResult | None) -> Decision:
    if answer is not None and answer.action == "accept":
        return None
    return Denied("the user said no", code="DENIED_BY_USER")


def _elicitation(question: str) -> ElicitRequest:
    return ElicitRequest(params=ElicitRequestFormParams(message=question, requested_schema=_FORM))


def _question(request: ToolCallRequest) -> str | Denied:
    shown = read_by_a_person(request)
    return shown if isinstance(shown, Denied) else f"Allow {request.name} to run with {shown}?"
