import dataclasses
import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.toolkit.check import MAX_FAULTS, UnfitValue
from openjarvis.toolkit.pydantic_types import describe_by_pydantic, jsonable, tidy


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Line(BaseModel):
    begin: Point
    end: Point
    color: Color = Color.RED


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]


@pytest.mark.parametrize(
    ("annotation", "written", "value"),
    [
        (Color, "red", Color.RED),
        (Level, 2, Level.HIGH),
        (Literal[1, "a", None], "a", "a"),
        (datetime, "2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5)),
        (date, "2026-01-02", date(2026, 1, 2)),
        (time, "03:04", time(3, 4)),
        (timedelta, "PT1H", timedelta(hours=1)),
        (UUID, "12345678123456781234567812345678", UUID("12345678" * 4)),
        (Path, "/tmp/x", Path("/tmp/x")),
        (Decimal, "0.10", Decimal("0.10")),
        (Decimal, 0.1, Decimal("0.1")),
        (bytes, "abc", b"abc"),
        (set[int], [1, 2], {1, 2}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (dict[str, date], {"a": "2026-01-02"}, {"a": date(2026, 1, 2)}),
        (list[Color] | None, ["blue"], [Color.BLUE]),
        (list[Color] | None, None, None),
        (int | str, "7", "7"),
        (Point, {"x": 1}, Point(1, 0)),
        (Line, {"begin": {"x": 1}, "end": {"x": 2}}, Line(begin=Point(1), end=Point(2))),
        (
            Tree,
            {"name": "a", "children": [{"name": "b"}]},
            Tree(name="a", children=[Tree(name="b")]),
        ),
        (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "dog"}, Dog(kind="dog")),
        (Annotated[int, Field(gt=0, multiple_of=5)], 10, 10),
    ],
    ids=str,
)
def test_a_value_that_the_schema_admits_becomes_the_annotated_type(
    annotation: Any, written: Any, value: Any
) -> None:
    schema, convert = describe_by_pydantic(annotation)

    assert jsonschema_rs.is_valid(schema, written)
    assert convert(written) == value
    assert type(convert(written)) is type(value)


@pytest.mark.parametrize(
    ("annotation", "written"),
    [
        (Color, "green"),
        (Color, "RED"),
        (Level, 3),
        (Point, {}),
        (Point, {"x": 1, "z": 1}),
        (Line, {"begin": {"x": 1}, "end": {"x": 2, "w": 3}}),
        (Tree, {"name": "a", "children": [{"name": 1}]}),
        (Tree, {"name": "a", "children": [{"name": "b", "leaf": 1}]}),
        (Annotated[int, Field(gt=0)], 0),
        (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cow"}),
        (dict[str, int], {"a": "x"}),
        (set[int], [1, 1]),
    ],
    ids=str,
)
def test_the_schema_alone_refuses_what_does_not_fit(annotation: Any, written: Any) -> None:
    schema, _ = describe_by_pydantic(annotation)

    assert not jsonschema_rs.is_valid(schema, written)


@pytest.mark.parametrize(
    ("annotation", "written"),
    [
        (date, "yesterday"),
        (datetime, "2026-13-01"),
        (UUID, "no uuid"),
        (Decimal, "1,5"),
        (timedelta, "soon"),
    ],
    ids=str,
)
def test_a_text_that_is_none_of_the_type_is_a_fault_that_shows_it(
    annotation: Any, written: str
) -> None:
    _, convert = describe_by_pydantic(annotation)

    with pytest.raises(UnfitValue) as refusal:
        convert(written)

    (fault,) = refusal.value.faults
    assert (fault.place, fault.value) == ((), written)
    assert fault.reason


def test_a_fault_tells_the_place_inside_the_value() -> None:
    _, convert = describe_by_pydantic(dict[str, list[date]])

    with pytest.raises(UnfitValue) as refusal:
        convert({"days": ["2026-01-02", "never"]})

    assert [(fault.place, fault.value) for fault in refusal.value.faults] == [
        (("days", 1), "never")
    ]


def test_a_flood_of_faults_is_cut() -> None:
    _, convert = describe_by_pydantic(list[date])

    with pytest.raises(UnfitValue) as refusal:
        convert(["never"] * 1_000)

    assert len(refusal.value.faults) == MAX_FAULTS


def test_a_strict_model_takes_what_its_schema_says() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        day: date
        color: Color

    schema, convert = describe_by_pydantic(Strict)
    written = {"day": "2026-01-02", "color": "red"}

    assert jsonschema_rs.is_valid(schema, written)
    assert convert(written) == Strict(day=date(2026, 1, 2), color=Color.RED)


def test_a_rule_of_the_models_own_is_told_in_its_words() -> None:
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def _even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("must be even")
            return n

    _, convert = describe_by_pydantic(Even)

    with pytest.raises(UnfitValue) as refusal:
        convert({"n": 3})

    assert refusal.value.faults == [(("n",), "Value error, must be even", 3)]


def test_a_validator_that_raises_anything_else_is_a_fault_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def _broken(cls, n: int) -> int:
            return {}[n]  # type: ignore[no-any-return, misc]

    _, convert = describe_by_pydantic(Broken)

    with pytest.raises(UnfitValue, match=r"cannot be converted \(KeyError\)"):
        convert({"n": 3})
    assert "A validator raised" in caplog.text


def test_a_model_that_allows_more_stays_open() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        n: int

    schema, convert = describe_by_pydantic(Open)

    assert jsonschema_rs.is_valid(schema, {"n": 1, "more": 2})
    assert convert({"n": 1, "more": 2}).more == 2


def test_the_order_of_a_union_is_its_own_whichever_came_first() -> None:
    _, day_first = describe_by_pydantic(date | datetime)
    _, time_first = describe_by_pydantic(datetime | date)

    assert day_first("2026-01-02") == date(2026, 1, 2)
    assert time_first("2026-01-02") == datetime(2026, 1, 2)


def test_the_same_annotation_is_described_once() -> None:
    assert describe_by_pydantic(list[Point])[1] is describe_by_pydantic(list[Point])[1]


def test_an_annotation_that_cannot_be_hashed_is_described_too() -> None:
    schema, _ = describe_by_pydantic(Annotated[int, {"not": "hashable"}, Field(ge=1)])

    assert schema == {"type": "integer", "minimum": 1}


class Foreign:
    """A class that pydantic knows nothing of."""


class Raising:
    """A class that cannot describe itself."""

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        raise RuntimeError("not today")


class Dangling(BaseModel):
    other: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("annotation", "name"),
    [
        (Foreign, "Foreign"),
        (list[Foreign], "Foreign"),
        (Callable[[int], int], "Callable"),
        (Raising, "Raising"),
        (Dangling, "Dangling"),
        (Annotated[str, Field(pattern="(")], "Annotated"),
        (3, "3"),
    ],
    ids=str,
)
def test_a_type_that_no_schema_can_describe_is_refused_by_its_name(
    annotation: Any, name: str
) -> None:
    with pytest.raises(ToolDefinitionError, match="no JSON Schema can describe") as refusal:
        describe_by_pydantic(annotation)

    assert name in str(refusal.value)
    assert refusal.value.__cause__ is not None


MEMBERS = st.sampled_from(["x", "y", "begin", "end", "color", "name", "children", "kind", "zzz"])
VALUES = st.recursive(
    st.integers(0, 3) | st.sampled_from(["red", "cat", "dog", "a"]) | st.just([]),
    lambda inner: st.dictionaries(MEMBERS, inner, max_size=4) | st.lists(inner, max_size=2),
    max_leaves=6,
)
MODELS: list[Any] = [Line, Tree, Point, Annotated[Cat | Dog, Field(discriminator="kind")]]
ADAPTERS = [TypeAdapter(model) for model in MODELS]


@pytest.mark.parametrize("adapter", ADAPTERS, ids=str)
@given(value=VALUES)
def test_tidying_a_schema_admits_nothing_new(adapter: TypeAdapter[Any], value: Any) -> None:
    raw = adapter.json_schema()

    assert jsonschema_rs.is_valid(raw, value) or not jsonschema_rs.is_valid(tidy(raw), value)


@given(st.builds(Point) | st.builds(Line) | st.builds(Cat))
def test_tidying_a_schema_refuses_no_instance(instance: Any) -> None:
    adapter = TypeAdapter(type(instance))

    tidied = tidy(adapter.json_schema())

    assert "title" not in str(tidied)
    assert jsonschema_rs.is_valid(tidied, adapter.dump_python(instance, mode="json"))


def test_a_member_called_title_is_no_title() -> None:
    class Book(BaseModel):
        title: str
        default: str = "title"

    schema, _ = describe_by_pydantic(Book)

    assert schema["properties"] == {
        "title": {"type": "string"},
        "default": {"type": "string", "default": "title"},
    }


def test_a_default_that_json_has_no_number_for_is_not_told() -> None:
    @dataclasses.dataclass
    class Bounds:
        upper: float = math.inf
        lower: float = 0.0

    schema, _ = describe_by_pydantic(Bounds)

    assert schema["properties"] == {
        "upper": {"type": "number"},
        "lower": {"type": "number", "default": 0.0},
    }


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Point(1, 2), {"x": 1, "y": 2}),
        (Tree(name="a"), {"name": "a", "children": []}),
        ([Color.RED, Level.LOW], ["red", 1]),
        ({date(2026, 1, 2): Decimal("0.10")}, {"2026-01-02": "0.10"}),
        ((1, {2}), [1, [2]]),
        (Path("/tmp"), "/tmp"),
        ({"a": math.inf, "b": math.nan}, {"a": "Infinity", "b": "NaN"}),
        (Point(math.inf), {"x": "Infinity", "y": 0}),  # type: ignore[arg-type]
    ],
    ids=str,
)
def test_a_result_is_written_as_json_has_it(value: Any, written: Any) -> None:
    assert jsonable(value) == written


@pytest.mark.parametrize("value", [object(), [Foreign()], print, b"\xff"])
def test_a_result_that_json_has_no_place_for_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        jsonable(value)
