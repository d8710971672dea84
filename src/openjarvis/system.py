"""The parts of a system wired together once: configuration, engine, tools, agents, audit trail."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openjarvis.agents
import openjarvis.tools  # noqa: F401 - announces the built-in tools to the registry
from openjarvis.agents.base import BaseAgent
from openjarvis.agents.fitting import accepted, with_own_tools
from openjarvis.config import JarvisConfig, home
from openjarvis.core.errors import ConfigError, nearest, unknown_name
from openjarvis.core.events import EventBus
from openjarvis.core.extras import how_to_install
from openjarvis.core.registry import AgentRegistry, ToolRegistry
from openjarvis.engine import discovery
from openjarvis.engine.base import InferenceEngine
from openjarvis.execution.approval import Approver
from openjarvis.execution.executor import ToolExecutor
from openjarvis.llm.defaults import choose_model, engine_settings
from openjarvis.mcp.servers import SEPARATOR, Server, configured_servers
from openjarvis.toolkit.services import Deferred, Services
from openjarvis.toolkit.toolset import ToolSet
from openjarvis.tools import catalog
from openjarvis.tools.catalog import Chosen, UnknownToolError

# The services are loaded when one is first used: together they cost a program 60 ms.
if TYPE_CHECKING:
    from openjarvis.channels.directory import Channels
    from openjarvis.dropins.loader import LoadReport
    from openjarvis.execution.audit import AuditLog
    from openjarvis.memory.base import MemoryBackend, RetrievalResult
    from openjarvis.scheduler.book import TaskBook

_RECALLED = 3  # texts of the memory that go with a question


class UnknownAgentError(ValueError):
    """A name that no agent has; the text names the nearest and all there are."""


class UnknownModeError(ValueError):
    """A mode that an agent does not have; the text names the nearest and all there are."""


def get_engine(
    config: JarvisConfig, key: str | None = None, model: str | None = None
) -> tuple[str, InferenceEngine] | None:
    """Return the engine of this key, else the configured, else the first ready, with its key.

    None when the one that was named is not there.
    """
    return discovery.get_engine(engine_settings(config), key, model)


class System:
    """What an `ask` runs on. Made once; any thread may use it, `close` ends it.

    `allowed_dirs` are the folders that file tools may read, beside those configured; `tool_dirs`
    more folders with dropped-in tools.
    """

    def __init__(
        self,
        config: JarvisConfig,
        engine: Any,
        *,
        engine_key: str = "",
        model: str = "",
        bus: EventBus | None = None,
        allowed_dirs: Iterable[str | Path] = (),
        tool_dirs: Sequence[str | Path] = (),
    ) -> None:
        self.config = config
        self.engine = engine
        self.engine_key = engine_key or str(getattr(engine, "engine_id", ""))
        self.model = choose_model(engine, model or config.engine.model)
        self.bus = bus or EventBus()
        self._allowed_dirs = tuple(allowed_dirs)
        self._tool_dirs = tuple(tool_dirs)

    @cached_property
    def dropped_in(self) -> "LoadReport":
        """The dropped-in tools, and the problems of those that cannot be used."""
        return load_tool_folders(self.config, self._tool_dirs)

    @cached_property
    def memory(self) -> "MemoryBackend":
        """The memory; it is opened when it is first used."""
        from openjarvis.memory.lazy import LazyMemory
        from openjarvis.memory.opening import open_memory

        return LazyMemory(lambda: open_memory(self.config.memory))

    def recall(self, query: str) -> "list[RetrievalResult]":
        """Return what the memory has on `query`; nothing while nothing was ever stored."""
        from openjarvis.memory.opening import is_started

        if not is_started(self.config.memory):
            return []
        return self.memory.retrieve(query, top_k=_RECALLED)

    @cached_property
    def services(self) -> Services:
        """What tools may need."""
        return Services(
            engine=self.engine,
            model=self.model,
            memory=self.memory,
            allowed_dirs=[
                Path.cwd(),
                *(Path(folder).expanduser() for folder in self.config.tools.allowed_dirs),
                *(Path(folder) for folder in self._allowed_dirs),
            ],
            scheduler=Deferred(lambda: self.task_book),
            config=self.config,
            mcp=Deferred(lambda: self.mcp) if self.mcp_servers else None,
            channel=self.channels if self.config.channels else None,
        )

    @cached_property
    def mcp_servers(self) -> dict[str, Server]:
        """The MCP servers that are configured, by name.

        Raises:
            ConfigError: when one cannot be read, or two share a name.
        """
        return configured_servers(self.config.mcp)

    @cached_property
    def mcp(self) -> Any:
        """The configured MCP servers, as an `openjarvis.mcp.pool.ServerPool`.

        Raises:
            ConfigError: when the SDK is not installed.
        """
        return make_pool(self.mcp_servers, engine=self.engine, model=self.model)

    @cached_property
    def channels(self) -> "Channels":
        """The configured channels, as one."""
        from openjarvis.channels.directory import Channels

        return Channels(self.config.channels)

    @cached_property
    def task_book(self) -> "TaskBook":
        """The scheduled tasks; whoever runs them is another part, or another process.

        Raises:
            ConfigError: when their database cannot be opened.
        """
        from openjarvis.scheduler.book import TaskBook
        from openjarvis.scheduling import open_store

        return TaskBook(open_store(self.config))

    @cached_property
    def audit(self) -> "AuditLog | None":
        """The audit trail, None when it is switched off.

        Raises:
            ConfigError: when it cannot be opened.
        """
        return open_audit(self.config) if self.config.audit.enabled else None

    def tools(self, chosen: Iterable[Chosen]) -> ToolSet:
        """Return the chosen tools, built.

        Raises:
            UnknownToolError: when a name is no tool's.
            ToolDefinitionError: when two tools share a name, or a tool cannot be made.
            ConfigError: when a tool's section cannot be used, or a tool is to come from a file and
                a folder that was named cannot be read.
        """
        wanted = self._with_mcp(list(chosen))
        named = [entry for entry in wanted if isinstance(entry, str)]
        if all(map(ToolRegistry.contains, named)):  # files are run only when they are needed
            return catalog.build(wanted, self.services)
        report = self.dropped_in
        if report.refused:
            raise ConfigError("; ".join(map(str, report.refused)))
        try:
            return catalog.build(
                wanted, self.services, {tool.spec.name: tool for tool in report.tools}
            )
        except UnknownToolError as error:
            self._tell_near_server(named, error)
            if not report.remarks:
                raise
            raise UnknownToolError(
                f"{error} Some tool files are not usable; 'jarvis tools list' shows why."
            ) from error

    def _tell_near_server(self, named: Iterable[str], error: UnknownToolError) -> None:
        """Raise what helps more than `error`, where a server's name was misspelled."""
        for name in named:
            server, separator, tool = name.partition(SEPARATOR)
            near = nearest(server, list(self.mcp_servers)) if separator else None
            if near and f"{name!r}" in str(error):
                raise UnknownToolError(
                    f"Unknown tool {name!r}. Did you mean '{near}{SEPARATOR}{tool}'? "
                    "'jarvis mcp list' shows the tools of MCP servers."
                ) from error

    def _with_mcp(self, wanted: list[Chosen]) -> list[Chosen]:
        """Return the choice with the names of MCP servers' tools replaced by those tools."""
        named = [one for one in wanted if isinstance(one, str) and self._is_of_server(one)]
        if not named:
            return wanted
        own = [one for one in wanted if one not in named]
        return [*own, *self.mcp.tools(named)]

    def _is_of_server(self, name: str) -> bool:
        server, separator, _ = name.partition(SEPARATOR)
        return bool(separator) and server in self.mcp_servers and not ToolRegistry.contains(name)

    def executor(
        self, chosen: Iterable[Chosen], approve: Approver | None = None, *, audited: bool = False
    ) -> ToolExecutor:
        """Return an executor of the chosen tools, as configured.

        Its calls are audited where there are tools, or `audited` says that some will be added.
        """
        tools, settings = self.tools(chosen), self.config.tools
        return ToolExecutor(
            tools,
            self.bus,
            approve=approve,
            default_timeout=settings.default_timeout_seconds,
            max_result_chars=settings.max_result_chars,
            mask_errors=settings.mask_errors,
            audit=self.audit if audited or len(tools) else None,
        )

    def agent(
        self,
        key: str,
        *,
        tools: Iterable[Chosen] = (),
        model: str | None = None,
        approve: Approver | None = None,
        **options: Any,
    ) -> BaseAgent:
        """Return an agent of this key, over the chosen tools.

        Raises:
            UnknownAgentError: when there is no such agent.
            UnknownModeError: when it is given a `mode` that it does not have.
            ConfigError: when the configured mode is none.
        """
        kind = agent_class(key)
        settings, section = self.config.agent, getattr(kind, "settings", "")
        if options.get("mode") is None:
            options["mode"] = configured_mode(self.config, kind)
        else:
            check_mode(key, options["mode"])
        defaults = {
            "max_turns": settings.max_turns,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "system_prompt": settings.system_prompt,
            **(vars(getattr(self.config, section)) if section else {}),
        }
        wanted = {name: value for name, value in options.items() if value is not None}
        made: BaseAgent = kind(
            self.engine,
            model or self.model,
            tools=self.executor(with_own_tools(tools, kind), approve, audited=bool(section)),
            bus=self.bus,
            **accepted(kind, {**defaults, **wanted}),
        )
        return made

    def close(self) -> None:
        """Close what was opened."""
        if "services" in self.__dict__:
            for tool in list(self.services.to_close):
                tool.close()
        if isinstance(self.engine, InferenceEngine):
            self.engine.close()
        if "memory" in self.__dict__:
            self.memory.close()
        if "audit" in self.__dict__ and self.audit is not None:
            self.audit.close()
        for opened in ("mcp", "channels"):
            if opened in self.__dict__:
                self.__dict__[opened].close()
        if "task_book" in self.__dict__:
            self.task_book.store.close()


def load_tool_folders(config: JarvisConfig, more: Sequence[str | Path] = ()) -> "LoadReport":
    """Return the dropped-in tools of `more`, then the configured, then the usual folders."""
    from openjarvis.dropins.loader import load_folders

    taken = {name: f"the built-in tool {name!r}" for name in ToolRegistry.keys()}  # noqa: SIM118
    usual = (Path("agent") / "tools", home() / "tools")
    return load_folders([*more, *config.tools.directories], config.raw, taken, optional=usual)


def make_pool(servers: dict[str, Server], **options: Any) -> Any:
    """Return the pool of `servers`; the options are those of `ServerPool`.

    Raises:
        ConfigError: when the SDK is not installed.
    """
    try:
        # The SDK is an extra, and takes a second to load: only where a server is configured.
        from openjarvis.mcp.pool import ServerPool
    except ImportError as error:
        raise ConfigError(f"MCP servers need the extra `mcp`: {how_to_install('mcp')}.") from error
    return ServerPool(servers, home() / "mcp", **options)


def open_audit(config: JarvisConfig) -> "AuditLog":
    """Return the audit trail.

    Raises:
        ConfigError: when it cannot be opened.
    """
    import sqlite3

    from openjarvis.execution.audit import AuditLog

    path = Path(config.audit.path).expanduser() if config.audit.path else home() / "audit.db"
    try:
        return AuditLog(path)
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(
            f"The audit trail {path} cannot be opened: {error}. Set `path` in [audit], or "
            "`enabled = false` to run without a record."
        ) from error


def agent_class(key: str) -> type[BaseAgent]:
    """Return the agent of this key.

    Raises:
        UnknownAgentError: when there is none; the text names the nearest.
    """
    if not AgentRegistry.contains(key):
        raise UnknownAgentError(unknown_name("agent", key, AgentRegistry.keys()))
    kind: type[BaseAgent] = AgentRegistry.get(key)
    return kind


def default_agent(
    *, tools: Sequence[Chosen] = (), document: str | Path | None = None, mode: str | None = None
) -> str:
    """Return the key of the agent that answers where none is named."""
    if document:
        return "rlm"
    return "orchestrator" if tools or mode else "simple"


def check_mode(key: str, mode: str) -> None:
    """Refuse a mode that the agent of this key does not have.

    Raises:
        UnknownModeError: when it has none of this name; the text names the nearest.
        UnknownAgentError: when there is no such agent.
    """
    modes = getattr(agent_class(key), "modes", ())
    if not modes:
        raise UnknownModeError(f"The agent {key!r} has no modes; the orchestrator has.")
    if mode not in modes:
        raise UnknownModeError(unknown_name("mode", mode, modes))


def configured_mode(config: JarvisConfig, kind: type[BaseAgent]) -> str | None:
    """Return the mode that is configured, None where there is none or the agent has no modes.

    Raises:
        ConfigError: when the agent has others.
    """
    mode, modes = config.agent.mode, getattr(kind, "modes", ())
    if not mode or not modes:
        return None
    if mode not in modes:
        raise ConfigError(f"{unknown_name('mode', mode, modes)} It is the `mode` in [agent].")
    return mode
