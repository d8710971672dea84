import math
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, TypeAdapter

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.toolkit.check import ArgumentsError
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.schema import describe, read_docstring, signature_of

PLAIN: list[Any] = [
    str,
    int,
    float,
    bool,
    None,
    list[str],
    Literal["a"],
    Literal["a", "b", "3"],
    str | None,
    int | None,
    Optional[float],  # noqa: UP045 - both spellings are common
    None | bool,
    Annotated[int, "a number"],
    Annotated[float | None, "a number"],
    Annotated[str, Field(description="a text")],
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(-1e15, 1e15)  # pydantic makes no int of a larger one
    | st.integers(-3, 3).map(float)
    | st.sampled_from(["a", "b", "3", "true", ""])
    | st.lists(st.text(max_size=3), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=5,
)


@pytest.mark.parametrize("annotation", PLAIN, ids=str)
@given(value=VALUES)
def test_a_plain_annotation_admits_and_becomes_what_pydantic_makes_of_it(
    annotation: Any, value: Any
) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    described = describe(annotation)

    admitted = jsonschema_rs.is_valid(described.schema, value)

    assert admitted == jsonschema_rs.is_valid(adapter.json_schema(), value)
    if admitted:
        ours = described.convert(value) if described.convert else value
        assert repr(ours) == repr(adapter.validate_python(value))


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Annotated[int, "How many"], {"type": "integer", "description": "How many"}),
        (
            Annotated[int, Field(description="How many")],
            {"type": "integer", "description": "How many"},
        ),
        (
            Annotated[int, Field(ge=1, le=9), "How many"],
            {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many"},
        ),
        (
            Annotated[str, "The city"] | None,
            {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "The city"},
        ),
        (
            Annotated[int, Field(ge=1), "How many"] | Annotated[str, "or which"],
            {
                "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}],
                "description": "How many; or which",
            },
        ),
        (Any, {}),
    ],
    ids=str,
)
def test_an_annotation_has_the_schema_that_a_reader_expects(
    annotation: Any, schema: dict[str, Any]
) -> None:
    assert describe(annotation).schema == schema


def test_the_schema_of_a_function_lists_its_parameters_in_order() -> None:
    def find(
        query: Annotated[str, "What to look for"],
        limit: int = 10,
        exact: bool = False,
        language: str | None = None,
    ) -> list[str]:
        """Find pages."""
        return []

    signature = signature_of(find, "find")

    assert signature.description == "Find pages."
    assert signature.schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for"},
            "limit": {"type": "integer", "default": 10},
            "exact": {"type": "boolean", "default": False},
            "language": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert list(signature.schema["properties"]) == ["query", "limit", "exact", "language"]


def test_no_parameter_is_fine() -> None:
    def now() -> str:
        return ""

    assert signature_of(now, "now").schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


@pytest.mark.parametrize("default", [math.inf, -math.inf, math.nan])
def test_a_default_that_json_has_no_number_for_is_not_told(default: float) -> None:
    def plain(limit: float = default) -> None: ...
    def with_field(limit: Annotated[float, Field(default=default)]) -> None: ...

    for function in (plain, with_field):
        assert signature_of(function, "f").schema["properties"] == {"limit": {"type": "number"}}


def test_a_default_that_is_no_json_scalar_makes_optional_and_is_not_told() -> None:
    class Color(Enum):
        RED = "red"

    def paint(color: Color = Color.RED, layers: list[int] = [1]) -> None: ...  # noqa: B006

    schema = signature_of(paint, "paint").schema

    assert "required" not in schema
    assert all("default" not in member for member in schema["properties"].values())


@pytest.mark.parametrize("spelling", ["annotated", "default"])
def test_a_field_gives_constraints_and_default(spelling: str) -> None:
    def annotated(
        n: Annotated[int, Field(ge=1, le=9, default=5, description="How many")],
    ) -> None: ...

    def default(n: int = Field(5, ge=1, le=9, description="How many")) -> None: ...

    signature = signature_of({"annotated": annotated, "default": default}[spelling], "f")

    assert signature.schema["properties"]["n"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "default": 5,
        "description": "How many",
    }
    assert "required" not in signature.schema
    assert signature.convert({}) == {"n": 5}


def test_a_field_without_a_default_leaves_the_parameter_required() -> None:
    def f(n: Annotated[int, Field(ge=1)], m: int = Field(..., le=9)) -> None: ...

    assert signature_of(f, "f").schema["required"] == ["n", "m"]


def test_a_python_default_beside_a_field_holds() -> None:
    def f(n: Annotated[int, Field(ge=1)] = 7) -> int:
        return n

    signature = signature_of(f, "f")

    assert signature.schema["properties"]["n"]["default"] == 7
    assert signature.convert({}) == {}
    assert f(**signature.convert({})) == 7


def test_a_default_factory_makes_a_new_value_for_each_call() -> None:
    def f(
        n: Annotated[list[int], Field(default_factory=list)], m: Annotated[list[int], Field([1])]
    ) -> None: ...

    signature = signature_of(f, "f")
    first = signature.convert({})
    first["n"].append(2)
    first["m"].append(2)

    assert signature.convert({}) == {"n": [], "m": [1]}


def test_a_default_factory_that_raises_asks_for_the_value(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def f(n: Annotated[int, Field(default_factory=lambda: 1 // 0)]) -> None: ...

    signature = signature_of(f, "f")

    with pytest.raises(ArgumentsError, match=r"'n' must be given: .* \(ZeroDivisionError\)"):
        signature.convert({})
    assert signature.convert({"n": 3}) == {"n": 3}
    assert "The default factory of 'n' raised" in caplog.text


@pytest.mark.filterwarnings("ignore:A 'default_factory' taking validated data")
def test_a_default_factory_that_wants_the_other_values_is_refused_where_it_is_written() -> None:
    def f(n: Annotated[int, Field(default_factory=lambda data: 1)]) -> None: ...

    with pytest.raises(ToolDefinitionError, match="f: the parameter 'n': its default_factory"):
        signature_of(f, "f")


def test_the_context_parameter_is_not_in_the_schema() -> None:
    def f(context: ToolContext, n: int) -> None: ...

    signature = signature_of(f, "f")

    assert signature.context_parameter == "context"
    assert list(signature.schema["properties"]) == ["n"]


def test_two_context_parameters_are_refused() -> None:
    def f(a: ToolContext, b: ToolContext) -> None: ...

    with pytest.raises(ToolDefinitionError, match="f: both 'a' and 'b' are annotated ToolContext"):
        signature_of(f, "f")


def test_every_value_that_is_of_no_use_is_named() -> None:
    def f(a: float, b: float, c: int) -> None: ...

    with pytest.raises(ArgumentsError) as refusal:
        signature_of(f, "f").convert({"a": 10**400, "b": 10**401, "c": 1})

    assert len(refusal.value.faults) == 2
    assert refusal.value.faults[0].startswith("'a': too large for a double, got integer 1000")


def test_conversion_leaves_the_arguments_alone() -> None:
    def f(a: float) -> None: ...

    arguments: dict[str, Any] = {"a": 1}
    converted = signature_of(f, "f").convert(arguments)

    assert repr(converted) == "{'a': 1.0}"
    assert repr(arguments) == "{'a': 1}"


DOCSTRINGS = {
    "google": """Send a letter.

    It arrives in two days.

    Args:
        to: Who gets it,
            with the country.
        copies (int): How many.

    Returns:
        The number of the letter.
    """,
    "numpy": """Send a letter.

    It arrives in two days.

    Parameters
    ----------
    to : str
        Who gets it,
        with the country.
    copies
        How many.

    Returns
    -------
    str
        The number of the letter.
    """,
    "sphinx": """Send a letter.

    It arrives in two days.

    :param to: Who gets it,
        with the country.
    :param int copies: How many.
    :returns: The number of the letter.
    """,
}


@pytest.mark.parametrize("style", DOCSTRINGS)
def test_descriptions_come_from_the_docstring_in_each_style(style: str) -> None:
    def send(to: str, copies: int = 1) -> str:
        return ""

    send.__doc__ = DOCSTRINGS[style]
    signature = signature_of(send, "send")

    assert signature.description == "Send a letter.\n\nIt arrives in two days."
    assert signature.schema["properties"] == {
        "to": {"type": "string", "description": "Who gets it, with the country."},
        "copies": {"type": "integer", "default": 1, "description": "How many."},
    }


def test_an_annotation_says_more_than_the_docstring() -> None:
    def send(to: Annotated[str, "from the annotation"]) -> None:
        """Send.

        Args:
            to: from the docstring
        """

    schema = signature_of(send, "send").schema

    assert schema["properties"]["to"]["description"] == "from the annotation"


@pytest.mark.parametrize(
    "text", ["", "Only text.", "Say: 'Args' is a word.", "Uses :param in the middle."]
)
def test_a_docstring_without_sections_is_all_description(text: str) -> None:
    assert read_docstring(text) == (text, {})


def test_a_section_that_names_strangers_is_harmless() -> None:
    def f(n: int) -> None:
        """Count.

        Args:
            other: nobody
        """

    assert signature_of(f, "f").schema["properties"] == {"n": {"type": "integer"}}


@given(st.text(), st.sampled_from(["Args:\n", "Parameters\n---\n", ":param n:", ""]), st.text())
def test_any_docstring_can_be_read(before: str, marker: str, after: str) -> None:
    description, meanings = read_docstring(f"{before}\n{marker}{after}")

    assert isinstance(description, str)
    assert all(isinstance(meaning, str) for meaning in meanings.values())
