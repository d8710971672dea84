"""200 typed tools of five parameters, one a nested model: built, and rendered for a model."""

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BaseModel, Field, create_model

from benchmarks.measure import cost_of_all, row
from openjarvis.execution.executor import ToolExecutor
from openjarvis.toolkit.function import tool

TOOLS = 200


class Address(BaseModel):
    street: str
    zip_code: int = 0


def functions(*, own_model: bool) -> list[Callable[..., str]]:
    """Return functions that share one nested model, or have one each."""
    return [_function(number, own_model=own_model) for number in range(TOOLS)]


def _function(number: int, *, own_model: bool) -> Callable[..., str]:
    model = create_model(f"Address{number}", street=(str, ...)) if own_model else Address

    def book(
        city: Annotated[str, Field(description="Where")],
        address: model,  # type: ignore[valid-type]
        nights: Annotated[int, "How many"] = 1,
        price: float = 1.0,
        kind: Literal["room", "flat"] = "room",
    ) -> str:
        """Book a room.

        Args:
            price: The most to pay.
            kind: What to book.
        """
        return city

    book.__name__ = f"book_{number}"
    return book


if __name__ == "__main__":
    shared = functions(own_model=False)
    own = [functions(own_model=True) for _ in range(10)]
    built = cost_of_all(lambda: [tool(function) for function in shared], times=1)
    row("200 tools built, one nested model", built.cpu / 1e3, "CPU ms", 120)
    each = iter(own)
    built = cost_of_all(lambda: [tool(function) for function in next(each)], times=1)
    row("200 tools built, a nested model each", built.cpu / 1e3, "CPU ms", 120)
    executor = ToolExecutor([tool(function) for function in shared])
    rendered = cost_of_all(executor.get_openai_tools, times=1)
    row("rendered as OpenAI definitions", rendered.cpu / 1e3, "CPU ms", 1)
