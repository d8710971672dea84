"""`ToolExecutor`: the one road that every call takes.

find → parse → check → guard → approve → run within its deadline → limit → record → answer. Nothing
that a model writes or a tool does raises out of it; every stop answers with a `ToolResult`.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from openjarvis.core import background_loop, workers
from openjarvis.core.background_loop import LoopJob
from openjarvis.core.events import EventBus
from openjarvis.core.types import ToolCall, ToolResult
from openjarvis.execution.approval import (
    NOBODY_TO_ASK,
    Approver,
    asked,
    asked_async,
    confirming,
    is_async,
    timed_out,
)
from openjarvis.execution.deadline import GRACE_SECONDS, TimedOut, WithinDeadline
from openjarvis.execution.departure import Departure
from openjarvis.execution.ending import Ending, Endings, is_interruption
from openjarvis.execution.entry import Entry
from openjarvis.execution.guard import RepeatGuard
from openjarvis.execution.policy import Policy, policy
from openjarvis.execution.record import Detail, Outcome
from openjarvis.execution.registrar import Registrar
from openjarvis.execution.stops import denied, request_of
from openjarvis.execution.trail import AuditTrail
from openjarvis.execution.trip import Performed, Run, Stopped, Trip
from openjarvis.toolkit.base import Tool, ToolSpec
from openjarvis.toolkit.context import ToolContext, unheard
from openjarvis.toolkit.provider import ProviderTool
from openjarvis.toolkit.toolset import AnyTool, ToolSet

BLOCKED_LOOP_SECONDS = 1.0
"""How long the background loop may let a new call wait before it counts as blocked."""


class ToolExecutor:
    """Runs the calls of models. Immutable once made: any thread, any event loop may use it.

    Calls of `execute` share the repeat guard; a loop makes a `Run` for each conversation. `approve`
    decides about every call; without one, tools that require a confirmation are denied, unless
    `interactive` and `confirm_callback(question) -> bool` (or a terminal) can ask.
    `default_timeout` and `approve_timeout` are in seconds. `mask_errors` keeps the text of
    exceptions from the model. `audit` is where calls are recorded for good. At most `max_parallel`
    calls of a turn run at the same time; 1 runs them one after the other.

    Raises:
        ToolDefinitionError: when two tools share a name or one has parameters that are no schema.
    """

    def __init__(
        self,
        tools: Iterable[AnyTool | Callable[..., Any]],
        bus: EventBus | None = None,
        *,
        approve: Approver | None = None,
        interactive: bool = False,
        confirm_callback: Callable[[str], Any] | None = None,
        default_timeout: float = 30.0,
        approve_timeout: float = 600.0,
        max_result_chars: int = 32_000,
        mask_errors: bool = False,
        audit: AuditTrail | None = None,
        max_parallel: int = 32,
    ) -> None:
        self._default_timeout = default_timeout
        self._take(tools)
        self._bus = bus
        self._approve = (
            _asking(confirm_callback, interactive=interactive) if approve is None else approve
        )
        if self._approve is not None and not callable(self._approve):
            raise TypeError(f"approve={approve!r}: expected a callable, e.g. llm.policy(…).")
        self._approve_timeout = approve_timeout
        self._mask_errors = mask_errors
        self._max_parallel = max(1, max_parallel)
        self._registrar = Registrar(bus, audit, max_result_chars)
        self._endings = Endings(self._registrar, mask_errors=mask_errors)
        self._guard = RepeatGuard()

    def having(self, tools: Iterable[AnyTool | Callable[..., Any]]) -> "ToolExecutor":
        """Return an executor of other tools with the settings of this one.

        Raises:
            ToolDefinitionError: as when an executor is made.
        """
        other = copy(self)
        other._take(tools)
        other._guard = RepeatGuard()
        return other

    def _take(self, tools: Iterable[AnyTool | Callable[..., Any]]) -> None:
        chosen = tools if isinstance(tools, ToolSet) else ToolSet(tools)
        self._entries = {
            tool.spec.name: Entry(tool, self._default_timeout)
            for tool in chosen
            if not isinstance(tool, ProviderTool)
        }
        self.provided = [tool for tool in chosen if isinstance(tool, ProviderTool)]
        self._departure = Departure(self._entries, self.provided)

    @property
    def tools(self) -> list[Tool]:
        """The tools that run here, in their order."""
        return [entry.tool for entry in self._entries.values()]

    def available_tools(self) -> list[ToolSpec]:
        """Return the specs of the tools, in their order."""
        return [entry.spec for entry in self._entries.values()]

    def get_openai_tools(self) -> list[dict[str, Any]]:
        """Return the definitions that an OpenAI-compatible model gets."""
        return [entry.definition() for entry in self._entries.values()]

    def execute(self, call: ToolCall) -> ToolResult:
        """Return the result of `call`, whatever became of it."""
        return self.perform(call, self._one_run()).result

    async def aexecute(self, call: ToolCall) -> ToolResult:
        """Return the result of `call`; async tools run in the caller's event loop."""
        return (await self.aperform(call, self._one_run())).result

    def execute_all(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Return the results of `calls`, run in parallel, in the order of the calls."""
        return [done.result for done in self.perform_all(calls, self._one_run())]

    async def aexecute_all(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Return the results of `calls`, run in parallel, in the order of the calls."""
        return [done.result for done in await self.aperform_all(calls, self._one_run())]

    def _one_run(self) -> Run:
        """Return the run of a call that came without one; only the repeat guard is kept."""
        return Run(guard=self._guard)

    def perform(self, call: ToolCall, run: Run) -> Performed:
        """Run one call of `run`."""
        return self.perform_all((call,), run)[0]

    async def aperform(self, call: ToolCall, run: Run) -> Performed:
        """Run one call of `run`; async tools run in the caller's event loop."""
        trip = Trip(call, run)
        try:
            self._depart(trip)
            approver = self._decided_here(trip, may_block=False)
            if approver is not None:
                await self._ask_async(trip, approver)
            ending = await self._run_async(trip)
        except BaseException as error:
            if is_interruption(error):
                self._conclude(trip, self._endings.interrupted(trip))
                raise
            ending = self._endings.of_error(trip, error)
        return self._conclude(trip, ending)

    def perform_all(self, calls: Sequence[ToolCall], run: Run) -> list[Performed]:
        """Run the calls of one turn in parallel; approvals are asked for in the calls' order."""
        begun: list[_Begun] = []
        try:
            for call in calls:
                # It is on the list before it is started: what starts is answered for.
                begun.append(_Begun(Trip(call, run)))
                self._begin(begun[-1])
                if len(begun) >= self._max_parallel:
                    self._finish(begun[-self._max_parallel])
            return [self._finish(one) for one in begun]
        except BaseException:
            for one in begun:
                self._settle(one)
            raise

    async def aperform_all(self, calls: Sequence[ToolCall], run: Run) -> list[Performed]:
        """Run the calls of one turn concurrently."""
        if len(calls) == 1:
            return [await self.aperform(calls[0], run)]
        free = asyncio.Semaphore(self._max_parallel)

        async def perform_when_free(call: ToolCall) -> Performed:
            async with free:
                return await self.aperform(call, run)

        return list(await asyncio.gather(*map(perform_when_free, calls)))

    def _depart(self, trip: Trip) -> None:
        """Take a call through find, parse, check and guard.

        Raises:
            Stopped: at the stop it does not pass.
        """
        try:
            self._departure.read(trip)
        finally:
            self._registrar.announce(trip)
        self._departure.check(trip)

    # Approve.

    def _decided_here(self, trip: Trip, *, may_block: bool) -> Approver | None:
        """Decide by our own rules where they settle it; return the approver that is still to ask.

        A `Policy` that asks on the terminal does so in the calling thread where that `may_block`,
        so that Ctrl-C reaches the question.

        Raises:
            Stopped: when the call is denied.
        """
        approver = self._approver_of(trip)
        if approver is None:
            if trip.entry.spec.requires_confirmation:
                raise denied(trip, NOBODY_TO_ASK)
            return None
        if isinstance(approver, Policy) and (may_block or not approver.asks):
            refusal = asked(approver, request_of(trip))
            if refusal is not None:
                raise denied(trip, refusal)
            return None
        trip.asked_seconds = self._approve_timeout
        return approver

    def _approver_of(self, trip: Trip) -> Approver | None:
        return self._approve if trip.run.approve is None else trip.run.approve

    async def _ask_async(self, trip: Trip, approver: Approver) -> None:
        request = request_of(trip)
        try:
            if is_async(approver):
                answer = asked_async(approver, request)
            else:
                answer = workers.run_in_worker(lambda: asked(approver, request))
            refusal = await WithinDeadline(answer, self._approve_timeout)
        except TimedOut as timeout:
            refusal = timed_out(timeout.seconds)
        if refusal is not None:
            raise denied(trip, refusal)

    # Run.

    def _begin(self, one: "_Begun") -> None:
        """Start a call as far as it goes without waiting."""
        trip = one.trip
        try:
            self._depart(trip)
            approver = self._decided_here(trip, may_block=True)
        except Stopped as stop:
            self._conclude(trip, self._endings.of_error(trip, stop))
            return
        if trip.entry.is_async:
            one.job = LoopJob(lambda: self._work_in_loop(trip, approver))
        else:
            one.job = workers.start(lambda: self._work(trip, approver))

    def _work(self, trip: Trip, approver: Approver | None) -> Ending:
        """Ask, then run the tool, in a worker: one hand-over for both."""
        try:
            if approver is not None:
                refusal = asked(approver, request_of(trip))
                if refusal is not None:
                    raise denied(trip, refusal)
                trip.asked_seconds = None  # only the tool's own time counts from here
            if not trip.start(self._registrar.started):
                return self._endings.interrupted(trip)  # nobody waits for this call any more
            with trip.cancellation:
                return self._endings.of_value(trip, self._invoke(trip))
        except BaseException as error:  # noqa: BLE001 - whatever a tool raises becomes a result
            return self._endings.of_error(trip, error)

    async def _work_in_loop(self, trip: Trip, approver: Approver | None) -> Ending:
        """Ask, then run an async tool, in the background loop."""
        try:
            if approver is not None:
                await self._ask_async(trip, approver)
            return await self._run_async(trip)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and is_interruption(error):
                raise
            return self._endings.of_error(trip, error)

    async def _run_async(self, trip: Trip) -> Ending:
        entry = trip.entry
        trip.asked_seconds = None  # asked already: only the tool's own time counts now
        if entry.is_async:
            if not trip.start(self._registrar.started):
                return self._endings.interrupted(trip)
            with trip.cancellation:
                value = await WithinDeadline(self._invoke(trip), entry.seconds)
            return self._endings.of_value(trip, value)
        job, ended = workers.start_async(lambda: self._work(trip, None))
        try:
            for wait in trip.waits():
                await asyncio.wait({ended}, timeout=wait)
                if job.is_done():
                    break
        except TimedOut as timeout:
            if trip.cancellation.cancel():
                await asyncio.wait({ended}, timeout=GRACE_SECONDS)
            self._leave(trip, job, timeout)
            raise
        ending: Ending = job.result()
        return ending

    def _invoke(self, trip: Trip) -> Any:
        return trip.entry.invoke(trip.keywords, lambda: self._context(trip))

    def _context(self, trip: Trip) -> ToolContext:
        run, call = trip.run, trip.call
        hear = run.on_progress
        return ToolContext(
            call_id=call.id,
            context=run.context,
            bus=self._bus,
            progress=(lambda text: hear(call.id, text)) if hear else unheard,
            idempotency_key=f"{run.run_id}:{call.id}",
            approve=self._approver_of(trip),
        )

    def _finish(self, one: "_Begun") -> Performed:
        """Wait for a begun call and answer it."""
        trip = one.trip
        if trip.performed is None and one.job is not None:
            self._conclude(trip, self._ending(one))
        return self._registrar.complete(trip)

    def _ending(self, one: "_Begun") -> Ending:
        trip, job, slack = one.trip, one.job, 0.0
        if isinstance(job, LoopJob):
            one.job = job = job.moved(BLOCKED_LOOP_SECONDS)
            slack = 2 * GRACE_SECONDS  # it watches its own deadline
        assert job is not None  # noqa: S101 - the caller looked
        try:
            for wait in trip.waits(slack):
                if job.wait(wait):
                    break
        except TimedOut as timeout:
            if trip.cancellation.cancel():
                job.wait(GRACE_SECONDS)
            self._leave(trip, job, timeout)
            return self._endings.of_error(trip, timeout)
        return self._ending_of(trip, job)

    def _ending_of(self, trip: Trip, job: workers.Job | LoopJob) -> Ending:
        try:
            ending: Ending = job.result()
        except BaseException as error:  # noqa: BLE001 - cancelled in its loop, which may be anybody's
            return self._endings.of_error(trip, error)
        return ending

    def _leave(self, trip: Trip, job: workers.Job | LoopJob, timeout: TimedOut) -> None:
        """Turn away from a call that goes on behind its deadline."""
        timeout.is_running = timeout.is_running and not job.is_done()
        if isinstance(job, LoopJob):
            job.cancel()
            background_loop.abandon()
        elif timeout.is_running:
            trip.entry.left_running.append(job)

    def _settle(self, one: "_Begun") -> None:
        """Answer a begun call when the whole is interrupted: with its result where there is one."""
        trip, job = one.trip, one.job
        if trip.performed is not None:
            self._registrar.complete(trip)
        elif job is not None and job.is_done():
            self._conclude(trip, self._ending_of(trip, job))
        else:
            if isinstance(job, LoopJob):
                job.cancel()
            self._conclude(trip, self._endings.interrupted(trip))

    # Limit, record, answer.

    def _conclude(self, trip: Trip, ending: Ending) -> Performed:
        result, outcome, detail = ending
        done = self._registrar.conclude(trip, result, outcome, detail)
        if trip.key is not None and detail is not Detail.REPEATED and outcome is not Outcome.DENIED:
            trip.run.guard.saw(trip.key, done.result.content)
        return done


@dataclass(slots=True)
class _Begun:
    """A call that is under way; it is done when its trip is performed."""

    trip: Trip
    job: workers.Job | LoopJob | None = None


def _asking(callback: Callable[[str], Any] | None, *, interactive: bool) -> Approver | None:
    if not interactive:
        return None
    if callback is not None:
        return confirming(callback)
    return policy(otherwise="ask", only_confirmations=True)
