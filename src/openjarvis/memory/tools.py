"""The tools with which a model keeps, finds and gathers what is to be remembered."""

from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field

from openjarvis.core.errors import ToolError
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.memory.base import MemoryFailed, RetrievalResult, numbered
from openjarvis.memory.chunking import CHUNK_OVERLAP, CHUNK_SIZE
from openjarvis.memory.ingest import Summary, index
from openjarvis.safety.paths import AllowedDirs, Confined, confine
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool

Query = Annotated[str, "Words that stand in what is looked for, in its language"]
TopK = Annotated[int, Field(ge=1, le=100, description="How many results at most")]

_MOST_NOTES = 10


class _MemoryTool(TypedTool):
    """A tool over a memory."""

    category = "storage"
    open_world = False

    def __init__(self, backend: Any = None) -> None:
        """Work on `backend`, anything with a memory's methods."""
        self._backend = backend

    @classmethod
    def build(cls, services: Services) -> Self:
        return cls(services.memory)

    @property
    def _memory(self) -> Any:
        if self._backend is None:
            raise ToolError("No memory backend is configured; set [memory] in the configuration.")
        return self._backend


@ToolRegistry.register("memory_store")
class MemoryStoreTool(_MemoryTool):
    """Keep a text in the long-term memory, beyond this conversation.

    Call it when the user asks to remember or note something, or tells a lasting fact or preference.
    """

    name = "memory_store"
    destructive = False
    required = ("content",)
    examples = (
        ("Remember that my cat is called Miso", {"content": "The user's cat is called Miso."}),
        "Note down that the meeting moved to Friday",
    )

    def run(
        self,
        content: Annotated[str, "What to remember, understandable without this conversation"] = "",
        source: Annotated[str, "Where it comes from, e.g. a file, an address, a person"] = "",
        metadata: Annotated[dict[str, Any] | None, "More that is known of it"] = None,
    ) -> ToolResult:
        if not content.strip():
            raise ToolError("No content: say what to remember.")
        memory = self._memory
        try:
            key = memory.store(content, source=source, metadata=metadata)
        except MemoryFailed as error:
            raise ToolError(str(error)) from error
        return ToolResult(self.name, f"Stored as {key}.", metadata={"doc_id": key})


class _SearchTool(_MemoryTool):
    """A tool that tells what the memory has on a query."""

    read_only = True
    idempotent = True
    required = ("query",)

    def run(self, query: Query = "", top_k: TopK = 5) -> ToolResult:
        if not query.strip():
            raise ToolError("No query: say what to look for.")
        memory = self._memory
        try:
            found = memory.retrieve(query, top_k=top_k)
        except MemoryFailed as error:
            raise ToolError(str(error)) from error
        content = self._told(found) if found else "No results."
        return ToolResult(self.name, content, metadata={"num_results": len(found)})

    @abstractmethod
    def _told(self, found: list[RetrievalResult]) -> str:
        """Return what the model reads of the results."""


@ToolRegistry.register("memory_retrieve")
class MemoryRetrieveTool(_SearchTool):
    """Get the texts of the long-term memory that fit a query, each with its score.

    Call it before answering what the user may have told or stored earlier.
    """

    name = "memory_retrieve"
    examples = (
        ("What is my cat called?", {"query": "cat called"}),
        "What did I tell you about the meeting?",
    )

    def _told(self, found: list[RetrievalResult]) -> str:
        return "\n---\n".join(f"[{result.score:.2f}] {result.content}" for result in found)


@ToolRegistry.register("memory_search")
class MemorySearchTool(_SearchTool):
    """Search the long-term memory and the indexed files; the results are numbered, with sources.

    Call it when the user wants to know where something stands, or asks for a source.
    """

    name = "memory_search"
    examples = (
        ("Which of my notes mention the invoice?", {"query": "invoice"}),
        "Search my documents for the travel policy",
    )

    def _told(self, found: list[RetrievalResult]) -> str:
        return numbered(found)


@ToolRegistry.register("memory_index")
class MemoryIndexTool(_MemoryTool):
    """Read a file, or all files of a folder, into the long-term memory, to be searched there.

    Call it when the user asks to index, learn or take in files or a folder. Files that have not
    changed since are skipped, so it may be called again.
    """

    name = "memory_index"
    timeout_seconds = 600.0
    destructive = False
    idempotent = True
    required = ("path",)
    examples = (
        ("Index the folder docs", {"path": "docs"}),
        ("Take notes.md into your memory", {"path": "notes.md"}),
    )

    def __init__(self, backend: Any = None, allowed_dirs: AllowedDirs = None) -> None:
        """Read below `allowed_dirs` only; None means wherever this process may."""
        super().__init__(backend)
        self._allowed_dirs = allowed_dirs

    @classmethod
    def build(cls, services: Services) -> Self:
        return cls(services.memory, services.allowed_dirs)

    def run(
        self,
        path: Annotated[str, "The file or folder, relative or absolute"] = "",
        chunk_size: Annotated[int, "The most words in a piece"] = CHUNK_SIZE,
        chunk_overlap: Annotated[int, "How many words a piece repeats of the last"] = CHUNK_OVERLAP,
    ) -> ToolResult:
        if not path.strip():
            raise ToolError("No path: name a file or folder.")
        memory, place = self._memory, self._confined(path)
        try:
            summary = index(
                memory,
                place.path,
                within=place.root,
                chunk_size=chunk_size,
                chunk_overlap=chunk_overlap,
            )
        except FileNotFoundError as error:
            raise ToolError(f"The path {path!r} does not exist.") from error
        except (MemoryFailed, ValueError) as error:
            raise ToolError(str(error)) from error
        return ToolResult(self.name, _told(summary), metadata=summary.as_dict())

    def _confined(self, path: str) -> Confined:
        everywhere = [Path(path).anchor or Path.cwd().anchor]
        return confine(path, everywhere if self._allowed_dirs is None else self._allowed_dirs)


def _told(summary: Summary) -> str:
    notes = summary.notes[:_MOST_NOTES]
    more = len(summary.notes) - len(notes)
    return "\n".join([str(summary), *notes, *([f"and {more} more"] if more else [])])
