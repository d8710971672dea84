"""What a server asks back while it works: a decision of the user, a completion of our model.

Both are off unless the server's configuration allows them, and even then every request goes before
the approver of the call that is under way; where nobody can decide, the answer is no. A call asks
`MAX_QUESTIONS` at most, one at a time, and what is open when it ends is withdrawn.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar
from uuid import uuid4

from anyio import CancelScope
from mcp.types import (
    INVALID_REQUEST,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    TextContent,
)

from openjarvis.core.strict_json import dumps
from openjarvis.core.types import Message, Role
from openjarvis.core.workers import run_in_worker
from openjarvis.execution.approval import (
    NOBODY_TO_ASK,
    Approver,
    Denied,
    ToolCallRequest,
    asked,
    asked_async,
    is_async,
)
from openjarvis.mcp.errors import told
from openjarvis.safety.concealment import masked
from openjarvis.toolkit.base import ToolSpec
from openjarvis.toolkit.context import ToolContext

_log = logging.getLogger("openjarvis.mcp")

MAX_QUESTIONS = 10
"""How often a server may ask during one call, for a decision and a completion together."""

MAX_SAMPLED_TOKENS = 4_096
MAX_SAMPLED_CHARACTERS = 100_000
_TOO_MANY = Denied(f"more than {MAX_QUESTIONS} questions in one call", code="TOO_MANY_QUESTIONS")
_WITHDRAWN = Denied("the call that asked has ended", code="CALL_ENDED")
_asking: "ContextVar[tuple[Answers, _UnderWay] | None]" = ContextVar("asking", default=None)

Answer = TypeVar("Answer")


class Answers:
    """Answers the requests of one server. Used in that server's event loop only."""

    def __init__(self, server: str, engine: Any = None, model: str = "") -> None:
        self._server = server
        self._engine = engine
        self._model = model
        self._under_way: list[_UnderWay] = []

    @contextmanager
    def during(self, context: ToolContext) -> Iterator[None]:
        """Let the approver of `context` decide what the server asks inside this block."""
        call = _UnderWay(context)
        self._under_way.append(call)
        here = _asking.set((self, call))
        try:
            yield
        finally:
            _asking.reset(here)
            self._under_way.remove(call)
            call.withdraw()

    def forget(self) -> None:
        """Forget every call that is under way: they are another process's."""
        self._under_way.clear()

    async def elicit(self, context: Any, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """Return the user's answer: a yes fills in what a yes can fill in.

        What it cannot is declined, and the user is told what was asked.
        """
        content = _agreed(params)
        arguments = {"message": params.message, "answer": content}

        async def answer(call: ToolContext) -> ElicitResult | Denied:
            if content is None:
                _log.warning(
                    "The MCP server %s asked %s: %s (declined: only a question that a yes answers "
                    "can be put to you here)",
                    self._server,
                    _wanted(params),
                    masked(params.message),
                )
                return ElicitResult(action="decline")
            refusal = await self._refusal(call, "elicitation", arguments)
            return refusal or ElicitResult(action="accept", content=content)

        found = await self._answered(answer)
        return ElicitResult(action="decline") if isinstance(found, Denied) else found

    async def sample(
        self, context: Any, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        """Return what our model answers to the server's messages."""
        messages = _messages(params)
        if messages is None:
            return _refused("Only text can be sampled here.")
        if sum(len(one.text) for one in messages) > MAX_SAMPLED_CHARACTERS:
            return _refused(f"At most {MAX_SAMPLED_CHARACTERS:,} characters can be sampled from.")
        limit = min(params.max_tokens, MAX_SAMPLED_TOKENS)
        arguments = {
            "messages": [{"role": one.role.value, "content": one.text} for one in messages],
            "max_tokens": limit,
        }

        async def answer(call: ToolContext) -> CreateMessageResult | ErrorData | Denied:
            refusal = await self._refusal(call, "sampling", arguments)
            if refusal is not None:
                return refusal
            if self._engine is None or not self._model:
                return _refused("There is no model to sample from.")
            return await self._sampled(messages, limit, params.temperature)

        found: CreateMessageResult | ErrorData | Denied = await self._answered(answer)
        return _refused(f"Denied: {found.reason}") if isinstance(found, Denied) else found

    async def _answered(
        self, answer: Callable[[ToolContext], Awaitable[Answer | Denied]]
    ) -> Answer | Denied:
        """Return what `answer` gives for the call that asks, or why nothing is given."""
        call = self._asking_call()
        if call is None:
            return NOBODY_TO_ASK
        if len(call.questions) == MAX_QUESTIONS:
            return _TOO_MANY
        with CancelScope() as question:
            call.questions.append(question)
            async with call.turn:
                return await answer(call.context)
        return _WITHDRAWN

    async def _sampled(
        self, messages: list[Message], limit: int, temperature: float | None
    ) -> CreateMessageResult | ErrorData:
        try:
            reply = await run_in_worker(
                lambda: self._engine.generate(
                    messages,
                    model=self._model,
                    temperature=0.7 if temperature is None else temperature,
                    max_tokens=limit,
                )
            )
        except Exception as error:  # noqa: BLE001 - an engine may be anybody's and may raise anything
            return _refused(f"The model failed: {told(error)}")
        return CreateMessageResult(
            role="assistant",
            content=TextContent(text=str(reply.get("content") or "")),
            model=str(reply.get("model") or self._model),
        )

    async def _refusal(
        self, context: ToolContext, kind: str, arguments: dict[str, Any]
    ) -> Denied | None:
        approver: Approver | None = context.approve
        if approver is None:
            return NOBODY_TO_ASK
        # No name of a tool, nor one that `allow=["SERVER__*"]` lets through.
        name = f"mcp:{self._server}:{kind}"
        spec = ToolSpec(
            name,
            f"The MCP server {self._server} asks during a call.",
            category="integration",
            requires_confirmation=True,
        )
        request = ToolCallRequest(
            f"{context.call_id}_{uuid4().hex[:8]}",
            name,
            arguments,
            dumps(arguments),
            spec,
            context.context,
        )
        if is_async(approver):
            return await asked_async(approver, request)
        refusal: Denied | None = await run_in_worker(lambda: asked(approver, request))
        return refusal

    def _asking_call(self) -> "_UnderWay | None":
        """Return the call that the server asks for.

        In the newer era its question comes as the call's answer. In the older one it comes by
        itself: where calls with several approvers are under way, nobody can say whose it is.
        """
        asking = _asking.get()
        if asking is not None and asking[0] is self:
            return asking[1]
        if len({id(one.context.approve) for one in self._under_way}) == 1:
            return self._under_way[-1]
        return None


class _UnderWay:
    """A call that has not ended, and what the server has asked during it."""

    def __init__(self, context: ToolContext) -> None:
        self.context = context
        self.questions: list[CancelScope] = []
        self.turn = asyncio.Lock()

    def withdraw(self) -> None:
        for question in self.questions:
            question.cancel()


def _refused(reason: str) -> ErrorData:
    return ErrorData(code=INVALID_REQUEST, message=reason)


def _wanted(params: ElicitRequestParams) -> str:
    """Return what a server wants of the user, in words."""
    if not isinstance(params, ElicitRequestFormParams):
        return "to open an address"
    return f"for {masked(', '.join(map(str, params.requested_schema.get('properties') or {})))}"


def _agreed(params: ElicitRequestParams) -> dict[str, Any] | None:
    """Return the form filled in for a user who says yes; None where a yes is not enough."""
    if not isinstance(params, ElicitRequestFormParams):
        return None
    schema, content = params.requested_schema, {}
    for name, field in (schema.get("properties") or {}).items():
        if not isinstance(field, dict):
            return None
        if "default" in field:
            content[name] = field["default"]
        elif field.get("type") == "boolean":
            content[name] = True
        elif name in (schema.get("required") or ()):
            return None
    return content


def _messages(params: CreateMessageRequestParams) -> list[Message] | None:
    messages = [Message(Role.SYSTEM, params.system_prompt)] if params.system_prompt else []
    for one in params.messages:
        blocks = one.content if isinstance(one.content, list) else [one.content]
        if not all(isinstance(block, TextContent) for block in blocks):
            return None
        text = "\n".join(block.text for block in blocks if isinstance(block, TextContent))
        messages.append(Message(Role(one.role), text))
    return messages
