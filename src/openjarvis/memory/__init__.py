"""Memory: texts kept in a database and found again by their words, in every script."""

from openjarvis.memory.base import (
    Document,
    Embedder,
    MemoryBackend,
    MemoryFailed,
    RetrievalResult,
)

__all__ = ["Document", "Embedder", "MemoryBackend", "MemoryFailed", "RetrievalResult"]
