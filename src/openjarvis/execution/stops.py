"""Calls that stop on the road, in the words that the model and the approver are told."""

from openjarvis.execution.approval import Denied, ToolCallRequest, denied_text, timed_out
from openjarvis.execution.deadline import TimedOut
from openjarvis.execution.entry import json_copy
from openjarvis.execution.record import Detail, Outcome
from openjarvis.execution.trip import Stopped, Trip


def request_of(trip: Trip) -> ToolCallRequest:
    """Return what the approver is shown of a checked call."""
    entry, call = trip.entry, trip.call
    return ToolCallRequest(
        call.id,
        call.name,
        json_copy(trip.arguments or {}),
        call.arguments,
        entry.spec,
        trip.run.context,
        trip.step,
    )


def denied(trip: Trip, refusal: Denied) -> Stopped:
    """Return the stop of a call that was not approved."""
    metadata = {"denied": {"code": refusal.code, "status": refusal.status}}
    text = denied_text(trip.call.name, refusal)
    return Stopped(Outcome.DENIED, None, text, metadata)


def late(trip: Trip, timeout: TimedOut) -> Stopped:
    """Return the stop of a call whose approver or tool did not end in time."""
    if not trip.is_running and trip.asked_seconds is not None:
        return denied(trip, timed_out(timeout.seconds))
    if not trip.is_running:
        text = (
            f"{trip.call.name} could not be started within {timeout.seconds:g} s and did not run."
        )
        return Stopped(Outcome.FAILED, Detail.TIMED_OUT, text)
    text = f"{trip.call.name} timed out after {timeout.seconds:g} s"
    if timeout.is_running:
        text += "; it could not be stopped and is still running"
    metadata = {"still_running": timeout.is_running}
    return Stopped(Outcome.FAILED, Detail.TIMED_OUT, f"{text}.", metadata)
