"""One run of a task: its prompt is put to a system, with nobody there to be asked."""

from collections.abc import Callable, Mapping
from typing import Any

from openjarvis.scheduler.runs import RunOutcome
from openjarvis.scheduler.task import ScheduledTask
from openjarvis.toolkit.typed import failure_text

LONGEST_CALL_TEXT = 2_000
"""How many characters of a tool's answer the record of a run keeps."""

Approver = Callable[[Any], Any]
"""Says of a tool call that is about to run whether it may; see `openjarvis.llm.generate`."""


def deny_confirmations(request: Any) -> bool:
    """Refuse every call that a person would have to confirm: nobody is there to be asked."""
    return not request.spec.requires_confirmation


def perform(task: ScheduledTask, system: Any, *, approve: Approver) -> RunOutcome:
    """Put the task's prompt to `system` and return what came of it; a failure is an outcome too.

    `system` has the SDK's `ask_full`, or an `ask` that takes the prompt, `agent` and `tools`; that
    is also asked where `ask_full` is a stand-in that gives no dict.
    """
    if system is None:
        return RunOutcome(success=False, error="No system was given that could run this task.")
    try:
        return _ask(task, system, approve)
    # Whatever ends a run, its record must say so: tools and engines are foreign code.
    except BaseException as error:  # noqa: BLE001
        return RunOutcome(success=False, error=failure_text(error))


def _ask(task: ScheduledTask, system: Any, approve: Approver) -> RunOutcome:
    request: dict[str, Any] = {"agent": _agent(task), "tools": task.tool_names}
    full = {"context": task.context_mode != "isolated", "approve": approve}
    answer = system.ask_full(task.prompt, **request, **full) if _has_ask_full(system) else None
    if not isinstance(answer, Mapping):
        return RunOutcome(success=True, result=str(system.ask(task.prompt, **request)))
    calls = [_call_record(call) for call in answer.get("tool_results", ())]
    return RunOutcome(success=True, result=str(answer.get("content") or ""), calls=calls)


def _has_ask_full(system: Any) -> bool:
    return callable(getattr(system, "ask_full", None))


def _agent(task: ScheduledTask) -> str:
    # The simple agent, which is what a task has that names none, calls no tools.
    return "orchestrator" if task.tool_names and task.agent == "simple" else task.agent


def _call_record(call: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: call[key] for key in ("call_id", "tool_name", "success", "outcome") if key in call}
    return {**kept, "content": str(call.get("content", ""))[:LONGEST_CALL_TEXT]}
