import asyncio
import contextvars
import os
import subprocess
import sys
import threading
import weakref
from threading import Barrier, Event

import pytest

from openjarvis.core import workers

WAIT = 10.0
"""Seconds after which something that must happen has not."""


def test_a_job_gives_what_its_call_returns() -> None:
    job = workers.start(lambda: 6 * 7)

    assert job.wait(WAIT)
    assert job.is_done()
    assert job.result() == 42


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt()])
def test_a_job_raises_whatever_its_call_raised(error: BaseException) -> None:
    def call() -> None:
        raise error

    job = workers.start(call)

    assert job.wait(WAIT)
    with pytest.raises(type(error)) as caught:
        job.result()
    assert caught.value is error


def test_a_worker_survives_the_jobs_it_ran() -> None:
    for _ in range(50):
        assert workers.start(sys.exit).wait(WAIT)
        assert workers.start(lambda: 1).wait(WAIT)


def test_a_job_runs_in_a_daemon_thread() -> None:
    job = workers.start(threading.current_thread)

    assert job.wait(WAIT)
    assert job.result() is not threading.current_thread()
    assert job.result().daemon


def test_a_job_sees_the_context_of_the_caller_and_keeps_its_changes_to_itself() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("caller")

    def call() -> str:
        seen = variable.get()
        variable.set("worker")
        return seen

    job = workers.start(call)

    assert job.wait(WAIT)
    assert (job.result(), variable.get()) == ("caller", "caller")


@pytest.mark.parametrize("timeout", [0, -1, 0.001])
def test_a_wait_ends_at_its_timeout(timeout: float) -> None:
    release = Event()

    job = workers.start(release.wait)

    assert not job.wait(timeout)
    assert not job.is_done()
    release.set()
    assert job.wait(WAIT)


def test_a_wait_may_be_endless() -> None:
    assert workers.start(lambda: 1).wait(float("inf"))


def test_a_job_can_be_waited_for_again() -> None:
    job = workers.start(lambda: 1)

    assert job.wait(WAIT)
    assert job.wait(0)


def test_jobs_that_hang_hold_up_nobody() -> None:
    release = Event()
    hanging = [workers.start(release.wait) for _ in range(workers.MAX_IDLE + 10)]

    job = workers.start(lambda: "free")

    assert job.wait(WAIT)
    assert not any(other.is_done() for other in hanging)
    release.set()
    assert all(other.wait(WAIT) for other in hanging)


def test_many_jobs_run_at_the_same_time() -> None:
    together = Barrier(40)

    jobs = [workers.start(lambda: together.wait(WAIT)) for _ in range(40)]

    assert all(job.wait(WAIT) for job in jobs)
    assert sorted(job.result() for job in jobs) == list(range(40))


def test_a_thread_is_used_again() -> None:
    def run_one() -> threading.Thread:
        job = workers.start(threading.current_thread)
        assert job.wait(WAIT)
        thread: threading.Thread = job.result()
        return thread

    assert len({run_one() for _ in range(20)}) < 20


@pytest.mark.parametrize("call", [lambda: 1, sys.exit])
def test_on_done_is_called_in_the_worker_however_the_call_ended(call: object) -> None:
    told = Event()
    where: list[threading.Thread] = []

    def on_done() -> None:
        where.append(threading.current_thread())
        told.set()

    workers.start(call, on_done)  # type: ignore[arg-type]

    assert told.wait(WAIT)
    assert where[0] is not threading.current_thread()


def test_the_job_is_done_when_on_done_is_called() -> None:
    begin, told = Event(), Event()
    seen: list[bool] = []

    def on_done() -> None:
        seen.append(job.is_done())
        told.set()

    job = workers.start(lambda: begin.wait(WAIT), on_done)
    begin.set()

    assert told.wait(WAIT)
    assert seen == [True]


def test_an_on_done_that_raises_is_logged_and_the_worker_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(5):
        assert workers.start(lambda: 1, lambda: 1 / 0).wait(WAIT)  # type: ignore[arg-type, return-value]
    next_one = workers.start(lambda: "next")

    assert next_one.wait(WAIT)
    assert "What follows a job raised ZeroDivisionError" in caplog.text


def test_a_finished_job_is_not_kept_alive_by_its_worker() -> None:
    class Heavy:
        pass

    gone = Event()
    job = workers.start(Heavy)
    assert job.wait(WAIT)
    weakref.finalize(job.result(), gone.set)

    del job

    assert gone.wait(WAIT)


def test_a_loop_goes_on_while_a_worker_blocks() -> None:
    release = Event()

    async def main() -> str:
        blocked = asyncio.create_task(workers.run_in_worker(lambda: release.wait(WAIT)))
        await asyncio.sleep(0)
        release.set()
        return "went on" if await blocked else "blocked"

    assert asyncio.run(main()) == "went on"


def test_an_async_wait_raises_what_the_call_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(workers.run_in_worker(lambda: 1 / 0))


def test_a_cancelled_wait_leaves_the_call_running(caplog: pytest.LogCaptureFixture) -> None:
    release, ended = Event(), Event()

    def call() -> None:
        release.wait(WAIT)
        ended.set()

    async def main() -> None:
        waiting = asyncio.create_task(workers.run_in_worker(call))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not ended.is_set()
        release.set()
        assert await workers.run_in_worker(lambda: ended.wait(WAIT))

    asyncio.run(main())

    assert caplog.records == []


def test_a_call_that_ends_after_its_wait_was_cancelled_disturbs_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        job, ended = workers.start_async(lambda: 1)
        ended.cancel()
        assert job.wait(WAIT)
        # The same worker takes the next job, so that what followed the first is over by then.
        await workers.run_in_worker(lambda: None)

    asyncio.run(main())

    assert caplog.records == []


def test_a_call_may_outlive_the_loop_that_asked_for_it(caplog: pytest.LogCaptureFixture) -> None:
    release = Event()

    async def main() -> workers.Job:
        job, _ = workers.start_async(lambda: release.wait(WAIT))
        return job

    job = asyncio.run(main())
    release.set()

    assert job.wait(WAIT)
    assert workers.start(lambda: "next").wait(WAIT)
    assert caplog.records == []


def test_a_worker_that_hangs_does_not_hold_up_the_end_of_the_process() -> None:
    script = (
        "from threading import Event\n"
        "from openjarvis.core import workers\n"
        "begun = Event()\n"
        "workers.start(lambda: (begun.set(), Event().wait()))\n"
        "assert begun.wait(10)\n"
        "print('end')\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "end\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_starts_threads_of_its_own() -> None:
    script = (
        "import os\n"
        "from openjarvis.core import background_loop, workers\n"
        "async def answer(): return 7\n"
        "assert workers.start(lambda: 1).wait(10)\n"
        "assert background_loop.run(answer()) == 7\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    ran = workers.start(lambda: 1).wait(10) and background_loop.run(answer()) == 7\n"
        "    os._exit(0 if ran else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )

    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (ended.stdout, ended.stderr) == ("0\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_that_a_call_forks_and_returns_in_ends_with_the_call() -> None:
    script = (
        "import os, threading\n"
        "from openjarvis.core import workers\n"
        "print('buffered')\n"
        "followed = threading.Event()\n"
        "job = workers.start(os.fork, followed.set)\n"
        "assert job.wait(10) and followed.wait(10)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(job.result(), 0)[1]))\n"
        "assert workers.start(lambda: 1).wait(10)\n"
    )

    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert ended.stdout.split() == ["buffered", "0"]
    assert ended.stderr == ""
