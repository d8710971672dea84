"""What stands in a request: quotes, addresses, paths, codes, dates and numbers."""

import time
from datetime import date

import pytest

from openjarvis.engine.offline.dates import find_dates
from openjarvis.engine.offline.extract import is_path, pieces
from openjarvis.engine.offline.numbers import NUMBER, literal_of, number_of
from openjarvis.engine.offline.script import fold

TODAY = date(2026, 1, 15)  # a Thursday


def kinds_and_values(text: str) -> list[tuple[str, object]]:
    return [(piece.kind, piece.value) for piece in pieces(text, fold(text), TODAY)]


def paths(*values: str) -> list[tuple[str, object]]:
    return [("path", value) for value in values]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Read notes.txt.", [("path", "notes.txt")]),
        ("what does ./docs/plan.md say?", [("path", "./docs/plan.md")]),
        ("the first 10 lines of /var/log", [("number", 10), ("path", "/var/log")]),
        (
            "~/todo.md and ../x and src/app/",
            paths("~/todo.md", "../x", "src/app/"),
        ),
        (r"C:\Users\a\b.txt now", [("path", r"C:\Users\a\b.txt")]),
        ("café.txt .env", [("path", "café.txt"), ("path", ".env")]),
        ("ช่วยอ่านไฟล์notes.txtหน่อย", [("path", "notes.txt")]),
        ("报告.txt", [("path", "报告.txt")]),
        ("\"my notes.txt\" and 'it's me'", [("quoted", "my notes.txt"), ("quoted", "it's me")]),
        ("“Grüße” 「你好」《红楼梦》", [("quoted", q) for q in ("Grüße", "你好", "红楼梦")]),
        ("```python\nprint(1)\n```", [("quoted", "print(1)")]),
        ("open https://example.com/a?b=1, ok", [("url", "https://example.com/a?b=1")]),
        ("see example.com", [("domain", "example.com")]),
        ("Bob@Example.org says", [("email", "Bob@Example.org")]),
        ("TH-1042, task-91bc", [("code", "TH-1042"), ("code", "task-91bc")]),
        ("1,250.5 THB, twenty one, ๑๒", [("number", 1250.5), ("number", 21), ("number", 12)]),
        ("-18 or minus 5, 3-4", [("number", n) for n in (-18, -5, 3, 4)]),
        ("don't, and/or, e.g. the U.S., v1.2.3, seven eight", []),
        ("一下 สองแถว", []),
    ],
)
def test_pieces_are_found_as_they_are_written(
    text: str, expected: list[tuple[str, object]]
) -> None:
    assert kinds_and_values(text) == expected


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-03-14", "2026-03-14"),
        ("on 2026/3/4", "2026-03-04"),
        ("12 June 2027", "2027-06-12"),
        ("the 3rd of May, 2027", "2027-05-03"),
        ("March 3rd", "2026-03-03"),
        ("1 January", "2027-01-01"),
        ("2025年3月4日", "2025-03-04"),
        ("3 มีนาคม 2569", "2026-03-03"),
        ("tomorrow", "2026-01-16"),
        ("the day after tomorrow", "2026-01-17"),
        ("พรุ่งนี้", "2026-01-16"),
        ("昨天", "2026-01-14"),
        ("on Thursday", "2026-01-22"),
        ("next friday", "2026-01-16"),
    ],
)
def test_days_are_found_in_many_spellings(text: str, day: str) -> None:
    (found,) = find_dates(fold(text), TODAY)

    assert found.day.isoformat() == day


def test_the_time_of_an_iso_day_is_kept() -> None:
    (found,) = find_dates(fold("2026-03-14 09:30Z"), TODAY)

    assert found.time == "T09:30Z"


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30",
        "0000-01-01",
        "31 April",
        "March 32",
        "14/03/2026",
        "mayor",
    ],
)
def test_what_no_calendar_has_or_two_countries_read_differently_is_no_day(text: str) -> None:
    assert list(find_dates(fold(text), TODAY)) == []


def test_the_29th_of_february_is_no_day_of_a_year_without_it() -> None:
    assert list(find_dates("29 february", date(2026, 1, 1))) == []
    assert [found.day for found in find_dates("29 february", date(2028, 1, 1))] == [
        date(2028, 2, 29)
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,250", 1250),
        ("0012.50", 12.5),
        (".5", 0.5),
        ("nineteen", 19),
        ("forty-two", 42),
        ("three hundred and five", 305),
        ("two thousand and twenty six", 2026),
        ("hundred", 100),
        ("seven eight", None),
        ("三百四十", 340),
        ("十五", 15),
        ("两千零五", 2005),
        ("一万二千", 12000),
        ("一二三", None),
        ("ยี่สิบเอ็ด", 21),
        ("สามร้อยสี่สิบ", 340),
        ("9" * 31, None),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, value: float | None) -> None:
    match = NUMBER.match(text)

    assert match is not None
    assert match[0] == text
    assert number_of(match[0]) == value


def test_a_literal_keeps_every_digit() -> None:
    assert literal_of("3.14159265358979323846") == "3.14159265358979323846"
    assert literal_of("007") == "7"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("my notes.txt", True), ("/etc/hosts", True), ("docs/", True), ("good morning", False)],
)
def test_a_quoted_path_looks_like_one(text: str, expected: bool) -> None:
    assert is_path(text) is expected


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "a/",
        "a.",
        "a-1-",
        "'",
        "`a",
        "@",
        "a@",
        "1,",
        "/",
        "ก",
        "a@a.",
        "one ",
        "1-",
        "``` ",
        "'a ",
    ],
)
def test_hostile_text_is_read_soon(unit: str) -> None:
    text = (unit * 2_000)[:2_000]
    started = time.process_time()

    pieces(text, fold(text), TODAY)

    assert time.process_time() - started < 0.5
