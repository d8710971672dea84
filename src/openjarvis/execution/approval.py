"""Whether a checked call may run: the approver's decision, and what stands for one.

An approver is any callable that takes a `ToolCallRequest`, plain or async. `None` and `True` allow;
`False`, a `Denied` returned or raised, and every other outcome deny: what cannot be decided is not
allowed.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from openjarvis.core import background_loop
from openjarvis.toolkit.base import ToolSpec

_log = logging.getLogger("openjarvis.approval")


class ToolCallRequest(NamedTuple):
    """A call that could run, put before the approver.

    `arguments` is a copy of exactly what will run, `raw` the text the model wrote, `context` the
    object given to the run, `step` the model turn that asked, from 1.
    """

    call_id: str
    name: str
    arguments: dict[str, Any]
    raw: str
    spec: ToolSpec
    context: Any = None
    step: int = 1


class Denied(Exception):
    """A refusal with its reason, to be returned or raised by an approver; the model is told it."""

    # Also for a subclass whose `__init__` does not call this one.
    reason: str = "not approved"
    code: str = ""
    status: int = 403

    def __init__(self, reason: str = "not approved", code: str = "", status: int = 403) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.status = status


Decision = Denied | bool | None
Approver = Callable[[ToolCallRequest], Decision | Awaitable[Decision]]

NOBODY_TO_ASK = Denied(
    "this tool needs an approval, and nobody is there to give it (pass approve=… or ask on a "
    "terminal)",
    code="NO_APPROVER",
)


def verdict(decision: Any) -> Denied | None:
    """Return the refusal in what an approver returned, None where it allows."""
    if decision is None or decision is True:
        return None
    if decision is False:
        return Denied()
    if isinstance(decision, Denied):
        return decision
    _log.error("An approver returned %s, which is no decision", type(decision).__name__)
    return Denied("the approver gave no decision", code="NO_DECISION")


def refusal_of(error: BaseException) -> Denied:
    """Return the refusal in what an approver raised."""
    if isinstance(error, Denied):
        return error
    _log.error("An approver raised", exc_info=error)
    return Denied(f"the approver failed ({type(error).__name__})", code="APPROVER_FAILED")


def timed_out(seconds: float) -> Denied:
    """Return the refusal that stands for an approver that does not answer."""
    return Denied(f"no decision came within {seconds:g} s", code="NO_DECISION")


def denied_text(name: str, refusal: Denied) -> str:
    """Return what the model is told of a refusal."""
    try:
        reason = str(refusal.reason)
    except Exception:  # noqa: BLE001 - a foreign object may not print
        reason = Denied.reason
    return f"The call to {name} was denied and did not run: {reason}"


def confirming(callback: Callable[[str], Any]) -> Approver:
    """Return an approver that asks `callback(question)` about tools that need a confirmation."""

    def approve(request: ToolCallRequest) -> bool:
        if not request.spec.requires_confirmation:
            return True
        return bool(callback(f"Run {request.name} with {request.arguments}?"))

    return approve


def asked(approver: Approver, request: ToolCallRequest) -> Denied | None:
    """Return the refusal of an approver, asked in this thread; an async one is waited for."""
    try:
        decision = approver(request)
        if decision is True or decision is None:
            return None
        if inspect.iscoroutine(decision):
            decision = background_loop.run(decision)
        return verdict(decision)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - an approver that fails in any way denies
        return refusal_of(error)


async def asked_async(approver: Approver, request: ToolCallRequest) -> Denied | None:
    """Return the refusal of an async approver, asked in this event loop."""
    try:
        decision = approver(request)
        return verdict(await decision if inspect.isawaitable(decision) else decision)
    except (KeyboardInterrupt, asyncio.CancelledError) as error:
        task = asyncio.current_task()
        if isinstance(error, KeyboardInterrupt) or (task and task.cancelling()):
            raise
        return refusal_of(error)
    except BaseException as error:  # noqa: BLE001 - an approver that fails in any way denies
        return refusal_of(error)


def is_async(approver: Approver) -> bool:
    """Tell whether an approver must be awaited."""
    call = getattr(approver, "__call__", None)  # noqa: B004 - asked for its kind
    return inspect.iscoroutinefunction(approver) or inspect.iscoroutinefunction(call)
