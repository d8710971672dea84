import asyncio
import gc

from openjarvis.engine.per_loop import PerLoop


class Made:
    """Counts what was made and released."""

    def __init__(self) -> None:
        self.made: list[object] = []
        self.released: list[object] = []
        self.was_released = asyncio.Event()

    def make(self) -> object:
        self.made.append(object())
        return self.made[-1]

    async def release(self, value: object) -> None:
        self.released.append(value)
        self.was_released.set()


def test_a_loop_gets_one_value_and_releases_it_at_its_end() -> None:
    made = Made()
    values = PerLoop(made.make, made.release)

    async def get_many() -> set[object]:
        return set(await asyncio.gather(*(values.get() for _ in range(10))))

    assert asyncio.run(get_many()) == {made.made[0]}
    assert made.released == made.made


def test_each_loop_gets_its_own() -> None:
    made = Made()
    values = PerLoop(made.make, made.release)

    first, second = (asyncio.run(values.get()) for _ in range(2))

    assert first is not second
    assert made.released == [first, second]


def test_a_value_that_cannot_be_made_is_tried_again() -> None:
    made = Made()
    attempts = iter([ValueError("no key"), None])

    def make() -> object:
        if (error := next(attempts)) is not None:
            raise error
        return made.make()

    async def get_twice() -> object:
        values = PerLoop(make, made.release)
        try:
            await values.get()
        except ValueError:
            return await values.get()
        return None

    assert asyncio.run(get_twice()) is made.made[0]


def test_forgetting_releases_the_value_of_a_loop_that_runs() -> None:
    made = Made()
    values = PerLoop(made.make, made.release)

    async def forget() -> None:
        await values.get()
        values.forget()
        gc.collect()
        await made.was_released.wait()

    asyncio.run(asyncio.wait_for(forget(), 5))
    assert made.released == made.made


def test_a_value_that_was_made_after_forgetting_stays() -> None:
    made = Made()
    values = PerLoop(made.make, made.release)

    async def forget_and_get() -> tuple[object, object]:
        await values.get()
        values.forget()
        second = await values.get()
        await made.was_released.wait()
        return second, await values.get()

    second, third = asyncio.run(asyncio.wait_for(forget_and_get(), 5))

    assert second is third
    assert made.released == made.made


def test_a_loop_that_was_closed_without_its_end_is_let_go() -> None:
    made = Made()
    values = PerLoop(made.make, made.release)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(values.get())
    loop.close()

    asyncio.run(values.get())

    assert made.released == made.made[1:]
    assert len(values._owned) == 0
