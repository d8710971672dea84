"""How a call ends, in plain values: what its tool gave or raised is looked at here, and only here.

A tool's value and its exception are foreign objects whose every method may raise, hang or lie. They
are read in the worker that ran the tool, within its deadline; what leaves is ours.
"""

import asyncio
import threading
from typing import Any, NamedTuple

from openjarvis.core.cancellation import Cancelled
from openjarvis.core.errors import ToolError
from openjarvis.core.types import ToolResult
from openjarvis.execution.deadline import TimedOut
from openjarvis.execution.record import Detail, Outcome
from openjarvis.execution.registrar import Registrar
from openjarvis.execution.stops import late
from openjarvis.execution.trip import Stopped, Trip
from openjarvis.toolkit.typed import failure_text, result_of


class Ending(NamedTuple):
    """The end of a call, before it is limited and recorded."""

    result: ToolResult
    outcome: Outcome
    detail: Detail | None


class Endings:
    """Tells how calls of one executor ended. Any thread may use it."""

    def __init__(self, registrar: Registrar, *, mask_errors: bool) -> None:
        self._registrar = registrar
        self._mask_errors = mask_errors

    def of_value(self, trip: Trip, value: Any) -> Ending:
        """Return the ending of a call whose tool returned `value`."""
        try:
            result = _plain_result(trip.call.name, value)
        except BaseException as error:
            if is_interruption(error):
                raise
            return self.of_error(trip, error)
        return Ending(result, Outcome.RAN if result.success else Outcome.FAILED, None)

    def of_error(self, trip: Trip, error: BaseException) -> Ending:
        """Return the ending of a call that was stopped, or whose tool raised."""
        try:
            return self._of_error(trip, error)
        except BaseException as other:
            if is_interruption(other):
                raise
            return _failed(trip, type(error).__name__, Detail.RAISED)

    def _of_error(self, trip: Trip, error: BaseException) -> Ending:
        if isinstance(error, Cancelled):
            return self.interrupted(trip)
        if isinstance(error, TimedOut):
            trip.cancellation.cancel()
            error = late(trip, error)
        if isinstance(error, Stopped):
            result = ToolResult(trip.call.name, error.text, success=False, metadata=error.metadata)
            return Ending(result, error.outcome, error.detail)
        reference = self._registrar.log_traceback(trip, error)
        if self._mask_errors and not isinstance(error, ToolError):
            text = f"{type(error).__name__} (reference {reference})"
        else:
            text = str.__str__(failure_text(error))
        return _failed(trip, text, Detail.RAISED)

    def interrupted(self, trip: Trip) -> Ending:
        """Return the ending of a call broken off from outside; what it holds is ended with it."""
        trip.give_up()
        trip.cancellation.cancel()
        text = f"{trip.call.name[:64]} was interrupted before it ended."
        return _failed(trip, text, Detail.INTERRUPTED)


def _plain_result(name: str, value: Any) -> ToolResult:
    """Return what a tool returned, in values of exact types."""
    result = result_of(name, value)
    content: Any = result.content
    if result is not value and type(content) is str:
        return result  # ours, made of a plain value
    if not isinstance(content, str):
        content = result_of(name, content).content
    usage, metadata = result.usage, result.metadata
    return ToolResult(
        name,
        str.__str__(content),
        bool(result.success),
        usage if isinstance(usage, dict) else {},
        float(result.cost_usd or 0.0),
        0.0,
        metadata if isinstance(metadata, dict) else {},
    )


def _failed(trip: Trip, text: str, detail: Detail) -> Ending:
    return Ending(ToolResult(trip.call.name, text, success=False), Outcome.FAILED, detail)


def is_interruption(error: BaseException) -> bool:
    """Tell whether `error` came from outside the call: Ctrl-C, or the caller's cancellation."""
    if isinstance(error, KeyboardInterrupt):
        return threading.current_thread() is threading.main_thread()
    if isinstance(error, asyncio.CancelledError):
        task = _current_task()
        return task is not None and task.cancelling() > 0
    return False


def _current_task() -> "asyncio.Task[Any] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop in this thread
        return None
