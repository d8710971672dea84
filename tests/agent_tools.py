"""Tools for the tests of agents."""

from openjarvis.toolkit.function import tool


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def shout(text: str) -> str:
    """Write a text in capitals."""
    return text.upper()


@tool(requires_confirmation=True)
def refund(order: str) -> str:
    """Pay an order back."""
    raise AssertionError(f"{order} was paid back")
