"""The road that every call takes, stop by stop, for every spelling and both drivers."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openjarvis.core.cancellation import ended_when_cancelled
from openjarvis.core.errors import ToolDefinitionError, ToolError
from openjarvis.core.events import EventBus, EventType
from openjarvis.core.types import ToolCall, ToolResult
from openjarvis.execution.audit import AuditLog
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.record import CallRecord, Detail, Outcome
from openjarvis.execution.trip import Performed, Run
from openjarvis.toolkit.base import BaseTool, ToolSpec
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.function import tool
from openjarvis.toolkit.provider import ProviderTool
from openjarvis.toolkit.toolset import ToolSet
from spellings import SPELLINGS, async_function, spec_class, typed_function

Perform = Callable[[ToolExecutor, ToolCall], Performed]


def sync_driver(executor: ToolExecutor, call: ToolCall) -> Performed:
    return executor.perform(call, Run())


def async_driver(executor: ToolExecutor, call: ToolCall) -> Performed:
    return asyncio.run(executor.aperform(call, Run()))


both_drivers = pytest.mark.parametrize("perform", [sync_driver, async_driver])
all_spellings = pytest.mark.parametrize("spelling", SPELLINGS)


def call(name: str = "work", arguments: str = '{"number": 3}', call_id: str = "c1") -> ToolCall:
    return ToolCall(call_id, name, arguments)


# Run and answer.


@both_drivers
@all_spellings
def test_a_call_runs_and_is_answered_and_recorded(spelling: Any, perform: Perform) -> None:
    executor = ToolExecutor([spelling(lambda number: number * 2)])

    result, record = perform(executor, call())

    assert (result.tool_name, result.content, result.success) == ("work", "6", True)
    assert result.latency_seconds > 0
    assert record.call_id == "c1"
    assert record.name == "work"
    assert record.input == '{"number": 3}'
    assert record.arguments == {"number": 3}
    assert record.output == "6"
    assert (record.outcome, record.detail) == (Outcome.RAN, None)
    assert record.latency_seconds == result.latency_seconds
    assert record.started_at is not None
    assert record.started_at.utcoffset() is not None


@both_drivers
@all_spellings
def test_wrong_arguments_never_reach_the_tool(spelling: Any, perform: Perform) -> None:
    ran: list[int] = []
    executor = ToolExecutor([spelling(ran.append)])

    result, record = perform(executor, call(arguments='{"number": "many"}'))

    assert ran == []
    assert "'number' must be an integer, got string \"many\"" in result.content
    assert (record.outcome, record.detail) == (Outcome.FAILED, Detail.INVALID_ARGUMENTS)


@both_drivers
@all_spellings
def test_a_denied_call_never_reaches_the_tool(spelling: Any, perform: Perform) -> None:
    ran: list[int] = []
    executor = ToolExecutor([spelling(ran.append)], approve=lambda request: False)

    result, record = perform(executor, call())

    assert ran == []
    assert "denied" in result.content
    assert record.outcome is Outcome.DENIED


class OddError(BaseException):
    """Not even an Exception."""


@both_drivers
@all_spellings
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("The shop is closed; try tomorrow."), "The shop is closed; try tomorrow."),
        (ValueError("no such row"), "ValueError: no such row"),
        (SystemExit(3), "SystemExit: 3"),
        (OddError("odd"), "OddError: odd"),
        (KeyError(), "KeyError"),
        (StopIteration("x"), None),
        (RecursionError("deep"), "RecursionError: deep"),
        (TimeoutError("slow"), "TimeoutError: slow"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_whatever_a_tool_raises_becomes_a_result(
    spelling: Any, perform: Perform, error: BaseException, text: str | None
) -> None:
    def body(number: int) -> None:
        raise error

    executor = ToolExecutor([spelling(body)])

    result, record = perform(executor, call())

    assert not result.success
    assert (record.outcome, record.detail) in [
        (Outcome.FAILED, Detail.RAISED),
        (Outcome.FAILED, None),  # a drop-in tells failure in its result
    ]
    if text is not None:
        assert text in result.content


@both_drivers
def test_an_exception_that_cannot_even_be_printed_becomes_a_result(perform: Perform) -> None:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def body(number: int) -> None:
        raise Unprintable

    result = perform(ToolExecutor([typed_function(body)]), call()).result

    assert result.content == "Unprintable"


@both_drivers
def test_a_tool_that_cancels_itself_is_a_failure_of_its_own(perform: Perform) -> None:
    def body(number: int) -> None:
        raise asyncio.CancelledError

    result, record = perform(ToolExecutor([async_function(body)]), call())

    assert not result.success
    assert record.detail is Detail.RAISED


@both_drivers
@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", "text"),
        ({"ok": True, "ชื่อ": "แมว"}, '{"ok": true, "ชื่อ": "แมว"}'),
        ([1, 2], "[1, 2]"),
        (None, "null"),
        (1.5, "1.5"),
        (ToolResult("other", "own", metadata={"a": 1}), "own"),
        ("bad \ud800 end", "bad ? end"),
    ],
    ids=str,
)
def test_what_a_tool_returns_reaches_the_model_as_text(
    perform: Perform, value: Any, content: str
) -> None:
    executor = ToolExecutor([typed_function(lambda number: value)])

    result, record = perform(executor, call())

    assert result.content == content
    assert record.output == content
    assert result.tool_name == "work"


@both_drivers
def test_a_result_that_json_cannot_hold_is_a_failure_in_words(perform: Perform) -> None:
    executor = ToolExecutor([typed_function(lambda number: object())])

    result, record = perform(executor, call())

    assert "returned object, which JSON cannot hold" in result.content
    assert record.outcome is Outcome.FAILED


@both_drivers
def test_a_tool_that_says_it_failed_is_recorded_as_failed(perform: Perform) -> None:
    executor = ToolExecutor(
        [typed_function(lambda number: ToolResult("work", "no", success=False))]
    )

    result, record = perform(executor, call())

    assert (result.content, result.success) == ("no", False)
    assert (record.outcome, record.detail) == (Outcome.FAILED, None)


@both_drivers
def test_usage_cost_and_metadata_of_a_result_are_kept(perform: Perform) -> None:
    own = ToolResult("x", "y", usage={"total_tokens": 3}, cost_usd=0.2, metadata={"k": "v"})
    executor = ToolExecutor([typed_function(lambda number: own)])

    result = perform(executor, call()).result

    assert (result.usage, result.cost_usd, result.metadata) == (
        {"total_tokens": 3},
        0.2,
        {"k": "v"},
    )
    assert own.latency_seconds == 0.0


# Find.


@both_drivers
@pytest.mark.parametrize(
    "name", ["wrok", "", "x" * 10_000, "work\nwork", "WORK", "work ", "\ud800", "../work"]
)
def test_a_near_name_is_named_and_never_run_in_its_place(perform: Perform, name: str) -> None:
    ran: list[int] = []
    executor = ToolExecutor([typed_function(ran.append)])

    result, record = perform(executor, call(name))

    assert ran == []
    assert result.content.startswith("Unknown tool '")
    assert "Available: work." in result.content
    assert len(result.content) < 300
    assert "\n" not in result.content
    assert record.outcome is Outcome.UNKNOWN_TOOL
    assert record.name == name


def test_the_nearest_name_is_offered() -> None:
    executor = ToolExecutor([typed_function(str)])

    assert "Did you mean 'work'?" in executor.execute(call("wrok")).content


def test_without_tools_the_answer_says_so() -> None:
    assert ToolExecutor([]).execute(call("x")).content == "Unknown tool 'x'. Available: none."


def test_a_tool_of_the_provider_is_not_run_here() -> None:
    executor = ToolExecutor([ProviderTool("search", "google.google_search")])

    result = executor.execute(call("search", "{}"))

    assert "is run by the provider (google.google_search)" in result.content
    assert executor.available_tools() == []
    assert executor.get_openai_tools() == []


def test_two_tools_of_one_name_are_refused_naming_both() -> None:
    with pytest.raises(ToolDefinitionError, match=r"Two tools are named 'work': .* and .*Work"):
        ToolExecutor([typed_function(str), spec_class(str)])


def test_parameters_that_are_no_schema_are_refused_when_the_executor_is_made() -> None:
    class Wrong(BaseTool):
        tool_id = "wrong"
        spec = ToolSpec("wrong", "", {"type": "nope"})

        def execute(self, **params: Any) -> ToolResult:
            raise AssertionError

    with pytest.raises(ToolDefinitionError, match="wrong: its parameters are no JSON Schema"):
        ToolExecutor([Wrong()])


def test_a_schema_that_refers_to_the_network_is_refused_and_nothing_is_fetched() -> None:
    class Fetching(BaseTool):
        tool_id = "fetching"
        spec = ToolSpec("fetching", "", {"$ref": "http://127.0.0.1:9/schema"})

        def execute(self, **params: Any) -> ToolResult:
            raise AssertionError

    with pytest.raises(ToolDefinitionError, match="nothing is fetched"):
        ToolExecutor([Fetching()])


@both_drivers
@pytest.mark.parametrize("name", [None, 5, ["work"], {"a": 1}, b"work"])
@pytest.mark.parametrize("arguments", [None, 5, {"number": 3}, b"{}"])
def test_what_is_not_even_text_is_answered_too(
    perform: Perform,
    name: Any,
    arguments: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("AI_LOG_PROMPT", "1")
    audit = AuditLog(tmp_path / "audit.db")
    executor = ToolExecutor([typed_function(str)], EventBus(), audit=audit)

    unknown = perform(executor, ToolCall(None, name, arguments))  # type: ignore[arg-type]
    unread = perform(executor, ToolCall("1", "work", arguments))
    audit.close()

    assert unknown.record.outcome is Outcome.UNKNOWN_TOOL
    assert unread.record.detail is Detail.INVALID_ARGUMENTS
    assert unread.record.input == str(arguments)


def test_an_executor_keeps_no_records_of_its_own() -> None:
    import gc

    executor = ToolExecutor([typed_function(str, metadata={"repeatable": True})])

    for _ in range(10):
        executor.execute(call(call_id="unkept"))
    gc.collect()

    # Not isinstance: it would ask hostile objects of other tests for their class.
    records = [kept for kept in gc.get_objects() if type(kept) is CallRecord]
    assert "unkept" not in {record.call_id for record in records}


# Check.


def test_a_tool_that_changes_its_arguments_does_not_change_the_record() -> None:
    class Mutating(BaseTool):
        tool_id = "mutating"
        spec = ToolSpec("mutating", "", {"type": "object"})

        def execute(self, **params: Any) -> ToolResult:
            params["rows"].append({"x": 1})
            params["rows"][0]["x"] = 99
            return ToolResult("mutating", "done")

    record = (
        ToolExecutor([Mutating()]).perform(call("mutating", '{"rows": [{"x": 0}]}'), Run()).record
    )

    assert record.arguments == {"rows": [{"x": 0}]}


@pytest.mark.parametrize("name", ["self", "function", "params", "cls", "call"])
def test_pythons_own_names_cannot_be_reached_by_an_argument(name: str) -> None:
    class Open(BaseTool):
        tool_id = "open"
        spec = ToolSpec("open", "", {"type": "object"})

        def execute(self, **params: Any) -> ToolResult:
            return ToolResult("open", type(self).__name__)

    result = ToolExecutor([Open()]).execute(call("open", f'{{"{name}": "evil"}}'))

    assert result.content == "Open" or not result.success


# Guard.


@both_drivers
def test_the_fourth_identical_call_with_an_identical_result_is_not_run(perform: Perform) -> None:
    ran: list[int] = []
    executor = ToolExecutor([typed_function(lambda number: ran.append(number) or "same")])
    run = Run()

    results = [executor.perform(call(call_id=str(n)), run) for n in range(5)]

    assert len(ran) == 3
    assert [done.record.detail for done in results[3:]] == [Detail.REPEATED] * 2
    assert "was called 3 times with these arguments" in results[3].result.content
    assert len(run.records) == 5


def test_another_argument_another_result_or_another_run_is_no_repetition() -> None:
    counter = iter(range(100))
    changing = ToolExecutor([typed_function(lambda number: next(counter))])
    fixed = ToolExecutor([typed_function(lambda number: "same")])
    run = Run()

    assert all(changing.perform(call(), run).result.success for _ in range(6))
    assert all(
        fixed.perform(call(arguments=f'{{"number": {n}}}'), run).result.success for n in range(6)
    )
    assert all(fixed.perform(call(), Run()).result.success for _ in range(6))


def test_the_order_of_arguments_makes_no_other_call() -> None:
    @tool
    def pair(a: int, b: int) -> str:
        return "same"

    executor, run = ToolExecutor([pair]), Run()
    texts = ['{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a": 1,"b": 2}', '{"b":2,"a":1}']

    outcomes = [executor.perform(call("pair", text), run).record.detail for text in texts]

    assert outcomes == [None, None, None, Detail.REPEATED]


def test_a_poller_may_repeat_itself() -> None:
    executor = ToolExecutor([typed_function(lambda number: "same", metadata={"repeatable": True})])
    run = Run()

    assert all(executor.perform(call(), run).result.success for _ in range(10))


def test_calls_without_a_run_share_the_executors() -> None:
    executor = ToolExecutor([typed_function(lambda number: "same")])

    answers = [executor.execute(call()).success for _ in range(4)]

    assert answers == [True, True, True, False]


# Deadline.


@both_drivers
def test_a_sync_tool_past_its_deadline_is_answered_promptly_and_told_to_be_running(
    perform: Perform,
) -> None:
    bus = EventBus(record_history=True)
    release = threading.Event()
    executor = ToolExecutor(
        [typed_function(lambda number: release.wait(60), timeout_seconds=0.05)], bus
    )

    began = time.monotonic()
    result, record = perform(executor, call())
    took = time.monotonic() - began
    release.set()

    assert took < 5
    assert result.content == (
        "work timed out after 0.05 s; it could not be stopped and is still running."
    )
    assert (record.outcome, record.detail) == (Outcome.FAILED, Detail.TIMED_OUT)
    timeouts = [event for event in bus.history if event.event_type is EventType.TOOL_TIMEOUT]
    assert [event.data for event in timeouts] == [{"tool": "work", "timeout": 0.05}]


@both_drivers
def test_an_async_tool_past_its_deadline_is_stopped(perform: Perform) -> None:
    stopped = threading.Event()

    @tool("work", "", timeout_seconds=0.05)
    async def work(number: int) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    result, record = perform(ToolExecutor([work]), call())

    assert result.content == "work timed out after 0.05 s."
    assert record.detail is Detail.TIMED_OUT
    assert stopped.wait(5)


@both_drivers
def test_an_async_tool_that_ignores_its_cancellation_is_left(perform: Perform) -> None:
    @tool("work", "", timeout_seconds=0.05)
    async def work(number: int) -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    began = time.monotonic()
    result = perform(ToolExecutor([work]), call()).result

    assert "timed out after 0.05 s" in result.content
    assert time.monotonic() - began < 5


def test_an_async_tool_that_blocks_its_loop_holds_up_no_other() -> None:
    release = threading.Event()

    @tool("blocks", "", timeout_seconds=0.05)
    async def blocks() -> None:
        release.wait(60)

    @tool("quick", "")
    async def quick() -> str:
        await asyncio.sleep(0)
        return "quick"

    executor = ToolExecutor([blocks, quick])

    hung = executor.execute(call("blocks", "{}"))
    after = executor.execute(call("quick", "{}"))
    release.set()

    assert "timed out" in hung.content
    assert after.content == "quick"


def test_a_tool_without_a_time_of_its_own_gets_the_executors() -> None:
    release = threading.Event()
    executor = ToolExecutor(
        [typed_function(lambda number: release.wait(60), timeout_seconds=0)], default_timeout=0.05
    )

    result = executor.execute(call())
    release.set()

    assert "timed out after 0.05 s" in result.content


def test_hanging_calls_use_up_no_capacity_but_that_of_their_own_tool() -> None:
    release = threading.Event()

    @tool("hang", "", timeout_seconds=0.02)
    def hang(n: int) -> None:
        release.wait(60)

    @tool("quick", "")
    def quick(n: int) -> str:
        return "quick"

    executor = ToolExecutor([hang, quick])

    hung = executor.execute_all([call("hang", f'{{"n": {n}}}', str(n)) for n in range(8)])
    refused = executor.execute(call("hang", '{"n": 99}'))
    quick_ones = executor.execute_all([call("quick", f'{{"n": {n}}}') for n in range(50)])
    release.set()

    assert all("timed out" in result.content for result in hung)
    assert "8 earlier calls of hang timed out and are still running" in refused.content
    assert all(result.content == "quick" for result in quick_ones)


def test_a_hanging_tool_does_not_delay_the_end_of_the_process() -> None:
    import subprocess

    program = (
        "import time\n"
        "from openjarvis.core.types import ToolCall\n"
        "from openjarvis.execution.executor import ToolExecutor\n"
        "from openjarvis.toolkit.function import tool\n"
        "@tool(timeout_seconds=0.05)\n"
        "def hang() -> None: time.sleep(600)\n"
        "@tool(timeout_seconds=0.05)\n"
        "async def ahang() -> None: time.sleep(600)\n"
        "executor = ToolExecutor([hang, ahang])\n"
        "print(executor.execute(ToolCall('1', 'hang', '{}')).content)\n"
        "print(executor.execute(ToolCall('1', 'ahang', '{}')).content)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "PYTHONWARNINGS": ""},
    )

    assert done.stdout.count("timed out after 0.05 s") == 2
    assert done.returncode == 0


def test_a_tools_own_time_out_stays_its_own() -> None:
    @tool("work", "")
    async def work(number: int) -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(60)
        except TimeoutError:
            return "own"
        return "none"

    result = asyncio.run(ToolExecutor([work]).aexecute(call()))

    assert result.content == "own"


# Interruption.


def test_a_cancelled_call_passes_the_cancellation_on_and_is_recorded() -> None:
    async def scenario() -> tuple[list[CallRecord], list[str]]:
        started, log, run = asyncio.Event(), [], Run()

        @tool("work", "")
        async def work(number: int) -> None:
            started.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                log.append("cancelled")
                raise

        task = asyncio.create_task(ToolExecutor([work]).aperform(call(), run))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return run.records, log

    records, log = asyncio.run(scenario())

    assert log == ["cancelled"]
    assert [(record.outcome, record.detail) for record in records] == [
        (Outcome.FAILED, Detail.INTERRUPTED)
    ]


def test_ctrl_c_passes_through_and_what_had_ended_is_kept() -> None:
    import _thread

    quick_ended = threading.Event()

    @tool("quick", "")
    def quick() -> str:
        quick_ended.set()
        return "quick"

    @tool("slow", "")
    def slow() -> None:
        quick_ended.wait(30)
        _thread.interrupt_main()
        threading.Event().wait(0.5)

    executor, run = ToolExecutor([slow, quick]), Run()

    with pytest.raises(KeyboardInterrupt):
        executor.perform_all([call("slow", "{}", "a"), call("quick", "{}", "b")], run)

    assert {record.call_id: record.detail for record in run.records} == {
        "a": Detail.INTERRUPTED,
        "b": None,
    }


# Limit.


@both_drivers
def test_a_long_result_keeps_head_and_tail_with_a_note_of_what_was_cut(perform: Perform) -> None:
    text = "head " + "x" * 100_000 + " tail"
    executor = ToolExecutor([typed_function(lambda number: text)], max_result_chars=1_000)

    result, record = perform(executor, call())

    assert len(result.content) <= 1_000
    assert result.content.startswith("head ")
    assert result.content.endswith(" tail")
    assert "of 100,010 characters cut" in result.content
    assert record.output == result.content


def test_a_hundred_megabytes_are_cut_too() -> None:
    executor = ToolExecutor([typed_function(lambda number: "x" * 100_000_000)])

    assert len(executor.execute(call()).content) <= 32_000


# Record: events.


@pytest.mark.parametrize(
    ("made", "outcome", "success"),
    [
        (call(), "ran", True),
        (call("nope"), "unknown_tool", False),
        (call(arguments="{"), "failed", False),
        (call(arguments="{}"), "failed", False),
    ],
)
@both_drivers
def test_every_requested_call_emits_a_start_and_an_end(
    perform: Perform, made: ToolCall, outcome: str, success: bool
) -> None:
    bus = EventBus(record_history=True)

    result = perform(ToolExecutor([typed_function(str)], bus), made).result

    start, end = bus.history
    assert (start.event_type, end.event_type) == (
        EventType.TOOL_CALL_START,
        EventType.TOOL_CALL_END,
    )
    assert start.data.keys() == {"tool", "arguments", "agent"}
    assert end.data == {
        "tool": made.name,
        "success": success,
        "latency": result.latency_seconds,
        "result": result.content,
        "metadata": result.metadata,
        "agent": "",
        "outcome": outcome,
    }


def test_a_subscriber_that_raises_stops_neither_the_call_nor_the_others() -> None:
    bus, heard = EventBus(), []

    def broken(event: Any) -> None:
        raise RuntimeError("subscriber")

    bus.subscribe(EventType.TOOL_CALL_END, broken)
    bus.subscribe(EventType.TOOL_CALL_END, heard.append)

    result = ToolExecutor([typed_function(str)], bus).execute(call())

    assert result.content == "3"
    assert len(heard) == 1


# Parallel.


@pytest.mark.parametrize("spelling", [typed_function, async_function])
def test_calls_of_one_turn_run_at_the_same_time_and_answer_in_their_order(spelling: Any) -> None:
    everyone = threading.Barrier(5, timeout=30)

    @tool("work", "")
    def sync_work(number: int) -> int:
        everyone.wait()
        return number

    calls = [call(arguments=f'{{"number": {n}}}', call_id=str(n)) for n in range(5)]
    executor = ToolExecutor([sync_work])

    assert [result.content for result in executor.execute_all(calls)] == list("01234")
    everyone.reset()
    results = asyncio.run(executor.aexecute_all(calls))
    assert [result.content for result in results] == list("01234")


def test_async_calls_of_one_turn_run_at_the_same_time() -> None:
    async def scenario() -> list[ToolResult]:
        barrier = asyncio.Barrier(5)

        @tool("work", "")
        async def work(number: int) -> int:
            await barrier.wait()
            return number

        calls = [call(arguments=f'{{"number": {n}}}', call_id=str(n)) for n in range(5)]
        return await ToolExecutor([work]).aexecute_all(calls)

    assert [result.content for result in asyncio.run(scenario())] == list("01234")


@both_drivers
def test_one_failure_loses_no_siblings_result(perform: Perform) -> None:
    def body(number: int) -> int:
        if number == 1:
            raise SystemExit(1)
        return number

    executor = ToolExecutor([typed_function(body)])
    calls = [call(arguments=f'{{"number": {n}}}', call_id=str(n)) for n in range(3)]

    results = executor.execute_all(calls)

    assert [result.success for result in results] == [True, False, True]
    assert asyncio.run(executor.aexecute_all(calls))[2].content == "2"


@pytest.mark.parametrize("most_allowed", [1, 3])
@pytest.mark.parametrize("driver", ["sync", "async"])
def test_no_more_run_at_the_same_time_than_allowed(most_allowed: int, driver: str) -> None:
    running, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(most_allowed, timeout=30)

    @tool("work", "")
    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()
        with lock:
            running -= 1
        return number

    executor = ToolExecutor([work], max_parallel=most_allowed)
    calls = [call(arguments=f'{{"number": {n}}}') for n in range(9)]

    if driver == "sync":
        results = executor.execute_all(calls)
    else:
        results = asyncio.run(executor.aexecute_all(calls))

    assert most <= most_allowed
    assert [result.content for result in results] == list("012345678")


def test_many_threads_may_share_one_executor() -> None:
    executor = ToolExecutor([typed_function(lambda number: number, metadata={"repeatable": True})])
    wrong: list[str] = []

    def caller(number: int) -> None:
        for _ in range(50):
            content = executor.execute(call(arguments=f'{{"number": {number}}}')).content
            if content != str(number):
                wrong.append(content)

    threads = [threading.Thread(target=caller, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


# Context.


@both_drivers
def test_a_tool_may_know_its_call(perform: Perform) -> None:
    seen: list[ToolContext] = []
    heard: list[tuple[str, str]] = []
    bus = EventBus()

    @tool
    def work(number: int, context: ToolContext) -> str:
        seen.append(context)
        context.progress("half way")
        return str(number)

    executor = ToolExecutor([work], bus)
    run = Run(
        context={"user": "nok"}, on_progress=lambda call_id, text: heard.append((call_id, text))
    )

    first = executor.perform(call(), run)
    executor.perform(call(), run)

    assert first.result.content == "3"
    assert "context" not in executor.available_tools()[0].parameters["properties"]
    assert (seen[0].call_id, seen[0].context, seen[0].bus) == ("c1", {"user": "nok"}, bus)
    assert heard == [("c1", "half way")] * 2
    assert seen[0].idempotency_key == seen[1].idempotency_key != ""


def test_a_context_variable_of_the_caller_reaches_the_tool() -> None:
    import contextvars

    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="none")
    executor = ToolExecutor([typed_function(lambda number: tenant.get())])
    tenant.set("acme")

    assert executor.execute(call()).content == "acme"
    assert asyncio.run(executor.aexecute(call())).content == "acme"


# Definitions.


def test_the_definitions_are_those_of_the_tools_in_their_order() -> None:
    @tool("other", "Another.")
    def other() -> None: ...

    executor = ToolExecutor(ToolSet([typed_function(str), other]))

    assert [spec.name for spec in executor.available_tools()] == ["work", "other"]
    assert executor.get_openai_tools()[1] == {
        "type": "function",
        "function": {
            "name": "other",
            "description": "Another.",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        },
    }


def test_an_executor_of_other_tools_keeps_the_settings_and_nothing_else() -> None:
    @tool
    def first() -> str:
        """Be the first."""
        return "x" * 500

    @tool
    def second() -> str:
        """Be the second."""
        return "y" * 500

    before = ToolExecutor([first], approve=lambda request: True, max_result_chars=100)

    after = before.having([second])

    assert [kept.spec.name for kept in after.tools] == ["second"]
    assert [kept.spec.name for kept in before.tools] == ["first"]
    assert "characters cut" in after.execute(ToolCall("1", "second", "")).content
    assert "Available: second." in after.execute(ToolCall("2", "first", "")).content
    assert "Available: first." in before.execute(ToolCall("3", "second", "")).content


def in_a_loop(executor: ToolExecutor, call: ToolCall) -> ToolResult:
    return asyncio.run(executor.aexecute(call))


@pytest.mark.parametrize("run", [ToolExecutor.execute, in_a_loop])
def test_what_a_late_tool_holds_is_ended_and_it_does_not_run_on(run: Any) -> None:
    @tool(timeout_seconds=0.2)
    def hold() -> str:
        """Wait for the end."""
        released = threading.Event()
        with ended_when_cancelled(released.set):
            released.wait(60)
        return "released"

    executor = ToolExecutor([hold])

    results = [run(executor, ToolCall("1", "hold", "{}")) for _ in range(2)]

    assert {result.content for result in results} == {"hold timed out after 0.2 s."}
    assert not any(result.metadata["still_running"] for result in results)
