"""The first stops of the road: find, parse, check, guard. No I/O; the same for every driver."""

from collections.abc import Mapping, Sequence
from typing import Any

from openjarvis.core.errors import nearest
from openjarvis.execution.arguments import parse
from openjarvis.execution.entry import Entry
from openjarvis.execution.guard import call_key, repeated_text
from openjarvis.execution.record import Detail, Outcome, one_line
from openjarvis.execution.trip import Stopped, Trip
from openjarvis.toolkit.check import ArgumentsError
from openjarvis.toolkit.provider import ProviderTool

_LISTED = 100


class Departure:
    """Knows the tools of one executor, and lets a call set out or stops it. Immutable."""

    def __init__(self, entries: Mapping[str, Entry], provided: Sequence[ProviderTool]) -> None:
        self._entries = entries
        self._provided = {tool.name: tool for tool in provided}

    def read(self, trip: Trip) -> None:
        """Find the tool of a call and parse its arguments.

        Raises:
            Stopped: when the tool is unknown or the arguments are no JSON object.
        """
        trip.found = self._find(trip.call.name)
        try:
            trip.arguments, trip.repaired = parse(trip.call.arguments)
        except ArgumentsError as error:
            raise Stopped(Outcome.FAILED, Detail.INVALID_ARGUMENTS, error.faults[0]) from None

    def check(self, trip: Trip) -> None:
        """Check the arguments of a call that was read, and whether it repeats itself.

        Raises:
            Stopped: when the arguments do not fit, or the call should not be made again.
        """
        entry, arguments = trip.entry, trip.arguments
        try:
            trip.arguments = entry.checker.check(arguments or {})
            trip.keywords = entry.keywords(trip.arguments)
        except ArgumentsError as error:
            text = f"Invalid arguments for {entry.spec.name}: {error}."
            raise Stopped(Outcome.FAILED, Detail.INVALID_ARGUMENTS, text) from None
        if not entry.spec.metadata.get("repeatable"):
            trip.key = call_key(entry.spec.name, trip.arguments)
            if not trip.run.guard.allows(trip.key):
                text = repeated_text(entry.spec.name)
                raise Stopped(Outcome.FAILED, Detail.REPEATED, text)
        if entry.is_hung():
            text = (
                f"Not run: {len(entry.left_running)} earlier calls of {entry.spec.name} timed out "
            )
            raise Stopped(Outcome.FAILED, Detail.TIMED_OUT, text + "and are still running.")

    def _find(self, name: Any) -> Entry:
        entry = self._entries.get(name) if isinstance(name, str) else None
        if entry is not None:
            return entry
        raise Stopped(Outcome.UNKNOWN_TOOL, None, self._unknown(str(name)))

    def _unknown(self, name: str) -> str:
        shown = one_line(name, 64)
        provided = self._provided.get(name)
        if provided is not None:
            return (
                f"The tool '{shown}' is run by the provider ({provided.provider_type}), not here."
            )
        known = list(self._entries)
        listed = ", ".join(known[:_LISTED]) + (", …" if len(known) > _LISTED else "")
        near = nearest(shown, known)
        hint = f" Did you mean '{near}'?" if near else ""
        return f"Unknown tool '{shown}'. Available: {listed or 'none'}.{hint}"
