"""The memory that the configuration asks for."""

from pathlib import Path

from openjarvis.config import MemoryConfig, home
from openjarvis.core.errors import ConfigError, nearest
from openjarvis.core.registry import MemoryRegistry
from openjarvis.memory.base import Embedder, MemoryBackend

_EMBEDDERS = ("openai", "ollama")


def open_memory(settings: MemoryConfig) -> MemoryBackend:
    """Return the configured memory, open.

    Raises:
        ConfigError: when the configuration names what there is not.
        MemoryFailed: when the memory cannot be opened.
    """
    if settings.backend == "sqlite":
        memory: MemoryBackend = MemoryRegistry.create(
            "sqlite", sqlite_path(settings), embedder=_embedder(settings)
        )
    elif settings.backend == "postgres":
        if not settings.dsn:
            raise ConfigError("[memory] backend = 'postgres' needs a `dsn`.")
        memory = MemoryRegistry.create("postgres", settings.dsn, embedder=_embedder(settings))
    elif MemoryRegistry.contains(settings.backend):
        memory = MemoryRegistry.create(settings.backend)
    else:
        raise _unknown("backend", settings.backend, MemoryRegistry.keys())
    return memory


def is_started(settings: MemoryConfig) -> bool:
    """Tell whether there may be something to find: False while the file is yet to be made."""
    return settings.backend != "sqlite" or sqlite_path(settings).exists()


def sqlite_path(settings: MemoryConfig) -> Path:
    """Return where the memory's file is, for the backend that has one."""
    return Path(settings.path).expanduser() if settings.path else home() / "memory.db"


def _embedder(settings: MemoryConfig) -> Embedder | None:
    if not settings.embedder:
        return None
    # The client behind them is loaded only for those who use one.
    from openjarvis.memory.embedders import ollama_embedder, openai_embedder

    named = {"model": settings.embedding_model} if settings.embedding_model else {}
    if settings.embedder == "openai":
        return openai_embedder(**named, base_url=settings.embedding_url or None)
    if settings.embedder == "ollama":
        host = {"host": settings.embedding_url} if settings.embedding_url else {}
        return ollama_embedder(**named, **host)
    raise _unknown("embedder", settings.embedder, _EMBEDDERS)


def _unknown(key: str, value: str, known: tuple[str, ...]) -> ConfigError:
    near = nearest(value, known)
    hint = f"did you mean {near!r}? " if near else ""
    return ConfigError(f"[memory] {key} = {value!r}: {hint}There are {', '.join(known)}.")
