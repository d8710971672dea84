"""Memory: texts kept in a database and found again by their words, in every script."""

from openjarvis.core.registry import MemoryRegistry
from openjarvis.memory.base import (
    Document,
    Embedder,
    MemoryBackend,
    MemoryFailed,
    RetrievalResult,
)

for _key, _module, _name in (
    ("sqlite", "openjarvis.memory.sqlite", "SQLiteMemory"),
    ("postgres", "openjarvis.memory.postgres", "PostgresMemory"),
):
    MemoryRegistry.register_lazy(_key, _module, _name)

__all__ = ["Document", "Embedder", "MemoryBackend", "MemoryFailed", "RetrievalResult"]
