"""`Jarvis`: the whole system behind one object."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from openjarvis._version import __version__
from openjarvis.agents.base import AgentContext, AgentResult
from openjarvis.config import JarvisConfig, load_config
from openjarvis.core.errors import Unavailable, unknown_name
from openjarvis.core.events import EventBus
from openjarvis.core.types import Conversation as History
from openjarvis.core.types import Message
from openjarvis.core.workers import run_in_worker
from openjarvis.engine.discovery import engine_keys, engine_statuses
from openjarvis.execution.approval import Approver
from openjarvis.execution.record import CallRecord
from openjarvis.llm.defaults import engine_settings
from openjarvis.llm.history import assistant, user
from openjarvis.system import System, agent_class, default_agent, get_engine
from openjarvis.tools.catalog import Chosen

# Loaded when they are first used; see `system`.
if TYPE_CHECKING:
    from openjarvis.memory.base import MemoryBackend
    from openjarvis.scheduler.scheduler import TaskScheduler


class Jarvis:
    """Ask a model, with or without tools.

    ```python
    with Jarvis() as jarvis:
        print(jarvis.ask("What is 15% of 340?", tools=["calculator"]))
    ```

    `config` is a `JarvisConfig` or the path of one; without it the user's configuration is read.
    `engine` is an engine of your own instead of one by key. `allowed_dirs` are folders that tools
    may read beside the working directory, `tool_dirs` folders with dropped-in tools. Any thread may
    use one instance.

    Raises:
        RuntimeError: "No inference engine …" when one was named and is not there.
        ConfigError: when the configuration cannot be used.
    """

    def __init__(
        self,
        config: JarvisConfig | str | Path | None = None,
        engine_key: str | None = None,
        model: str | None = None,
        *,
        engine: Any = None,
        bus: EventBus | None = None,
        allowed_dirs: Iterable[str | Path] = (),
        tool_dirs: Sequence[str | Path] = (),
    ) -> None:
        if config is None or isinstance(config, str | Path):
            config = load_config(config)
        elif not isinstance(config, JarvisConfig):
            raise TypeError(
                f"config={config!r:.80}: expected a JarvisConfig, or the path of a file."
            )
        self.config = config
        key = engine_key or ""
        if engine is None:
            found = get_engine(config, engine_key, model)
            if found is None:
                raise Unavailable(_not_there(config, engine_key or config.engine.default))
            key, engine = found
        self._system = System(
            config,
            engine,
            engine_key=key,
            model=model or "",
            bus=bus,
            allowed_dirs=allowed_dirs,
            tool_dirs=tool_dirs,
        )

    def ask(self, query: str, **options: Any) -> str:
        """Return the answer to `query`; the options are those of `ask_full`."""
        return str(self.ask_full(query, **options)["content"])

    def ask_full(
        self,
        query: str,
        *,
        agent: str | None = None,
        mode: str | None = None,
        tools: Iterable[Chosen] | None = None,
        model: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        max_turns: int | None = None,
        system_prompt: str | None = None,
        context: bool = True,
        approve: Approver | None = None,
        history: AgentContext | Sequence[Message] | None = None,
        document: str | Path = "",
    ) -> dict[str, Any]:
        """Return the answer with what led to it.

        Keys: `content`, `finish_reason` (`length` where it was cut off), `usage`, `cost_usd` (of
        the model's turns; None when a price is not known), `model`, `engine`, `agent`, `turns`,
        `max_turns_exceeded`, `tool_results`, each with `tool_name`, `content`, `success`,
        `outcome`, `detail`, `arguments`, `call_id` and `latency_seconds`, and `messages`: the
        conversation, to be given as `history` with the next question.

        With `tools` or a `mode` and no agent it is the orchestrator. `tools` are names, tools or
        typed functions. `system_prompt` takes the place of the configured one. `context` adds what
        the memory knows of the query, where a memory is configured. `history` is the conversation
        so far. `document` is a long text, or the `Path` of one, for the agent `rlm` (the default
        when there is one).

        Raises:
            TypeError: when an option is of another kind.
            ValueError: when the agent works on no document.
            LLMError: when the model cannot be asked.
            UnknownToolError: when a name is no tool's.
            UnknownAgentError: when there is no such agent.
            UnknownModeError: when it does not have this mode.
        """
        if isinstance(tools, str):
            raise TypeError(f"tools={tools!r}: expected a list of names, e.g. [{tools!r}].")
        chosen = list(tools or ())
        key = agent or default_agent(tools=chosen, document=document, mode=mode)
        if document and not agent_class(key).takes_document:
            raise ValueError(f"The agent {key!r} works on no document; use 'rlm'.")
        made = self._system.agent(
            key,
            mode=mode,
            tools=chosen,
            model=model,
            approve=approve,
            temperature=temperature,
            max_tokens=max_tokens,
            max_turns=max_turns,
            system_prompt=system_prompt,
        )
        given = self._context(query, history, document, recalls=context)
        result = made.run(query, given)
        engine, asked = self._system.engine_key, model or self._system.model
        return {
            **answer_of(result, engine=engine, model=asked),
            "agent": key,
            **turns_of(result),
            "messages": _messages_of(result, [*given.conversation.messages, user(query)]),
        }

    def _context(
        self, query: str, history: Any, document: str | Path, *, recalls: bool
    ) -> AgentContext:
        given = _context_of(history)
        recalled = self._system.recall(query) if recalls else []
        return replace(
            given,
            memory_results=[*given.memory_results, *recalled],
            document=document or given.document,
        )

    async def aask(self, query: str, **options: Any) -> str:
        """Return the answer to `query`, without blocking the event loop."""
        return str((await self.aask_full(query, **options))["content"])

    async def aask_full(self, query: str, **options: Any) -> dict[str, Any]:
        """Return what `ask_full` returns, without blocking the event loop."""
        answer: dict[str, Any] = await run_in_worker(lambda: self.ask_full(query, **options))
        return answer

    def list_models(self) -> list[str]:
        """Return the models of the engine."""
        return [str(model) for model in self._system.engine.list_models()]

    def list_engines(self) -> list[str]:
        """Return the keys of the engines that are ready."""
        statuses = engine_statuses(engine_settings(self.config))
        return [status.key for status in statuses if status.ready]

    @property
    def system(self) -> System:
        """The parts behind this object."""
        return self._system

    @cached_property
    def scheduler(self) -> "TaskScheduler":
        """The scheduled tasks; `scheduler.start()` has this process run them when they are due.

        Raises:
            ConfigError: when their database cannot be opened.
        """
        from openjarvis.scheduling import task_scheduler

        return task_scheduler(self.config, self, self._system.bus)

    @property
    def memory(self) -> "MemoryBackend":
        """The memory: `store` texts, `retrieve` them by their words."""
        return self._system.memory

    @property
    def version(self) -> str:
        """The version of openjarvis."""
        return __version__

    def close(self) -> None:
        """Close connections and files; the object is not used again."""
        if "scheduler" in self.__dict__:
            self.scheduler.stop()
            self.scheduler.store.close()
        self._system.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _not_there(config: JarvisConfig, key: str) -> str:
    known = engine_keys(engine_settings(config))
    if key in known:
        return f"No inference engine {key!r} is ready; 'jarvis engines' shows why."
    return f"No inference engine {key!r} is ready: {unknown_name('engine', key, known)}"


def _context_of(history: Any) -> AgentContext:
    if history is None:
        return AgentContext()
    if isinstance(history, AgentContext):
        return history
    if isinstance(history, list | tuple):
        return AgentContext(conversation=History(list(history)))
    raise TypeError(
        f"history is {type(history).__name__}, expected a list of messages (the `messages` of an "
        "earlier answer) or an AgentContext."
    )


def _messages_of(result: AgentResult, asked: list[Message]) -> list[Message]:
    """Return the conversation; an agent of the user's may keep none."""
    kept = result.metadata.get("messages")
    return list(kept) if kept else [*asked, assistant(result.content)]


def answer_of(result: AgentResult, *, engine: str, model: str) -> dict[str, Any]:
    """Return an agent's answer with what it took; `model` is the one that was asked for."""
    return {
        "content": result.content,
        "finish_reason": result.metadata.get("finish_reason"),
        "usage": result.metadata.get("usage", {}),
        "cost_usd": getattr(result.metadata.get("spending"), "cost_usd", None),
        "model": result.metadata.get("model") or model,
        "engine": engine,
    }


def turns_of(result: AgentResult) -> dict[str, Any]:
    """Return how an agent came to its answer: its turns, and the calls of its tools."""
    records: list[CallRecord | None] = [*result.tool_calls]
    records += [None] * (len(result.tool_results) - len(records))  # an agent without records
    return {
        "turns": result.turns,
        "max_turns_exceeded": bool(result.metadata.get("max_turns_exceeded")),
        "tool_results": [
            {
                "tool_name": done.tool_name,
                "content": done.content,
                "success": done.success,
                "latency_seconds": done.latency_seconds,
                "metadata": done.metadata,
                **_of_record(record),
            }
            for done, record in zip(result.tool_results, records, strict=False)
        ],
    }


def _of_record(record: CallRecord | None) -> dict[str, Any]:
    if record is None:
        return {}
    return {
        "call_id": record.call_id,
        "arguments": record.arguments,
        "outcome": record.outcome.value,
        "detail": record.detail.value if record.detail else None,
        "step": record.step,
    }
