"""A request to the loop, checked before a token is spent."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Required, TypedDict

from openjarvis.core.errors import ToolDefinitionError, invalid_request
from openjarvis.core.events import EventBus
from openjarvis.core.types import Message, Role
from openjarvis.engine.base import InferenceEngine
from openjarvis.execution.approval import Approver
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.trail import AuditTrail
from openjarvis.execution.trip import Run
from openjarvis.llm.defaults import resolve
from openjarvis.llm.history import sendable
from openjarvis.llm.limits import Limits
from openjarvis.toolkit.base import check_name
from openjarvis.toolkit.provider import ProviderTool
from openjarvis.toolkit.toolset import AnyTool, ToolSet

Tools = Iterable[AnyTool | Callable[..., Any]]


class RequestFields(TypedDict, total=False):
    """The keywords of `generate`, `agenerate`, `stream` and `astream`."""

    messages: Required[Sequence[Message]]
    """The history, oldest first; `llm.user("…")` makes a message."""
    system: str | None
    """The system text."""
    tools: Tools | ToolExecutor
    """Tools, typed functions, a `ToolSet`, or an executor made of them."""
    max_steps: int | None
    """The most model turns there may be; None (the default) for no loop."""
    approve: Approver | None
    """Decides about every call before it runs; see `policy`."""
    engine: Any
    """The engine; the configured one by default."""
    model: str | None
    """The model; the configured one by default."""
    context: Any
    """An object that reaches tools (`ToolContext.context`) and the approver."""
    temperature: float
    """0 to 2; 0.7 by default."""
    max_tokens: int
    """The most tokens of one turn; 1024 by default."""
    max_cost_usd: float | None
    """The most that the run may cost; checked before each turn after the first."""
    max_tokens_total: int | None
    """The most tokens of all turns together; checked before each turn after the first."""
    bus: EventBus | None
    """Where events are published."""
    audit: AuditTrail | None
    """Where calls are recorded for good."""
    on_progress: Callable[[str, str], None] | None
    """Hears `(call_id, text)` of running tools."""
    agent: str
    """The name that events and the audit trail carry."""
    engine_options: Mapping[str, Any]
    """Further keywords for the engine's `generate`, as they are."""


@dataclass(slots=True)
class Request:
    """What the loop works with: everything checked, everything in its place."""

    engine: Any
    model: str
    messages: list[Message]
    system: str
    executor: ToolExecutor
    max_steps: int | None
    run: Run
    options: dict[str, Any] = field(default_factory=dict)
    bus: EventBus | None = None
    limits: Limits = field(default_factory=Limits)


def prepare(
    *,
    messages: Sequence[Message],
    system: str | None = None,
    tools: Tools | ToolExecutor = (),
    max_steps: int | None = None,
    approve: Approver | None = None,
    engine: Any = None,
    model: str | None = None,
    context: Any = None,
    temperature: float = 0.7,
    max_tokens: int = 1024,
    max_cost_usd: float | None = None,
    max_tokens_total: int | None = None,
    bus: EventBus | None = None,
    audit: AuditTrail | None = None,
    on_progress: Callable[[str, str], None] | None = None,
    agent: str = "",
    engine_options: Mapping[str, Any] | None = None,
) -> Request:
    """Return the checked request.

    Raises:
        LLMError: `LLM_INVALID_REQUEST`, saying what is wrong with it.
    """
    history = sendable(messages)
    if not any(message.role is not Role.SYSTEM for message in history):
        raise invalid_request("messages is empty; give at least one, e.g. llm.user('…').")
    _check_numbers(max_steps=max_steps, max_tokens=max_tokens, temperature=temperature)
    executor = _executor(tools, bus, audit)
    if approve is not None and not callable(approve):
        raise invalid_request(f"approve={approve!r}: expected a callable, e.g. llm.policy(…).")
    engine, model = (engine, model or "") if engine is not None else resolve(model)
    if not callable(getattr(engine, "generate", None)):
        raise invalid_request(
            f"engine={engine!r} is no engine: it needs `generate`. By name, engines are chosen in "
            "the configuration, with Jarvis(engine_key=…) or with `jarvis ask --engine`."
        )
    limits = Limits(max_cost_usd, max_tokens_total)
    limits.check(engine, model)
    sent: dict[str, Any] = {
        "model": model,
        "temperature": temperature,
        "max_tokens": max_tokens,
        **(engine_options or {}),
        **_offered(executor, engine),
    }
    if isinstance(engine, InferenceEngine):
        engine.check(sent)
    run = Run(context=context, approve=approve, agent=agent, on_progress=on_progress)
    return Request(
        engine,
        model,
        history,
        system or "",
        executor,
        max_steps,
        run,
        options=sent,
        bus=bus,
        limits=limits,
    )


def _offered(executor: ToolExecutor, engine: Any) -> dict[str, Any]:
    """Return the tools as `engine` is asked with them; nothing where there are none."""
    offered: dict[str, Any] = {}
    definitions = executor.get_openai_tools()
    if definitions:
        offered["tools"] = definitions
        if getattr(engine, "takes_specs", False) is True:
            offered["specs"] = executor.available_tools()
    if executor.provided:
        _refuse_unknown(executor.provided, engine)
        offered["provider_tools"] = executor.provided
    return offered


def _executor(
    tools: Tools | ToolExecutor, bus: EventBus | None, audit: AuditTrail | None
) -> ToolExecutor:
    if isinstance(tools, ToolExecutor):
        return tools
    try:
        chosen = tools if isinstance(tools, ToolSet) else ToolSet(tools)
        for entry in chosen:
            check_name(entry.spec.name, "tools")
        return ToolExecutor(chosen, bus, audit=audit)
    except ToolDefinitionError as error:
        raise invalid_request(str(error)) from error
    except TypeError as error:
        raise invalid_request(f"tools must be a list of tools: {error}.") from error


def _refuse_unknown(provided: Sequence[ProviderTool], engine: Any) -> None:
    known = getattr(engine, "provider_types", ())
    name = getattr(engine, "engine_id", type(engine).__name__)
    for tool in provided:
        if not isinstance(known, frozenset | set | tuple | list) or tool.provider_type not in known:
            raise invalid_request(
                f"The engine {name!r} does not know the provider tool {tool.provider_type!r}; "
                f"it knows {', '.join(sorted(known)) if known else 'none'}."
            )


def _check_numbers(*, max_steps: Any, max_tokens: Any, temperature: Any) -> None:
    if max_steps is not None and (type(max_steps) is not int or max_steps < 1):
        raise invalid_request(
            f"max_steps={max_steps!r}: expected a whole number from 1, or None for no loop."
        )
    if type(max_tokens) is not int or max_tokens < 1:
        raise invalid_request(f"max_tokens={max_tokens!r}: expected a whole number from 1.")
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        raise invalid_request(f"temperature={temperature!r}: expected a number.")
    if not 0 <= temperature <= 2:
        raise invalid_request(f"temperature={temperature!r}: expected 0 to 2.")
