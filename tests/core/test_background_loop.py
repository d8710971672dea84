import asyncio
import subprocess
import sys
from concurrent.futures import CancelledError
from threading import Barrier, Event, Thread

import pytest

from openjarvis.core import background_loop
from openjarvis.core.background_loop import LoopJob

WAIT = 10.0
"""Seconds after which something that must happen has not."""


async def running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def forever() -> None:
    await asyncio.Event().wait()


def test_a_sync_caller_gets_what_the_coroutine_returns() -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 42

    assert background_loop.run(answer()) == 42


@pytest.mark.parametrize("error", [ValueError("no"), TimeoutError("late")])
def test_a_sync_caller_gets_what_the_coroutine_raises(error: Exception) -> None:
    async def fail() -> None:
        raise error

    with pytest.raises(type(error), match=str(error)):
        background_loop.run(fail())


def test_all_sync_callers_share_one_loop() -> None:
    threads = 8
    ready = Barrier(threads)
    loops: list[asyncio.AbstractEventLoop] = []

    def work() -> None:
        ready.wait()
        loops.append(background_loop.run(running_loop()))

    callers = [Thread(target=work) for _ in range(threads)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    assert len(loops) == threads
    assert len(set(loops)) == 1


@pytest.mark.parametrize("timeout", [0, 0.001])
def test_a_wait_ends_at_its_timeout(timeout: float) -> None:
    job = LoopJob(forever)

    assert not job.wait(timeout)
    assert not job.is_done()
    job.cancel()
    assert job.wait(WAIT)


def test_a_coroutine_that_raises_a_timeout_error_has_ended() -> None:
    async def late() -> None:
        raise TimeoutError

    job = LoopJob(late)

    assert job.wait(WAIT)
    assert job.is_done()


def test_a_cancelled_coroutine_learns_of_it() -> None:
    begun, cancelled = Event(), Event()

    async def work() -> None:
        begun.set()
        try:
            await forever()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    job = LoopJob(work)
    assert begun.wait(WAIT)
    job.cancel()

    assert cancelled.wait(WAIT)
    assert job.wait(WAIT)
    with pytest.raises(CancelledError):
        job.result()


def test_an_interrupted_wait_ends_the_work_too(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, cancelled = Event(), Event()

    async def work() -> None:
        begun.set()
        try:
            await forever()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def interrupted(_job: LoopJob, _timeout: float | None) -> bool:
        assert begun.wait(WAIT)
        raise KeyboardInterrupt

    monkeypatch.setattr(LoopJob, "wait", interrupted)

    with pytest.raises(KeyboardInterrupt):
        background_loop.run(work())

    assert cancelled.wait(WAIT)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_a_coroutine_that_exits_is_told_to_its_caller_and_the_loop_goes_on(
    error: BaseException,
) -> None:
    async def leave() -> None:
        raise error

    loop = background_loop.run(running_loop())
    job = LoopJob(leave)

    assert job.wait(WAIT)
    with pytest.raises(type(error)):
        job.result()
    assert background_loop.run(running_loop()) is loop


def test_a_loop_that_is_blocked_can_be_left_behind() -> None:
    begun, release = Event(), Event()

    async def block() -> str:
        begun.set()
        release.wait(WAIT)
        return "late"

    blocked = LoopJob(block)
    assert begun.wait(WAIT)
    background_loop.abandon()

    assert background_loop.run(running_loop()).is_running()
    release.set()
    assert blocked.wait(WAIT)
    assert blocked.result() == "late"


def test_the_loop_does_not_hold_up_the_end_of_the_process() -> None:
    script = (
        "import asyncio\n"
        "from openjarvis.core.background_loop import LoopJob\n"
        "async def forever(): await asyncio.Event().wait()\n"
        "LoopJob(forever)\n"
        "print('end')\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )

    assert (ended.returncode, ended.stdout) == (0, "end\n")
