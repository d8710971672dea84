"""Functions whose annotations are text until they are asked for, as many files have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict

from openjarvis.toolkit.context import ToolContext

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass
class Stay:
    """Some nights in one place."""

    city: str
    begins: date
    nights: int = 1


class Guest(TypedDict):
    """Somebody who stays."""

    name: str
    age: NotRequired[int]


def book(
    stay: Stay,
    guests: Annotated[int, "How many people"],
    context: ToolContext,
    note: str | None = None,
) -> str:
    """Book a stay."""
    return f"{stay.city} {stay.begins:%d.%m.} x{stay.nights}, {guests} ({context.call_id!r}) {note}"


def priced(nights: int) -> Decimal:
    """Say what it costs; the return type is known to type checkers only."""
    return nights * 80  # type: ignore[return-value]


def unreadable(nights: int, price: Decimal) -> str:
    """Take a parameter whose type is known to type checkers only."""
    return str(price * nights)


def local_type() -> Callable[..., str]:
    """Return a function that is annotated with a class nobody else can see."""

    class Hidden:
        pass

    def inner(hidden: Hidden) -> str:
        return str(hidden)

    return inner
