"""What the road needs of an audit trail; `audit.AuditLog` is the one that is shipped."""

from typing import Protocol

from openjarvis.execution.record import CallRecord


class TrailUnavailable(Exception):
    """The trail cannot be written; the text says why."""


class AuditTrail(Protocol):
    """Where calls are recorded for good."""

    def started(self, record: CallRecord, *, run_id: str, agent: str) -> int:
        """Note durably that a call is about to run, and return the number of its row.

        Raises:
            TrailUnavailable: when that cannot be noted.
        """

    def ended(
        self, row: int | None, record: CallRecord, *, run_id: str, agent: str, output: str
    ) -> None:
        """Note how a call ended; `row` is what `started` returned, None when it never ran.

        Raises:
            TrailUnavailable: when that cannot be noted.
        """
