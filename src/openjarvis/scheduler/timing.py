"""When a schedule is due: pure functions from a schedule and an instant to the next instant.

Every instant that leaves this module is an aware `datetime` in UTC.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from itertools import islice
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from openjarvis.core.errors import nearest

SHORTEST_INTERVAL = timedelta(milliseconds=1)
LONGEST_INTERVAL = timedelta(days=3650)
LONGEST_VALUE = 200
"""How many characters a schedule may have; longer ones are nonsense, and slow to parse."""

_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_ONCE_EXAMPLE = "write it like 2030-01-31T09:00:00+01:00"
_INTERVAL_EXAMPLE = "write a number of seconds like 3600"
_CRON_EXAMPLE = "write five fields like '30 9 * * MON-FRI' (09:30 on weekdays) or @daily"


class ScheduleError(ValueError):
    """A schedule that cannot be; the text says what is wrong with it and shows a right one."""


class ScheduleType(StrEnum):
    """The kinds of schedules."""

    ONCE = "once"
    INTERVAL = "interval"
    CRON = "cron"


def next_run(
    schedule_type: str,
    value: str,
    after: datetime,
    timezone: str = "UTC",
    *,
    anchor: datetime | None = None,
) -> datetime | None:
    """Return the first instant of a schedule that is later than `after`, or None.

    `once` takes an ISO 8601 time (without an offset it is in `timezone`), `interval` a number of
    seconds, `cron` five fields or a nickname such as `@daily`, read in `timezone`. An interval
    counts from `anchor`, so that a run that started late does not shift the later ones; without
    one it counts from `after`. Only `once` can have no next instant.

    Raises:
        ScheduleError: when the schedule is nonsense or names a date that never comes.
    """
    kind, text, zone = _schedule_type(schedule_type), _checked_text(value), zone_of(timezone)
    after = after.astimezone(UTC)
    match kind:
        case ScheduleType.ONCE:
            moment = _once(text, zone)
            return moment if moment > after else None
        case ScheduleType.INTERVAL:
            return _next_interval(_interval(text), after, anchor)
        case ScheduleType.CRON:
            return _next_cron(text, after, zone)


def upcoming(
    schedule_type: str, value: str, after: datetime, timezone: str = "UTC"
) -> Iterator[datetime]:
    """Yield the instants of a schedule that are later than `after`, in order.

    Raises:
        ScheduleError: as `next_run` does.
    """
    while (moment := next_run(schedule_type, value, after, timezone)) is not None:
        yield moment
        after = moment


def first_runs(
    schedule_type: str, value: str, after: datetime, timezone: str = "UTC", *, count: int = 3
) -> list[datetime]:
    """Return the first `count` instants later than `after`; fewer when the schedule ends.

    Raises:
        ScheduleError: as `next_run` does.
    """
    return list(islice(upcoming(schedule_type, value, after, timezone), count))


def zone_of(name: str) -> tzinfo:
    """Return the IANA time zone of this name.

    Raises:
        ScheduleError: when there is none; the text names the nearest.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    # A folder of the zone database, an empty or an absolute name each fail in a way of their own.
    except (KeyError, ValueError, OSError) as exc:
        near = nearest(name, sorted(available_timezones()))
        hint = f"did you mean {near!r}?" if near else "write an IANA name like 'Europe/Berlin'."
        raise ScheduleError(f"Unknown time zone {_shown(name)}; {hint}") from exc


def has_offset(value: str) -> bool:
    """Tell whether a `once` value says its own offset from UTC."""
    return _parse_iso(_checked_text(value)).tzinfo is not None


def _schedule_type(name: str) -> ScheduleType:
    try:
        return ScheduleType(str(name).strip().lower())
    except ValueError as exc:
        known = ", ".join(ScheduleType)
        raise ScheduleError(f"Unknown schedule_type {_shown(name)}; use one of {known}.") from exc


def _checked_text(value: str) -> str:
    text = str(value).strip()
    if not text:
        raise ScheduleError(f"The schedule_value is empty; {_CRON_EXAMPLE}.")
    if len(text) > LONGEST_VALUE:
        raise ScheduleError(
            f"The schedule_value has {len(text)} characters; at most {LONGEST_VALUE} are read."
        )
    return text


def _parse_iso(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as exc:
        raise ScheduleError(f"{_shown(text)} is not an ISO 8601 time; {_ONCE_EXAMPLE}.") from exc


def _once(text: str, zone: tzinfo) -> datetime:
    moment = _parse_iso(text)
    local = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
    try:
        instant = local.astimezone(UTC)
        is_skipped = instant.astimezone(local.tzinfo).replace(tzinfo=None) != moment.replace(
            tzinfo=None
        )
    except OverflowError as exc:
        raise ScheduleError(f"{_shown(text)} is outside the calendar; {_ONCE_EXAMPLE}.") from exc
    if is_skipped:
        raise ScheduleError(
            f"{_shown(text)} does not exist in {zone}: the clock is set forward over it; "
            "choose a time before or after the change."
        )
    return instant


def _interval(text: str) -> timedelta:
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text):
        raise ScheduleError(
            f"{_shown(text)} is not a positive number of seconds; {_INTERVAL_EXAMPLE}."
        )
    seconds = float(text)
    if not SHORTEST_INTERVAL.total_seconds() <= seconds <= LONGEST_INTERVAL.total_seconds():
        raise ScheduleError(
            f"An interval of {text} seconds is out of bounds: it must be positive, at least "
            f"0.001 and at most {LONGEST_INTERVAL.total_seconds():.0f} seconds (ten years); "
            f"{_INTERVAL_EXAMPLE}."
        )
    return timedelta(seconds=seconds)


def _next_interval(interval: timedelta, after: datetime, anchor: datetime | None) -> datetime:
    start = after if anchor is None else anchor.astimezone(UTC)
    steps = max((after - start) // interval + 1, 1)
    try:
        return start + steps * interval
    except OverflowError as exc:
        raise ScheduleError("The interval leads past the end of the calendar.") from exc


def _next_cron(text: str, after: datetime, zone: tzinfo) -> datetime:
    expression = _cron_fields(text)
    try:
        moments = CronSim(expression, after.astimezone(zone))
        # In the hour that a clock repeats, cronsim gives the first pass, which may lie before us.
        return next(m for m in map(_to_utc, moments) if m > after)
    except CronSimError as exc:
        raise ScheduleError(f"{_shown(text)}: {_cron_fault(exc)}; {_CRON_EXAMPLE}.") from exc
    except (StopIteration, OverflowError) as exc:
        raise ScheduleError(f"{_shown(text)} names a date that never comes.") from exc


def _to_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def _cron_fields(text: str) -> str:
    if text.startswith("@"):
        if text.lower() not in _NICKNAMES:
            known = ", ".join(_NICKNAMES)
            raise ScheduleError(f"Unknown cron nickname {_shown(text)}; use one of {known}.")
        return _NICKNAMES[text.lower()]
    count = len(text.split())
    if count != 5:
        raise ScheduleError(f"{_shown(text)} has {count} cron fields, not five; {_CRON_EXAMPLE}.")
    return text


def _cron_fault(error: CronSimError) -> str:
    return f"the {str(error).removeprefix('Bad ')} field is wrong or its date never comes"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…'"
