"""Points in time as the store keeps them: whole microseconds since the epoch."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now_utc() -> datetime:
    """Return the present instant."""
    return datetime.now(UTC)


def as_instant(value: datetime | str) -> datetime:
    """Return a time or an ISO 8601 text as an instant in UTC; without an offset it is UTC.

    Raises:
        ValueError: when the text is no ISO 8601 time.
    """
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def to_micros(value: datetime | str) -> int:
    """Return a time as microseconds since the epoch."""
    return (as_instant(value) - _EPOCH) // _MICROSECOND


def to_micros_or_none(value: datetime | str | None) -> int | None:
    """Return a time as microseconds since the epoch; None stays None."""
    return None if value is None else to_micros(value)


def from_micros(micros: int) -> datetime:
    """Return the instant that lies so many microseconds after the epoch."""
    return _EPOCH + micros * _MICROSECOND


def to_text(value: datetime | str | None) -> str | None:
    """Return a time as ISO 8601 text in UTC; None stays None."""
    return None if value is None else as_instant(value).isoformat()


def micros_to_text(micros: int | None) -> str | None:
    """Return stored microseconds as ISO 8601 text in UTC; None stays None."""
    return None if micros is None else from_micros(micros).isoformat()
