"""Attacks that once broke the road: what is refused or broken off never runs, all is answered."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openjarvis.core.errors import ToolError
from openjarvis.core.events import EventBus, EventType
from openjarvis.core.types import ToolCall, ToolResult
from openjarvis.execution.approval import Denied
from openjarvis.execution.audit import AuditLog
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.record import Detail, Outcome
from openjarvis.execution.trip import Run
from openjarvis.toolkit.function import FunctionTool, tool
from spellings import async_function, typed_function

CALL = ToolCall("1", "work", '{"number": 3}')


def paying(ran: list[int], *, is_async: bool) -> FunctionTool:
    if is_async:

        @tool("pay", "")
        async def pay() -> str:
            ran.append(1)
            return "paid"
    else:

        @tool("pay", "")
        def pay() -> str:
            ran.append(1)
            return "paid"

    return pay


PAY = ToolCall("p", "pay", "{}")


def test_a_sibling_of_a_tool_that_blocks_the_loop_runs_all_the_same() -> None:
    release, ran = threading.Event(), []

    @tool("blocks", "", timeout_seconds=2)
    async def blocks() -> None:
        release.wait(60)

    executor = ToolExecutor([blocks, paying(ran, is_async=True)])

    hung, paid = executor.execute_all([ToolCall("b", "blocks", "{}"), PAY])
    release.set()

    assert "timed out after 2 s" in hung.content
    assert paid.content == "paid"
    assert ran == [1]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="POSIX timers stand for Ctrl-C")
@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_that_was_interrupted_at_its_approval_does_not_run_later(
    is_async: bool, tmp_path: Path
) -> None:
    ran: list[int] = []
    asked, release = threading.Event(), threading.Event()

    def approve(request: Any) -> bool:
        asked.set()
        os.kill(os.getpid(), signal.SIGINT)
        return release.wait(60)

    audit, run = AuditLog(tmp_path / "audit.db"), Run()
    executor = ToolExecutor([paying(ran, is_async=is_async)], approve=approve, audit=audit)

    with pytest.raises(KeyboardInterrupt):
        executor.perform(PAY, run)
    release.set()
    ToolExecutor([typed_function(str)]).execute(CALL)

    assert asked.is_set()
    assert [record.detail for record in run.records] == [Detail.INTERRUPTED]
    assert [(entry.outcome, entry.detail) for entry in audit.entries()] == [
        ("failed", "interrupted")
    ]
    audit.close()
    assert not threading.Event().wait(0.2)
    assert ran == []


def test_a_sync_call_cancelled_before_it_starts_does_not_run(tmp_path: Path) -> None:
    ran: list[int] = []
    audit, run = AuditLog(tmp_path / "audit.db"), Run()
    executor = ToolExecutor([paying(ran, is_async=False)], audit=audit)

    async def scenario() -> None:
        task = asyncio.ensure_future(executor.aperform(PAY, run))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())

    entries = audit.entries()
    audit.close()
    assert len(run.records) == len(entries) == 1
    assert (entries[0].outcome, entries[0].detail) == ("failed", "interrupted")


def endless() -> Iterator[str]:
    while True:
        yield "x"


@pytest.mark.parametrize("spelling", [typed_function, async_function])
@pytest.mark.parametrize("made", [endless, lambda: iter([1]), lambda: (n for n in range(3))])
def test_an_iterator_is_no_result(spelling: Any, made: Callable[[], Any]) -> None:
    result = ToolExecutor([spelling(lambda number: made())]).execute(CALL)

    assert "which JSON cannot hold" in result.content


class LazyRows(list[int]):
    def __iter__(self) -> Iterator[int]:
        raise ZeroDivisionError("lazy row gone")


class LazyFields(dict[str, int]):
    def items(self) -> Any:
        raise ZeroDivisionError("lazy field gone")


class OddText(str):
    def __len__(self) -> int:
        raise ZeroDivisionError("no length")

    def __str__(self) -> str:
        raise ZeroDivisionError("no text")


class OddResult(ToolResult):
    @property  # type: ignore[override]
    def content(self) -> str:
        raise ZeroDivisionError("no content")

    @content.setter
    def content(self, value: str) -> None:
        pass


class Unsure:
    def __bool__(self) -> bool:
        raise ZeroDivisionError("unsure")


class Unprintable(ToolError):
    def __str__(self) -> str:
        raise SystemExit(3)


ODD_VALUES: list[Callable[[], Any]] = [
    lambda: LazyRows([1]),
    lambda: LazyFields(a=1),
    lambda: OddText("x"),
    lambda: ToolResult("x", OddText("x")),
    lambda: OddResult("x", "y"),
    lambda: ToolResult("x", "y", success=Unsure()),  # type: ignore[arg-type]
    lambda: ToolResult("x", "y", usage=7, metadata=None),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("spelling", [typed_function, async_function])
@pytest.mark.parametrize("make", ODD_VALUES)
def test_no_value_gets_out_as_an_exception(
    driver: str, spelling: Any, make: Callable[[], Any]
) -> None:
    bus = EventBus(record_history=True)
    executor, run = ToolExecutor([spelling(lambda number: make())], bus), Run()

    if driver == "sync":
        done = executor.perform(CALL, run)
    else:
        done = asyncio.run(executor.aperform(CALL, run))

    assert type(done.result.content) is str
    assert run.records == [done.record]
    assert bus.history[-1].event_type is EventType.TOOL_CALL_END


@pytest.mark.parametrize("spelling", [typed_function, async_function])
def test_an_error_that_exits_when_it_is_printed_is_a_failure(spelling: Any) -> None:
    def body(number: int) -> None:
        raise Unprintable

    result = ToolExecutor([spelling(body)]).execute(CALL)

    assert result.content == "Unprintable"


class Wordless(Denied):
    def __init__(self) -> None:
        pass


@pytest.mark.parametrize(
    "error", [SystemExit(1), asyncio.CancelledError(), GeneratorExit(), Wordless()]
)
@pytest.mark.parametrize("driver", ["sync", "async"])
def test_an_async_approver_that_fails_in_any_way_denies(error: BaseException, driver: str) -> None:
    async def approve(request: Any) -> None:
        raise error

    ran: list[int] = []
    executor, run = ToolExecutor([paying(ran, is_async=False)], approve=approve), Run()

    if driver == "sync":
        record = executor.perform(PAY, run).record
    else:
        record = asyncio.run(executor.aperform(PAY, run)).record

    assert record.outcome is Outcome.DENIED
    assert ran == []


def test_ctrl_c_while_a_call_is_concluded_doubles_nothing(tmp_path: Path) -> None:
    bus, once = EventBus(record_history=True), [True]
    audit, run = AuditLog(tmp_path / "audit.db"), Run()

    def interrupt(event: Any) -> None:
        if once:
            once.pop()
            raise KeyboardInterrupt

    bus.subscribe(EventType.TOOL_CALL_END, interrupt)
    executor = ToolExecutor([paying([], is_async=False)], bus, audit=audit, approve=lambda r: False)

    with pytest.raises(KeyboardInterrupt):
        executor.perform(PAY, run)

    entries = audit.entries()
    audit.close()
    assert [record.outcome for record in run.records] == [Outcome.DENIED]
    assert [entry.outcome for entry in entries] == ["denied"]
    ends = [event for event in bus.history if event.event_type is EventType.TOOL_CALL_END]
    assert len(ends) == 1


def test_a_coroutine_that_swallows_everything_does_not_keep_the_process() -> None:
    program = (
        "import asyncio\n"
        "from openjarvis.core.types import ToolCall\n"
        "from openjarvis.execution.executor import ToolExecutor\n"
        "from openjarvis.toolkit.function import tool\n"
        "@tool(timeout_seconds=0.1)\n"
        "async def stubborn() -> str:\n"
        "    while True:\n"
        "        try:\n"
        "            await asyncio.sleep(100)\n"
        "        except BaseException:\n"
        "            pass\n"
        "print(ToolExecutor([stubborn]).execute(ToolCall('1', 'stubborn', '{}')).content)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )

    assert "timed out after 0.1 s" in done.stdout
    assert done.returncode == 0
