import json
from typing import Any

import pytest

from openjarvis.cli.printable import printable


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __hash__ = object.__hash__


class HostileDict(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no items")


def test_what_json_can_write_stays_as_it_is() -> None:
    value = {"a": [1, 2.5, None, True, "ไทย"], "b": {"c": ()}}

    assert printable(value) == {"a": [1, 2.5, None, True, "ไทย"], "b": {"c": []}}


def test_a_value_that_holds_itself_ends_there() -> None:
    ring: dict[str, Any] = {"n": 1}
    ring["itself"] = [ring]

    assert printable(ring) == {"n": 1, "itself": ["…"]}


def test_a_value_that_stands_twice_is_written_twice() -> None:
    shared = [1]

    assert printable([shared, shared]) == [[1], [1]]


def test_a_deep_nest_is_cut() -> None:
    nest: list[Any] = []
    for _ in range(100_000):
        nest = [nest]

    assert json.dumps(printable(nest)).count("…".encode("unicode_escape").decode()) == 1


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_json_has_not_is_null(number: float) -> None:
    assert printable({"n": number}) == {"n": None}


@pytest.mark.parametrize(
    ("key", "name"),
    [((1, 2), "(1, 2)"), (1, "1"), (None, "null"), (True, "true"), (Hostile(), "<Hostile>")],
)
def test_every_key_becomes_text(key: object, name: str) -> None:
    assert printable({key: "v"}) == {name: "v"}


def test_keys_that_look_alike_lose_nothing() -> None:
    assert sorted(printable({1: "number", "1": "text"}).values()) == ["number", "text"]


def test_whatever_cannot_be_written_keeps_its_place() -> None:
    shown = printable([Hostile(), HostileDict(a=1), 10**6000, {1}])

    assert shown[:2] == ["<Hostile>", "<HostileDict>"]
    assert shown[2].startswith("0x")
    assert shown[3] == "{1}"
    json.dumps(shown)
