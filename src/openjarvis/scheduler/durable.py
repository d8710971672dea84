"""Engines and tools whose answers outlive the process that got them.

Inside a durable run every answer of the model and every tool call is a DBOS step: its result is
kept before the run goes on, and when another worker takes the run up again it gets the kept results
instead of asking and calling once more. Outside of one, both behave as if they were not wrapped.
"""

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, replace
from typing import Any
from uuid import uuid4

from openjarvis.core.errors import ToolError
from openjarvis.core.types import ToolCall, ToolResult
from openjarvis.toolkit.base import Tool, ToolSpec
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.provider import ProviderTool
from openjarvis.toolkit.schema import signature_of
from openjarvis.toolkit.toolset import AnyTool
from openjarvis.toolkit.typed import SignatureTool, failure_text, result_of


class DurableSteps:
    """The steps of one durable run.

    Steps are told apart by their number, while the tool calls of one turn run in parallel. So the
    numbers are drawn when the model's reply names the calls, in its order, and found again by the
    call's id.
    """

    def __init__(self) -> None:
        self._reserved: dict[str, Any] = {}
        self._used_ids: set[str] = set()
        self._broken: BaseException | None = None

    def ask(self, generate: Callable[[], Any]) -> Any:
        """Return the model's reply, or the one that was kept, with an id for every call.

        Raises:
            Exception: what `generate` raises; a kept failure comes back as a RuntimeError.
        """
        raised: list[Exception] = []

        def reply() -> str:
            try:
                return _to_json(self._with_call_ids(generate()))
            except Exception as error:  # noqa: BLE001 - an engine may raise anything; it is raised below
                raised.append(error)
                return _to_json({"raised": failure_text(error)})

        answer = json.loads(self._run("model", None, reply), object_hook=_from_json)
        if "raised" in answer:
            raise raised[0] if raised else RuntimeError(answer["raised"])
        from dbos import DBOS

        for call in answer.get("tool_calls") or ():
            self._used_ids.add(call["id"])
            self._reserved[call["id"]] = DBOS.reserve_step()
        return answer

    def call(
        self,
        name: str,
        context: ToolContext,
        call: Callable[[ToolContext], ToolResult],
    ) -> ToolResult:
        """Return what a tool call gives, or what it gave when it ran before.

        Raises:
            ToolError: saying how the call failed.
        """
        from dbos import DBOS

        same_again = replace(context, idempotency_key=f"{DBOS.workflow_id}:{context.call_id}")

        def result() -> str:
            try:
                return json.dumps(asdict(call(same_again)), ensure_ascii=False, default=str)
            except Exception as error:  # noqa: BLE001 - a tool may raise anything; that is kept too
                return json.dumps({"raised": failure_text(error)}, ensure_ascii=False)

        kept = json.loads(self._run(f"{name} {context.call_id}", context.call_id, result))
        if "raised" in kept:
            raise ToolError(kept["raised"])
        return ToolResult(**kept)

    def check(self) -> None:
        """Raise what kept a step from being kept: the run is somebody else's by now."""
        if self._broken is not None:
            raise self._broken

    def _run(self, name: str, call_id: str | None, body: Callable[[], str]) -> str:
        from dbos import DBOS

        self.check()
        reserved = None if call_id is None else self._reserved.pop(call_id, None)
        run_step = DBOS.run_step if reserved is None else reserved.run
        try:
            return str(run_step({"name": name}, body))
        # The bodies raise nothing, so this is DBOS's own word. It must end the run, while agents
        # and the executor take whatever a tool or an engine raises for an answer of theirs.
        except BaseException as error:
            self._broken = error
            raise

    def _with_call_ids(self, reply: Any) -> dict[str, Any]:
        calls = [_call_fields(call) for call in reply.get("tool_calls") or ()]
        used = set(self._used_ids)
        for call in calls:
            if not call.get("id") or call["id"] in used:
                call["id"] = f"call_{uuid4().hex}"
            used.add(call["id"])
        return {**reply, "tool_calls": calls} if calls else reply


_steps: ContextVar[DurableSteps | None] = ContextVar("durable_steps", default=None)


@contextmanager
def durable_run() -> Iterator[DurableSteps]:
    """Make steps of what the engines and tools of this module do; inside a DBOS workflow only."""
    steps = DurableSteps()
    token = _steps.set(steps)
    try:
        yield steps
    finally:
        _steps.reset(token)


class DurableEngine:
    """An engine whose replies are kept; everything else is the engine's own."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def generate(self, messages: Any, **request: Any) -> Any:
        """Return the engine's reply, or the one that was kept."""
        steps = _steps.get()
        if steps is None:
            return self._engine.generate(messages, **request)
        return steps.ask(lambda: self._engine.generate(messages, **request))


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
        steps = _steps.get()
        if steps is None:
            return self._call(keywords, context)
        return steps.call(self.spec.name, context, lambda again: self._call(keywords, again))

    def _call(self, keywords: dict[str, Any], context: ToolContext) -> ToolResult:
        if not isinstance(self._tool, SignatureTool):
            return self._tool.execute(**keywords)
        value = self._tool.invoke(keywords, context)
        if self._tool.is_async:
            value = asyncio.run(value)
        return result_of(self.spec.name, value)


class DurableSystem:
    """The SDK's `Jarvis` with an engine and tools whose answers are kept.

    The engine of `jarvis` is wrapped for good; outside of durable runs that makes no difference.
    """

    def __init__(self, jarvis: Any) -> None:
        self._jarvis = jarvis
        jarvis.system.engine = DurableEngine(jarvis.system.engine)

    def ask_full(self, prompt: str, *, tools: list[str], **request: Any) -> dict[str, Any]:
        """Return what `ask_full` of `jarvis` does."""
        durable = [_durable(tool) for tool in self._jarvis.system.tools(tools)]
        answer: dict[str, Any] = self._jarvis.ask_full(prompt, tools=durable, **request)
        return answer


def _durable(tool: AnyTool) -> AnyTool:
    return tool if isinstance(tool, ProviderTool) else DurableTool(tool)


def _call_fields(call: Any) -> dict[str, Any]:
    return asdict(call) if isinstance(call, ToolCall) else dict(call)


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_bytes_to_json)


def _bytes_to_json(value: Any) -> dict[str, str]:
    # Providers' opaque parts, which must go back unchanged, may be bytes.
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    raise TypeError(f"a reply with a {type(value).__name__} cannot be kept")


def _from_json(value: dict[str, Any]) -> Any:
    return base64.b64decode(value["$bytes"]) if value.keys() == {"$bytes"} else value
