from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from openjarvis.scheduler.timing import (
    LONGEST_INTERVAL,
    ScheduleError,
    first_runs,
    has_offset,
    next_run,
    upcoming,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def texts(moments: list[datetime], zone: str = "UTC") -> list[str]:
    return [m.astimezone(ZoneInfo(zone)).isoformat(timespec="minutes") for m in moments]


# once


@pytest.mark.parametrize(
    ("value", "zone", "expected"),
    [
        ("2026-12-01T09:00:00+07:00", "UTC", "2026-12-01T02:00"),
        ("2026-12-01T09:00:00Z", "Asia/Bangkok", "2026-12-01T09:00"),
        ("2026-12-01T09:00", "UTC", "2026-12-01T09:00"),
        ("2026-12-01T09:00", "Asia/Bangkok", "2026-12-01T02:00"),
        ("2026-12-01 09:00", "UTC", "2026-12-01T09:00"),
        ("2026-12-01", "UTC", "2026-12-01T00:00"),
    ],
)
def test_a_single_time_is_read_with_its_offset_or_in_the_tasks_zone(
    value: str, zone: str, expected: str
) -> None:
    assert next_run("once", value, NOON, zone) == utc(expected)


def test_a_single_time_that_has_come_has_no_next_run() -> None:
    assert next_run("once", NOON.isoformat(), NOON) is None
    assert next_run("once", "2026-11-30T11:59:59+00:00", NOON) is None


def test_it_can_be_told_whether_a_single_time_says_its_offset() -> None:
    assert has_offset("2026-12-01T09:00+07:00")
    assert not has_offset("2026-12-01T09:00")


def test_a_time_that_the_clock_skips_is_refused_and_one_it_repeats_is_the_first() -> None:
    with pytest.raises(ScheduleError, match="does not exist in Europe/Berlin"):
        next_run("once", "2027-03-28T02:30", NOON, "Europe/Berlin")

    assert next_run("once", "2027-10-31T02:30", NOON, "Europe/Berlin") == utc("2027-10-31T00:30")


# interval


def test_an_interval_counts_from_the_instant_given() -> None:
    assert next_run("interval", "90", NOON) == NOON + timedelta(seconds=90)
    assert next_run("interval", "0.5", NOON) == NOON + timedelta(seconds=0.5)


def test_an_interval_with_an_anchor_keeps_to_its_grid() -> None:
    anchor = NOON - timedelta(seconds=25)

    assert next_run("interval", "10", NOON, anchor=anchor) == NOON + timedelta(seconds=5)
    assert next_run("interval", "25", NOON, anchor=anchor) == NOON + timedelta(seconds=25)


def test_an_interval_is_bounded_on_both_sides() -> None:
    longest = int(LONGEST_INTERVAL.total_seconds())

    assert next_run("interval", str(longest), NOON) == NOON + LONGEST_INTERVAL
    for value in (str(longest + 1), "999999999999", "0", "0.0", "0.0001"):
        with pytest.raises(ScheduleError, match="out of bounds"):
            next_run("interval", value, NOON)


@given(
    seconds=st.integers(1, 10_000_000),
    late=st.integers(0, 10_000_000_000),
)
def test_the_next_slot_of_a_grid_is_the_first_one_later(seconds: int, late: int) -> None:
    after = NOON + timedelta(microseconds=late)

    moment = next_run("interval", str(seconds), after, anchor=NOON)

    assert moment is not None
    assert after < moment <= after + timedelta(seconds=seconds)
    assert (moment - NOON) % timedelta(seconds=seconds) == timedelta(0)


# cron


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("30 9 * * MON-FRI", ["2026-12-01T09:30", "2026-12-02T09:30", "2026-12-03T09:30"]),
        ("*/20 12 * * *", ["2026-11-30T12:20", "2026-11-30T12:40", "2026-12-01T12:00"]),
        ("0 0 1,15 JAN-MAR/2 *", ["2027-01-01T00:00", "2027-01-15T00:00", "2027-03-01T00:00"]),
        ("0 0 13 * FRI", ["2026-12-04T00:00", "2026-12-11T00:00", "2026-12-13T00:00"]),
        ("0 0 L * *", ["2026-12-31T00:00", "2027-01-31T00:00", "2027-02-28T00:00"]),
        ("0 0 * * 5L", ["2026-12-25T00:00", "2027-01-29T00:00", "2027-02-26T00:00"]),
        ("0 0 * * MON#2", ["2026-12-14T00:00", "2027-01-11T00:00", "2027-02-08T00:00"]),
        ("0 0 * * 7", ["2026-12-06T00:00", "2026-12-13T00:00", "2026-12-20T00:00"]),
        ("0 0 29 2 *", ["2028-02-29T00:00", "2032-02-29T00:00", "2036-02-29T00:00"]),
        ("@hourly", ["2026-11-30T13:00", "2026-11-30T14:00", "2026-11-30T15:00"]),
        ("@daily", ["2026-12-01T00:00", "2026-12-02T00:00", "2026-12-03T00:00"]),
        ("@weekly", ["2026-12-06T00:00", "2026-12-13T00:00", "2026-12-20T00:00"]),
        ("@monthly", ["2026-12-01T00:00", "2027-01-01T00:00", "2027-02-01T00:00"]),
        ("@YEARLY", ["2027-01-01T00:00", "2028-01-01T00:00", "2029-01-01T00:00"]),
    ],
)
def test_cron_lines_mean_what_cron_means_by_them(line: str, expected: list[str]) -> None:
    assert first_runs("cron", line, NOON) == [utc(text) for text in expected]


@pytest.mark.parametrize(
    ("line", "after", "expected"),
    [
        # Forward: 02:00 becomes 03:00. A job at a set time is made up for, hourly ones go on.
        ("30 2 * * *", "2027-03-27T12:00", ["03-28T03:00+02:00", "03-29T02:30+02:00"]),
        ("0 3 * * *", "2027-03-27T12:00", ["03-28T03:00+02:00", "03-29T03:00+02:00"]),
        ("0 * * * *", "2027-03-28T00:30", ["03-28T03:00+02:00", "03-28T04:00+02:00"]),
        ("*/30 * * * *", "2027-03-28T00:30", ["03-28T03:00+02:00", "03-28T03:30+02:00"]),
        # Back: 03:00 becomes 02:00. A job at a set time runs once, hourly ones in both passes.
        ("30 2 * * *", "2027-10-30T12:00", ["10-31T02:30+02:00", "11-01T02:30+01:00"]),
        ("30 2 * * *", "2027-10-31T00:30", ["11-01T02:30+01:00", "11-02T02:30+01:00"]),
        ("30 2 * * *", "2027-10-31T01:15", ["11-01T02:30+01:00", "11-02T02:30+01:00"]),
        ("0 * * * *", "2027-10-30T23:30", ["10-31T02:00+02:00", "10-31T02:00+01:00"]),
    ],
)
def test_on_the_nights_when_the_clock_changes_nothing_is_lost_or_doubled(
    line: str, after: str, expected: list[str]
) -> None:
    moments = first_runs("cron", line, utc(after), "Europe/Berlin", count=2)

    assert texts(moments, "Europe/Berlin") == [f"2027-{text}" for text in expected]


def test_each_task_has_its_own_zone() -> None:
    assert next_run("cron", "0 9 * * *", NOON, "Asia/Bangkok") == utc("2026-12-01T02:00")
    assert next_run("cron", "0 9 * * *", NOON, "America/New_York") == utc("2026-11-30T14:00")


FIELD = {
    "minute": st.integers(0, 59),
    "hour": st.integers(0, 23),
    "day": st.integers(1, 28),
    "month": st.integers(1, 12),
    "weekday": st.integers(0, 6),
}


def field(name: str, *, starred: bool = True) -> st.SearchStrategy[str]:
    """Texts of one cron field: a list of numbers, ranges and ranges with a step, or a star."""
    numbers = FIELD[name]
    # croniter takes a range of one number for the whole year or day.
    pairs = st.tuples(numbers, numbers).filter(lambda pair: pair[0] != pair[1])
    ranges = pairs.map(lambda pair: f"{min(pair)}-{max(pair)}")
    stepped = st.tuples(ranges, st.integers(1, 12)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    lists = st.lists(st.one_of(numbers.map(str), ranges, stepped), min_size=1, max_size=3)
    given_texts = lists.map(",".join)
    return st.one_of(st.just("*"), given_texts) if starred else given_texts


DAYS = st.one_of(
    st.tuples(st.just("*"), field("weekday")),
    st.tuples(field("day"), st.just("*")),
    st.tuples(field("day", starred=False), field("weekday", starred=False)),
)
INSTANTS = st.datetimes(datetime(2020, 1, 1), datetime(2060, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)


@settings(deadline=None)
@given(field("minute"), field("hour"), DAYS, field("month"), INSTANTS)
def test_cron_times_agree_with_a_second_library(
    minute: str, hour: str, days: tuple[str, str], month: str, after: datetime
) -> None:
    line = f"{minute} {hour} {days[0]} {month} {days[1]}"
    other = croniter(line, after)

    assert first_runs("cron", line, after) == [other.get_next(datetime) for _ in range(3)]


ZONES = st.sampled_from(
    [
        "Europe/Berlin",
        "America/New_York",
        "America/Havana",
        "Australia/Lord_Howe",
        "Asia/Bangkok",
        "Africa/Casablanca",
        "Pacific/Apia",
        "UTC",
    ]
)


@settings(deadline=None)
@given(field("minute"), field("hour"), ZONES, INSTANTS)
def test_cron_times_only_go_forward_in_every_zone(
    minute: str, hour: str, zone: str, after: datetime
) -> None:
    moments = [after, *first_runs("cron", f"{minute} {hour} * * *", after, zone, count=5)]

    assert all(earlier < later for earlier, later in pairwise(moments))
    assert all(moment.tzinfo is UTC for moment in moments)


@settings(deadline=None)
@given(st.integers(0, 23), st.integers(0, 59), ZONES, INSTANTS)
def test_a_daily_time_comes_once_on_every_date(
    hour: int, minute: int, zone: str, after: datetime
) -> None:
    assume(zone != "Pacific/Apia" or after.year > 2011)
    moments = first_runs("cron", f"{minute} {hour} * * *", after, zone, count=10)

    dates = [moment.astimezone(ZoneInfo(zone)).date() for moment in moments]
    assert dates == [dates[0] + timedelta(days=n) for n in range(10)]


# nonsense


@pytest.mark.parametrize(
    ("kind", "value", "zone", "says"),
    [
        ("cron", "0 0 30 2 *", "UTC", "day-of-month .* five fields like"),
        ("cron", "0 0 31 4,6 *", "UTC", "day-of-month"),
        ("cron", "60 * * * *", "UTC", "minute"),
        ("cron", "* 24 * * *", "UTC", "hour"),
        ("cron", "*/0 * * * *", "UTC", "minute"),
        ("cron", "* * * * FUN", "UTC", "day-of-week"),
        ("cron", "* * * * 1#6", "UTC", "day-of-week"),
        ("cron", "5-1 * * * *", "UTC", "minute"),
        ("cron", "* * * *", "UTC", "has 4 cron fields, not five"),
        ("cron", "* * * * * *", "UTC", "has 6 cron fields, not five"),
        ("cron", "@reboot", "UTC", "Unknown cron nickname '@reboot'; use one of @yearly"),
        ("cron", "", "UTC", "empty"),
        ("cron", "9" * 201, "UTC", "201 characters"),
        ("once", "tomorrow", "UTC", "not an ISO 8601 time; write it like"),
        ("once", "2026-02-30T00:00", "UTC", "not an ISO 8601 time"),
        ("once", "9999-12-31T23:00-10:00", "UTC", "outside the calendar"),
        ("interval", "-5", "UTC", "not a positive number of seconds; write a number .* 3600"),
        ("interval", "nan", "UTC", "not a positive number"),
        ("interval", "inf", "UTC", "not a positive number"),
        ("interval", "1e3", "UTC", "not a positive number"),
        ("interval", "٣", "UTC", "not a positive number"),
        ("interval", "5 minutes", "UTC", "not a positive number"),
        ("weekly", "1", "UTC", "Unknown schedule_type 'weekly'; use one of once, interval, cron"),
        ("cron", "* * * * *", "europe/berlin", "did you mean 'Europe/Berlin'"),
        ("cron", "* * * * *", "Europe", "Unknown time zone"),
        ("cron", "* * * * *", "", "Unknown time zone"),
        ("cron", "* * * * *", "../../etc/passwd", "Unknown time zone"),
        ("cron", "* * * * *", "UTC\n", "Unknown time zone"),
    ],
)
def test_nonsense_is_refused_with_what_is_wrong(
    kind: str, value: str, zone: str, says: str
) -> None:
    with pytest.raises(ScheduleError, match=says):
        next_run(kind, value, NOON, zone)


@settings(deadline=None)
@given(
    st.sampled_from(["once", "interval", "cron"]),
    st.one_of(st.text(max_size=30), st.text("0123456789*/,-L#W @T:+MONJAN", max_size=30)),
)
def test_no_text_does_more_than_be_refused(kind: str, value: str) -> None:
    try:
        moment = next_run(kind, value, NOON)
    except ScheduleError:
        return
    assert moment is None or moment > NOON


def test_a_schedule_at_the_end_of_the_calendar_is_refused() -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)

    for kind, value in (("interval", "86400"), ("cron", "0 0 * * *")):
        with pytest.raises(ScheduleError):
            next_run(kind, value, last)


def test_a_single_time_comes_up_once() -> None:
    assert list(upcoming("once", "2027-01-01T00:00", NOON)) == [utc("2027-01-01T00:00")]
