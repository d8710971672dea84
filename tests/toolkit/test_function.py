import asyncio
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

import postponed_tools
from openjarvis.core.errors import ToolDefinitionError
from openjarvis.core.types import ToolResult
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.function import FunctionTool, tool


class Size(Enum):
    SMALL = "S"
    LARGE = "L"


@dataclass
class Address:
    street: str
    number: int = 1
    tags: list[str] = field(default_factory=list)


class Extra(TypedDict, total=False):
    note: str


class Person(BaseModel):
    name: str
    friends: list["Person"] = []


def one_model() -> type[BaseModel]:
    class Item(BaseModel):
        price: Decimal

    return Item


def other_model() -> type[BaseModel]:
    class Item(BaseModel):
        weight: int

    return Item


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    return tool(function).spec.parameters


# How a function becomes a tool


def test_a_bare_decorator_takes_name_and_description_from_the_function() -> None:
    @tool
    def current_time() -> str:
        """Tell the time. Call it when the user asks for it."""
        return "noon"

    assert current_time.spec.name == current_time.tool_id == "current_time"
    assert current_time.spec.description == "Tell the time. Call it when the user asks for it."
    assert current_time.execute() == ToolResult("current_time", "noon")


def test_a_name_and_a_description_can_be_given() -> None:
    @tool("get_order_status", "Show where an order is.")
    def status(order_id: Annotated[str, Field(description="order code, e.g. TH-1042")]) -> str:
        """Internal notes."""
        return f"{order_id} is on its way"

    assert status.to_openai_function() == {
        "type": "function",
        "function": {
            "name": "get_order_status",
            "description": "Show where an order is.",
            "parameters": {
                "type": "object",
                "properties": {
                    "order_id": {"type": "string", "description": "order code, e.g. TH-1042"}
                },
                "required": ["order_id"],
                "additionalProperties": False,
            },
        },
    }


def test_the_keywords_are_the_fields_of_the_spec() -> None:
    metadata = {"repeatable": True}

    @tool(
        category="shop",
        cost_estimate=0.01,
        latency_estimate=2.0,
        requires_confirmation=True,
        metadata=metadata,
        timeout_seconds=5,
        examples=["Refund A7", ("Refund B8", {"order": "B8"})],
        read_only=False,
        destructive=True,
        idempotent=True,
        open_world=False,
    )
    def refund(order: str) -> str:
        return order

    metadata.clear()
    spec = refund.spec

    assert (spec.name, spec.category, spec.requires_confirmation) == ("refund", "shop", True)
    assert (spec.cost_estimate, spec.latency_estimate, spec.timeout_seconds) == (0.01, 2.0, 5)
    assert spec.metadata == {"repeatable": True}
    assert list(spec.examples) == ["Refund A7", ("Refund B8", {"order": "B8"})]
    assert [spec.read_only, spec.destructive, spec.idempotent, spec.open_world] == [
        False,
        True,
        True,
        False,
    ]


def test_a_plain_call_of_the_function_works_as_before() -> None:
    @tool
    def double(number: int, *, times: int = 1) -> int:
        """Double it."""
        return number * 2**times

    assert double(4) == 8
    assert double(4, times=2) == 16
    assert double(number=4) == 8
    assert double.__name__ == "double"  # type: ignore[attr-defined]
    assert double.__doc__ == "Double it."
    assert repr(double) == "<tool double(number: int, *, times: int = 1) -> int>"


def test_a_plain_call_of_an_async_function_gives_its_coroutine() -> None:
    @tool
    async def double(number: int) -> int:
        return number * 2

    assert asyncio.run(double(4)) == 8
    assert double.is_async


def test_the_attributes_of_the_function_do_not_replace_the_tools() -> None:
    def count(n: int) -> int:
        return n

    count.tool_id = count.signature = count._spec = "mine"  # type: ignore[attr-defined]
    count.version = 2  # type: ignore[attr-defined]
    made = tool(count)

    assert made.tool_id == "count"
    assert made.execute(n=3).content == "3"
    assert made.version == 2  # type: ignore[attr-defined]


def test_a_decorated_function_keeps_the_signature_of_what_it_wraps() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return f"logged {function(*args, **kwargs)}"

        return wrapper

    @tool
    @logged
    def count(n: int) -> int:
        """Count."""
        return n

    assert count.spec.parameters["required"] == ["n"]
    assert count.execute(n="3").content == "logged 3"


def test_a_cached_function_can_be_a_tool() -> None:
    @tool
    @functools.cache
    def count(n: int) -> int:
        return n

    assert count.execute(n=3).content == "3"


# Every kind of annotation


def everything(
    text: str,
    number: int,
    ratio: float,
    sure: bool,
    mode: Literal["fast", "slow"],
    size: Size,
    maybe: int | None,
    either: int | str,
    words: list[str],
    counts: dict[str, int],
    address: Address,
    extra: Extra,
    person: Person,
    noted: Annotated[str, "with a text"],
    limited: Annotated[int, Field(ge=1, le=9)],
    moment: datetime,
    day: date,
    key: UUID,
    path: Path,
    price: Decimal,
    anything: Any,
) -> str:
    """Take everything."""
    return repr(locals())


EVERYTHING: dict[str, Any] = {
    "text": "a",
    "number": 1,
    "ratio": 2,
    "sure": True,
    "mode": "fast",
    "size": "L",
    "maybe": None,
    "either": "x",
    "words": ["a"],
    "counts": {"a": 1},
    "address": {"street": "Main"},
    "extra": {"note": "n"},
    "person": {"name": "Ann", "friends": [{"name": "Bob"}]},
    "noted": "n",
    "limited": 9,
    "moment": "2026-01-02T03:04:05",
    "day": "2026-01-02",
    "key": "12345678123456781234567812345678",
    "path": "/tmp",
    "price": "0.10",
    "anything": {"k": [1]},
}


def test_a_function_is_called_with_the_types_it_is_annotated_with() -> None:
    result = tool(everything).execute(**EVERYTHING)

    assert result.content == everything(
        text="a",
        number=1,
        ratio=2.0,
        sure=True,
        mode="fast",
        size=Size.LARGE,
        maybe=None,
        either="x",
        words=["a"],
        counts={"a": 1},
        address=Address("Main"),
        extra={"note": "n"},
        person=Person(name="Ann", friends=[Person(name="Bob")]),
        noted="n",
        limited=9,
        moment=datetime(2026, 1, 2, 3, 4, 5),
        day=date(2026, 1, 2),
        key=UUID("12345678" * 4),
        path=Path("/tmp"),
        price=Decimal("0.10"),
        anything={"k": [1]},
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", 1),
        ("number", "one"),
        ("ratio", "much"),
        ("sure", 1),
        ("mode", "medium"),
        ("size", "M"),
        ("maybe", "x"),
        ("either", []),
        ("words", [1]),
        ("counts", {"a": "b"}),
        ("address", {}),
        ("address", {"street": "Main", "zip": 1}),
        ("extra", {"other": 1}),
        ("person", {"name": "Ann", "friends": [{"name": 1}]}),
        ("limited", 10),
        ("moment", "now"),
        ("day", "2026-02-30"),
        ("key", "no uuid"),
        ("price", "cheap"),
    ],
)
def test_an_argument_of_the_wrong_type_never_reaches_the_function(name: str, value: Any) -> None:
    result = tool(everything).execute(**{**EVERYTHING, name: value})

    assert not result.success
    assert result.content.startswith("Invalid arguments: ")
    assert f"'{name}" in result.content


def test_a_missing_and_an_unknown_argument_are_both_named() -> None:
    @tool
    def find(query: Annotated[str, "What to find"]) -> str:
        return query

    assert find.execute(qery="x").content in (
        "Invalid arguments: missing 'query' (string: What to find); "
        "unknown argument 'qery' (did you mean 'query'?)",
        "Invalid arguments: unknown argument 'qery' (did you mean 'query'?); "
        "missing 'query' (string: What to find)",
    )


def test_two_models_of_one_name_are_kept_apart() -> None:
    first, second = one_model(), other_model()

    def ship(a: list[first], b: list[second], c: list[first]) -> str:  # type: ignore[valid-type]
        return f"{a[0].price} {b[0].weight} {c[0].price}"  # type: ignore[attr-defined]

    made = tool(ship)

    assert made.spec.parameters["$defs"].keys() == {"Item", "Item_2"}
    assert made.execute(a=[{"price": 1}], b=[{"weight": 2}], c=[{"price": 3}]).content == "1 2 3"
    assert not made.execute(a=[{"weight": 1}], b=[{"weight": 2}], c=[{"price": 3}]).success
    assert not made.execute(a=[{"price": 1}], b=[{"price": 2}], c=[{"price": 3}]).success


def test_equal_models_that_refer_to_different_ones_are_kept_apart() -> None:
    def box(item: type[BaseModel]) -> type[BaseModel]:
        class Box(BaseModel):
            items: list[item]  # type: ignore[valid-type]

        return Box

    first, second = box(one_model()), box(other_model())

    def ship(a: list[first], b: list[second]) -> str:  # type: ignore[valid-type]
        return "ok"

    made = tool(ship)
    price, weight = [{"items": [{"price": 1}]}], [{"items": [{"weight": 1}]}]

    assert made.execute(a=price, b=weight).success
    assert not made.execute(a=price, b=price).success
    assert not made.execute(a=weight, b=weight).success


def test_two_recursive_models_of_one_name_are_kept_apart() -> None:
    def node(kind: type) -> type[BaseModel]:
        class Node(BaseModel):
            value: kind  # type: ignore[valid-type]
            next: "Node | None" = None

        Node.model_rebuild(_types_namespace={"Node": Node})
        return Node

    numbers, texts = node(int), node(str)

    def chain(a: numbers, b: texts) -> str:  # type: ignore[valid-type]
        return f"{a.next.value} {b.next.value}"  # type: ignore[attr-defined]

    made = tool(chain)
    number = {"value": 1, "next": {"value": 2}}
    text = {"value": "x", "next": {"value": "y"}}

    assert made.execute(a=number, b=text).content == "2 y"
    assert not made.execute(a=number, b={"value": "x", "next": {"value": 2}}).success


def test_annotations_that_are_text_are_read() -> None:
    booked = tool(postponed_tools.book)

    result = booked.execute(stay={"city": "Oslo", "begins": "2026-01-02"}, guests="2")

    assert result.content == "Oslo 02.01. x1, 2 ('') None"
    assert booked.spec.parameters["required"] == ["stay", "guests"]
    assert booked.spec.parameters["properties"]["guests"]["description"] == "How many people"


def test_what_a_function_returns_need_not_be_known() -> None:
    assert tool(postponed_tools.priced).execute(nights=2).content == "160"


def test_arguments_named_like_pythons_own_reach_the_function() -> None:
    def odd(self: int, params: int, function: int, keywords: int, context: int, name: int) -> str:
        return str((self, params, function, keywords, context, name))

    result = tool(odd).execute(self=1, params=2, function=3, keywords=4, context=5, name=6)

    assert result.content == "(1, 2, 3, 4, 5, 6)"


# The context


@pytest.mark.parametrize("is_async", [False, True])
def test_a_context_parameter_is_filled_and_not_in_the_schema(is_async: bool) -> None:
    said: list[str] = []

    def pay(amount: int, call: ToolContext) -> str:
        call.progress("paying")
        return f"{amount} {call.call_id} {call.context} {call.idempotency_key} {call.bus}"

    async def pay_async(amount: int, call: ToolContext) -> str:
        return pay(amount, call)

    made = tool("pay")(pay_async if is_async else pay)
    context = ToolContext("c1", "Ann", None, said.append, "key-1")

    value = made.invoke({"amount": 3}, context)

    assert (asyncio.run(value) if is_async else value) == "3 c1 Ann key-1 None"
    assert said == ["paying"]
    assert list(made.spec.parameters["properties"]) == ["amount"]


def test_a_model_cannot_fill_the_context_itself() -> None:
    def pay(call: ToolContext) -> str:
        return call.call_id

    result = tool(pay).execute(call={"call_id": "forged"})

    assert not result.success
    assert "unknown argument 'call'" in result.content


def test_a_context_does_nothing_where_there_is_no_executor() -> None:
    def pay(call: ToolContext) -> str:
        call.progress("unheard")
        return repr((call.call_id, call.context, call.bus, call.idempotency_key))

    assert tool(pay).execute().content == "('', None, None, '')"


# What is no tool is an error where it is made


def unannotated(order) -> str:  # type: ignore[no-untyped-def]
    return str(order)


def partly(order: str, count=1) -> str:  # type: ignore[no-untyped-def]
    return order


def any_positionals(*orders: str) -> str:
    return str(orders)


def any_keywords(**orders: str) -> str:
    return str(orders)


def positional_only(order: str, /) -> str:
    return order


class Opaque:
    pass


def opaque(order: Opaque) -> str:
    return str(order)


def called_back(order: str, done: Callable[[], None]) -> str:
    return order


def misspelt(order: "Ordre") -> str:  # type: ignore[name-defined]  # noqa: F821
    return str(order)


def no_expression(order: "an order") -> str:  # type: ignore[valid-type]  # noqa: F722
    return str(order)


def missing_member(order: "functools.no_such_type") -> str:  # type: ignore[name-defined]
    return str(order)


@pytest.mark.parametrize(
    ("function", "parameter", "reason"),
    [
        (unannotated, "order", "has no annotation; write its type, e.g. order: str"),
        (partly, "count", "has no annotation"),
        (any_positionals, "*orders: str", "takes any arguments"),
        (any_keywords, "**orders: str", "takes any arguments"),
        (positional_only, "order", "is positional-only"),
        (opaque, "order", "no JSON Schema can describe 'Opaque'"),
        (called_back, "done", "no JSON Schema can describe"),
        (misspelt, "order", "annotation 'Ordre' cannot be read: name 'Ordre' is not defined"),
        (no_expression, "order", "annotation 'an order' cannot be read"),
        (missing_member, "order", "cannot be read: module 'functools' has no attribute"),
        (postponed_tools.unreadable, "price", "annotation 'Decimal' cannot be read"),
        (postponed_tools.local_type(), "hidden", "annotation 'Hidden' cannot be read"),
    ],
)
def test_a_parameter_that_no_model_can_fill_is_named_with_its_function(
    function: Callable[..., Any], parameter: str, reason: str
) -> None:
    with pytest.raises(ToolDefinitionError) as refusal:
        tool(function)

    message = str(refusal.value)
    assert message.startswith(f"{function.__module__}.{function.__qualname__}: ")
    assert f"the parameter {parameter!r}" in message
    assert reason in message


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "précis", "a.b"])
def test_a_name_that_models_cannot_call_is_refused(name: str) -> None:
    with pytest.raises(ToolDefinitionError, match=r"test_function\.everything: the tool name"):
        tool(name)(everything)


def test_a_lambda_has_no_name_of_its_own() -> None:
    with pytest.raises(ToolDefinitionError, match="the tool name '<lambda>' must be"):
        tool(lambda: 1)

    assert tool("one", "Say one.")(lambda: 1).execute().content == "1"


def test_a_function_without_ascii_name_is_refused() -> None:
    def météo() -> str:
        return ""

    with pytest.raises(ToolDefinitionError, match="the tool name 'météo' must be"):
        tool(météo)


class Callable_:  # noqa: N801 - a callable that is no function
    def __call__(self, n: int) -> int:
        return n


@pytest.mark.parametrize(
    "thing", [Opaque, int, Callable_(), functools.partial(everything, text="x"), tool(everything)]
)
def test_what_is_no_function_is_refused(thing: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="@tool makes a tool of a function, not of"):
        tool(thing)


@pytest.mark.parametrize("builtin", [len, max, print])
def test_a_builtin_without_annotations_is_refused(builtin: Any) -> None:
    with pytest.raises(ToolDefinitionError, match=f"builtins.{builtin.__name__}: "):
        tool(builtin)


def test_a_method_is_refused_in_its_class_since_nobody_would_fill_self() -> None:
    with pytest.raises(ToolDefinitionError, match="the parameter 'self' has no annotation"):

        class Shop:
            @tool
            def open(self, floor: int) -> str:
                return str(floor)


def test_an_unknown_field_of_the_spec_is_refused_where_the_tool_is_made() -> None:
    with pytest.raises(TypeError, match="dangerous"):
        tool(dangerous=True)(everything)  # type: ignore[call-overload]


def test_a_tool_is_made_the_same_with_and_without_parentheses() -> None:
    made = [tool(everything), tool()(everything), tool("everything")(everything)]

    assert all(isinstance(one, FunctionTool) for one in made)
    assert made[0].spec == made[1].spec == made[2].spec
    assert inspect.unwrap(made[0]) is everything
    assert schema_of(everything) == made[0].spec.parameters
