"""A scheduled task: what to ask, when, and what to do when a run goes wrong."""

from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from openjarvis.scheduler.instants import as_instant


class TaskStatus(StrEnum):
    """Where a task stands."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


class OnMissed(StrEnum):
    """What happens to slots that nobody was awake for."""

    RUN = "run"
    """One late run stands for all of them."""
    SKIP = "skip"
    """None: the next run is the next slot to come."""


class OnInterrupt(StrEnum):
    """What happens to a slot whose process ended in mid-run."""

    RETRY = "retry"
    """It is run again, a few times at most."""
    MARK = "mark"
    """It stays interrupted: for tasks that must not do the same thing twice."""


@dataclass(slots=True)
class ScheduledTask:
    """A task as the store keeps it; times are ISO 8601 texts in UTC.

    `tools` is a comma-separated list of tool names, `timezone` the IANA zone in which a cron line
    (or a `once` time without an offset) is read.
    """

    id: str
    prompt: str
    schedule_type: str
    schedule_value: str
    context_mode: str = "isolated"
    status: str = TaskStatus.ACTIVE
    next_run: str | None = None
    last_run: str | None = None
    agent: str = "simple"
    tools: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    timezone: str = "UTC"
    on_missed: str = OnMissed.RUN
    on_interrupt: str = OnInterrupt.RETRY

    @property
    def next_run_at(self) -> datetime | None:
        """The next run as an instant."""
        return None if self.next_run is None else as_instant(self.next_run)

    @property
    def tool_names(self) -> list[str]:
        """The names in `tools`."""
        return [name.strip() for name in self.tools.split(",") if name.strip()]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, ready for JSON."""
        return {
            name: str(value) if isinstance(value, StrEnum) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the task that `to_dict` (or a store) gave; keys that are no fields are ignored."""
        known = {field.name for field in fields(cls)}
        return cls(**{key: value for key, value in data.items() if key in known})
