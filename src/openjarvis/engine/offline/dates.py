"""Dates in a request: ISO, with month names (English, Thai), Chinese, and relative to today."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan มกราคม",
            "february feb กุมภาพันธ์",
            "march mar มีนาคม",
            "april apr เมษายน",
            "may พฤษภาคม",
            "june jun มิถุนายน",
            "july jul กรกฎาคม",
            "august aug สิงหาคม",
            "september sept sep กันยายน",
            "october oct ตุลาคม",
            "november nov พฤศจิกายน",
            "december dec ธันวาคม",
        ),
        start=1,
    )
    for name in names.split()
}
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_RELATIVE = {
    "the day after tomorrow": 2,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "yesterday": -1,
    "วันนี้": 0,
    "พรุ่งนี้": 1,
    "มะรืนนี้": 2,
    "เมื่อวาน": -1,
    "今天": 0,
    "明天": 1,
    "后天": 2,
    "昨天": -1,
    "今日": 0,
    "明日": 1,
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_BUDDHIST_ERA = 543
_DATE = re.compile(
    r"(?<![\w-])(?P<iso>\d{4}[-/]\d{1,2}[-/]\d{1,2})"
    r"(?P<time>[t ]\d{2}:\d{2}(?::\d{2})?(?:z|[+-]\d{2}:?\d{2})?)?(?![\w-])"
    r"|(?P<han>\d{4}年\d{1,2}月\d{1,2}[日号])"
    rf"|(?<!\w)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ?(?P<month>{_MONTH})\.?"
    r"(?:,? (?P<year>\d{4}))?(?!\w)"
    rf"|(?<!\w)(?P<month2>{_MONTH})\.? (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?"
    r"(?:,? (?P<year2>\d{4}))?(?!\w)"
    rf"|(?<![a-z])(?P<relative>{'|'.join(_RELATIVE)})(?![a-z])"
    rf"|(?<![a-z])(?:(?:on|next|this|coming) )?(?P<weekday>{'|'.join(_WEEKDAYS)})(?![a-z])"
)


class FoundDate(NamedTuple):
    """A day at its place in the folded text; `time` is what follows an ISO day, as `T09:30`.

    `is_relative` says that its value depends on today.
    """

    day: date
    time: str
    start: int
    end: int
    is_relative: bool


def find_dates(folded: str, today: date) -> Iterator[FoundDate]:
    """Yield the days that a folded text names; days that no calendar has are left out."""
    for match in _DATE.finditer(folded):
        try:
            day = _day(match, today)
        except (ValueError, OverflowError):
            continue
        time = (match["time"] or "").replace(" ", "T").upper()
        is_relative = bool(match["relative"] or match["weekday"])
        yield FoundDate(day, time, match.start(), match.end(), is_relative)


def _day(match: re.Match[str], today: date) -> date:
    if figures := match["iso"] or match["han"]:
        year, month, day = (int(part) for part in re.findall(r"\d+", figures))
        return date(year, month, day)
    if match["relative"]:
        return today + timedelta(days=_RELATIVE[match["relative"]])
    if match["weekday"]:
        ahead = (_WEEKDAYS.index(match["weekday"]) - today.weekday() - 1) % 7 + 1
        return today + timedelta(days=ahead)
    month, day = _MONTHS[match["month"] or match["month2"]], int(match["day"] or match["day2"])
    if match["year"] or match["year2"]:
        year = int(match["year"] or match["year2"])
        return date(year - _BUDDHIST_ERA if year > 2400 else year, month, day)
    coming = date(today.year, month, day)
    return coming if coming >= today else date(today.year + 1, month, day)
