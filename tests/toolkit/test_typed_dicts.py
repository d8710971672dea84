import sys
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

import pytest
import typing_extensions

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.toolkit.schema import describe
from openjarvis.toolkit.typed_dicts import rebuilt
from postponed_tools import Guest


class Place(TypedDict):
    """Somewhere."""

    city: str
    floor: NotRequired[int]


class Trip(Place, total=False):
    """From somewhere."""

    to: Place
    nights: Required[int]


class Looped(TypedDict):
    """Holds itself."""

    next: "Looped | None"


class Node(typing_extensions.TypedDict):
    """Holds itself, as pydantic takes it everywhere."""

    next: "Node | None"


PLACE: dict[str, Any] = {
    "type": "object",
    "description": "Somewhere.",
    "properties": {"city": {"type": "string"}, "floor": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}


def test_a_typed_dict_of_the_standard_library_is_described_with_its_members() -> None:
    assert describe(Place).schema == PLACE


def test_inherited_nested_and_optional_members_are_kept() -> None:
    schema = describe(Trip).schema

    assert schema["required"] == ["city", "nights"]
    assert schema["properties"].keys() == {"city", "floor", "to", "nights"}
    assert schema["properties"]["to"] == {"$ref": "#/$defs/Place"}
    assert schema["$defs"] == {"Place": PLACE}


@pytest.mark.parametrize(
    "annotation",
    [list[Place], dict[str, Place], Place | None, tuple[Place, Place], Annotated[list[Place], "x"]],
    ids=str,
)
def test_typed_dicts_are_found_in_other_types(annotation: Any) -> None:
    described = describe(annotation)

    assert "'city': {'type': 'string'}" in str(described.schema)


def test_values_become_dicts_with_their_members_converted() -> None:
    convert = describe(Place).convert
    assert convert is not None

    assert convert({"city": "Oslo", "floor": 2.0}) == {"city": "Oslo", "floor": 2}


@pytest.mark.parametrize("annotation", [int, list[int], Literal["a"], int | None, Any, "text"])
def test_what_holds_no_typed_dict_is_returned_as_it_is(annotation: Any) -> None:
    assert rebuilt(annotation) == annotation


def test_members_whose_annotations_are_text_keep_being_optional() -> None:
    assert describe(list[Guest]).schema["$defs"]["Guest"]["required"] == ["name"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes it from typing there")
def test_one_that_holds_itself_is_refused_with_the_way_out() -> None:
    with pytest.raises(ToolDefinitionError, match=r"use `typing_extensions\.TypedDict`"):
        describe(Looped)


def test_one_of_typing_extensions_may_hold_itself() -> None:
    convert = describe(Node).convert
    assert convert is not None

    assert convert({"next": {"next": None}}) == {"next": {"next": None}}
