"""Engines and tools whose answers outlive the process that got them.

Inside a durable run every answer of the model and every tool call is a DBOS step: its result is
kept before the run goes on, and when another worker takes the run up again it gets the kept results
instead of asking and calling once more. Outside of one, both behave as if they were not wrapped.

Tool calls of one turn run in parallel, while steps are told apart by their number. So the numbers
are drawn when the model's reply names the calls, in its order, and found again by `call_id`.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from typing import Any
from uuid import uuid4

from openjarvis.core.errors import ToolError
from openjarvis.core.types import ToolResult
from openjarvis.core.workers import run_in_worker
from openjarvis.toolkit.base import Tool, ToolSpec
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.schema import signature_of
from openjarvis.toolkit.typed import SignatureTool, failure_text, result_of

_reserved: ContextVar[dict[str, Any] | None] = ContextVar("reserved_steps", default=None)


@contextmanager
def durable_run() -> Iterator[None]:
    """Make steps of what the engines and tools of this module do; inside a DBOS workflow only."""
    token = _reserved.set({})
    try:
        yield
    finally:
        _reserved.reset(token)


class DurableEngine:
    """An engine whose replies are kept; everything else is the engine's own."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def generate(self, messages: Any, **request: Any) -> Any:
        """Return the engine's reply, or the one that was kept."""
        reserved = _reserved.get()
        if reserved is None:
            return self._engine.generate(messages, **request)
        from dbos import DBOS

        def ask() -> str:
            reply = self._engine.generate(messages, **request)
            return json.dumps(_with_call_ids(reply), ensure_ascii=False)

        reply = json.loads(DBOS.run_step({"name": "model"}, ask))
        for call in reply.get("tool_calls") or ():
            reserved[call["id"]] = DBOS.reserve_step()
        return reply

    async def agenerate(self, messages: Any, **request: Any) -> Any:
        """Return what `generate` returns, without blocking the event loop."""
        return await run_in_worker(lambda: self.generate(messages, **request))


def _with_call_ids(reply: dict[str, Any]) -> dict[str, Any]:
    """Return a reply in which every call has an id of its own, to be kept with it."""
    seen: set[str] = set()
    for call in reply.get("tool_calls") or ():
        if not call.get("id") or call["id"] in seen:
            call["id"] = f"call_{uuid4().hex}"
        seen.add(call["id"])
    return reply


def _called(context: ToolContext) -> None:
    """Have the signature that makes the executor hand over a call's context."""


class DurableTool(SignatureTool):
    """A tool whose results are kept, call by call."""

    is_async = False
    signature = signature_of(_called, "DurableTool")

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    @property
    def target(self) -> Callable[..., Any]:
        return self._tool.execute

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if isinstance(self._tool, SignatureTool):
            return self._tool.bind(arguments)
        return arguments

    def invoke(self, keywords: dict[str, Any], context: ToolContext) -> ToolResult:
        """Call the tool, or return the result that was kept of this very call."""

        def call() -> str:
            try:
                result = asdict(self._call(keywords, context))
            # The tool is foreign code; how it failed is kept as its other results are.
            except Exception as error:  # noqa: BLE001
                return json.dumps({"raised": failure_text(error)}, ensure_ascii=False)
            return json.dumps(result, ensure_ascii=False, default=str)

        kept = json.loads(_as_step(f"{self.spec.name} {context.call_id}", context.call_id, call))
        if "raised" in kept:
            raise ToolError(kept["raised"])
        return ToolResult(**kept)

    def _call(self, keywords: dict[str, Any], context: ToolContext) -> ToolResult:
        if not isinstance(self._tool, SignatureTool):
            return self._tool.execute(**keywords)
        value = self._tool.invoke(keywords, context)
        if self._tool.is_async:
            value = asyncio.run(value)
        return result_of(self.spec.name, value)


def _as_step(name: str, call_id: str, call: Callable[[], str]) -> str:
    reserved = _reserved.get()
    if reserved is None:
        return call()
    from dbos import DBOS

    reservation = reserved.pop(call_id, None)
    if reservation is None:
        # A call that the reply did not name (an agent read it out of the text) is the only one of
        # its turn, and its id is not the same in another process.
        return DBOS.run_step({"name": name.split()[0]}, call)
    return str(reservation.run({"name": name}, call))
