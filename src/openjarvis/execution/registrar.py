"""The end of the road: a result limited, its call recorded, logged, audited, told to the bus."""

import logging
import time
import traceback
from typing import Any
from uuid import uuid4

from openjarvis.core.events import EventBus, EventType
from openjarvis.core.types import ToolResult
from openjarvis.execution.limit import clip
from openjarvis.execution.record import CallRecord, Detail, Outcome, log_call
from openjarvis.execution.trail import AuditTrail, TrailUnavailable
from openjarvis.execution.trip import Performed, Stopped, Trip
from openjarvis.safety.secrets import mask_secrets
from openjarvis.safety.terminal import plain

_tracebacks = logging.getLogger("openjarvis.traceback")


class Registrar:
    """Keeps account of calls for one executor. Any thread may use it."""

    def __init__(
        self, bus: EventBus | None, audit: AuditTrail | None, max_result_chars: int
    ) -> None:
        self._bus = bus
        self._audit = audit
        self._max_result_chars = max_result_chars
        self._stages = (self._keep, self._log, self._complete_audit, self._tell_end)

    def announce(self, trip: Trip) -> None:
        """Tell the bus that a call was asked for, once its arguments were read or given up."""
        if self._bus is not None:
            arguments = trip.input if trip.arguments is None else trip.arguments
            data = {"tool": trip.call.name, "arguments": arguments, "agent": trip.run.agent}
            self._bus.publish(EventType.TOOL_CALL_START, data)

    def started(self, trip: Trip) -> None:
        """Note durably that the tool is about to run.

        Raises:
            Stopped: when that cannot be noted; what cannot be answered for does not run.
        """
        if self._audit is None:
            return
        try:
            trip.audit_row = self._audit.started(
                self._record(trip, "", Outcome.NOT_RUN, None),
                run_id=trip.run.run_id,
                agent=trip.run.agent,
            )
        except TrailUnavailable as error:
            raise Stopped(
                Outcome.FAILED,
                Detail.RAISED,
                f"Not run: the audit trail cannot be written: {error}",
            ) from error

    def conclude(
        self, trip: Trip, result: ToolResult, outcome: Outcome, detail: Detail | None
    ) -> Performed:
        """Return the result as the model gets it, with the record of the call."""
        whole = result.content
        answer = ToolResult(
            trip.call.name,
            clip(whole, self._max_result_chars),
            result.success,
            result.usage,
            result.cost_usd,
            time.perf_counter() - trip.began,
            result.metadata,
        )
        record = self._record(trip, answer.content, outcome, detail)
        record.latency_seconds = answer.latency_seconds
        trip.performed = Performed(answer, record)
        return self.complete(trip, whole)

    def complete(self, trip: Trip, whole: str | None = None) -> Performed:
        """Keep, log, audit and tell a concluded call, each once, wherever it was broken off.

        `whole` is its output before it was limited.
        """
        if trip.performed is None:
            raise AssertionError(f"{trip.call.name!r} was not concluded")
        while trip.stage < len(self._stages):
            # Counted before it is taken: Ctrl-C comes between two instructions, and what it breaks
            # off must not be done twice.
            trip.stage += 1
            self._stages[trip.stage - 1](trip, trip.performed, whole)
        return trip.performed

    def _keep(self, trip: Trip, performed: Performed, whole: str | None) -> None:
        trip.run.records.append(performed.record)

    def _log(self, trip: Trip, performed: Performed, whole: str | None) -> None:
        log_call(performed.record)

    def log_traceback(self, trip: Trip, error: BaseException) -> str:
        """Write the traceback of `error` to the local log, and return its reference."""
        reference = uuid4().hex[:12]
        if _tracebacks.isEnabledFor(logging.WARNING):
            try:
                text = plain(mask_secrets("".join(traceback.format_exception(error))))
            except Exception:  # noqa: BLE001 - a foreign exception may not even print
                text = type(error).__name__
            _tracebacks.warning("[%s] %s raised:\n%s", reference, trip.call.name[:64], text)
        return reference

    def _record(
        self, trip: Trip, output: str, outcome: Outcome, detail: Detail | None
    ) -> CallRecord:
        call = trip.call
        return CallRecord(
            call.id,
            call.name,
            trip.input,
            trip.arguments,
            output,
            outcome,
            detail,
            0.0,
            trip.step,
            trip.started_at,
            trip.repaired,
        )

    def _complete_audit(self, trip: Trip, performed: Performed, whole: str | None) -> None:
        if self._audit is None:
            return
        try:
            self._audit.ended(
                trip.audit_row,
                performed.record,
                run_id=trip.run.run_id,
                agent=trip.run.agent,
                output=performed.result.content if whole is None else whole,
            )
        except TrailUnavailable:
            # The call has ended and its row says "running": the answer is not withheld for that.
            logging.getLogger("openjarvis.audit").exception("A call's end was not recorded")

    def _tell_end(self, trip: Trip, performed: Performed, whole: str | None) -> None:
        if self._bus is None:
            return
        answer, record = performed
        if record.detail is Detail.TIMED_OUT and trip.found is not None:
            timeout = {"tool": trip.call.name, "timeout": trip.entry.seconds}
            self._bus.publish(EventType.TOOL_TIMEOUT, timeout)
        data: dict[str, Any] = {
            "tool": trip.call.name,
            "success": answer.success,
            "latency": answer.latency_seconds,
            "result": answer.content,
            "metadata": answer.metadata,
            "agent": trip.run.agent,
            "outcome": record.outcome.value,
        }
        self._bus.publish(EventType.TOOL_CALL_END, data)
