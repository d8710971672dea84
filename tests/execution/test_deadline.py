"""A coroutine driven within its deadline, in the caller's own task."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from openjarvis.execution.deadline import TimedOut, WithinDeadline


def within(coroutine: Coroutine[Any, Any, Any], seconds: float = 0.05) -> Any:
    async def driver() -> Any:
        task = asyncio.current_task()
        assert task is not None
        try:
            return await WithinDeadline(coroutine, seconds)
        finally:
            assert task.cancelling() == 0

    return asyncio.run(driver())


async def one() -> int:
    return 1


def test_a_coroutine_that_never_waits_gives_its_value() -> None:
    assert within(one()) == 1


def test_an_error_passes_as_it_is() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        within(fails())


def test_past_the_deadline_it_is_cancelled_and_may_clean_up() -> None:
    cleaned: list[bool] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(True)

    with pytest.raises(TimedOut) as caught:
        within(slow())

    assert cleaned == [True]
    assert not caught.value.is_running


@pytest.mark.parametrize("ending", ["value", "error"])
def test_how_it_ends_after_the_deadline_does_not_matter(ending: str) -> None:
    async def slow() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if ending == "error":
                raise ValueError("x") from None
        return "late"

    with pytest.raises(TimedOut):
        within(slow())


def test_one_that_ignores_its_cancellation_is_closed() -> None:
    rounds: list[int] = []

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                rounds.append(1)

    with pytest.raises(TimedOut):
        within(stubborn())

    assert len(rounds) == 1


def test_a_cancellation_from_outside_is_no_time_out() -> None:
    async def scenario() -> None:
        started = asyncio.Event()

        async def slow() -> None:
            started.set()
            await asyncio.sleep(60)

        async def outer() -> None:
            await WithinDeadline(slow(), 30)

        task = asyncio.create_task(outer())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())


def test_a_cancel_scope_opened_inside_belongs_to_the_same_task() -> None:
    async def scoped() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(60)
        except TimeoutError:
            return "own"
        return "none"

    assert within(scoped(), 30) == "own"
