from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.memory import MemoryFailed, RetrievalResult
from openjarvis.memory.sqlite import SQLiteMemory
from openjarvis.memory.tools import (
    MemoryIndexTool,
    MemoryRetrieveTool,
    MemorySearchTool,
    MemoryStoreTool,
)
from openjarvis.toolkit.services import Services
from openjarvis.tools import catalog
from openjarvis.tools.retrieval import RetrievalTool


@pytest.fixture
def memory() -> Iterator[SQLiteMemory]:
    with SQLiteMemory(":memory:") as memory:
        yield memory


class FixedMemory:
    """Anything with a `retrieve` will do as a memory."""

    def __init__(self, *results: RetrievalResult, error: Exception | None = None) -> None:
        self.results = list(results)
        self.error = error
        self.asked: list[tuple[str, int]] = []

    def retrieve(self, query: str, *, top_k: int = 5) -> list[RetrievalResult]:
        self.asked.append((query, top_k))
        if self.error:
            raise self.error
        return self.results[:top_k]

    def store(self, content: str, *, source: str = "", metadata: object = None) -> str:
        self.retrieve(content)
        return "1"


_TWO = (RetrievalResult("first text", 0.9, "a.md"), RetrievalResult("second text", 0.456, ""))


def test_a_text_is_kept_with_its_source(memory: SQLiteMemory) -> None:
    result = MemoryStoreTool(memory).execute(
        content="My cat is Miso", source="chat", metadata={"turn": 3}
    )

    (found,) = memory.retrieve("cat")
    assert result.success
    assert result.metadata == {"doc_id": found.id}
    assert (found.source, found.metadata) == ("chat", {"turn": 3})


def test_retrieved_texts_carry_their_scores() -> None:
    result = MemoryRetrieveTool(FixedMemory(*_TWO)).execute(query="text")

    assert result.content == "[0.90] first text\n---\n[0.46] second text"
    assert result.metadata == {"num_results": 2}


def test_search_results_are_numbered_with_their_sources() -> None:
    result = MemorySearchTool(FixedMemory(*_TWO)).execute(query="text")

    assert result.content == "1. a.md [0.90]\nfirst text\n\n2. no source [0.46]\nsecond text"


def test_context_is_tagged_with_its_sources() -> None:
    result = RetrievalTool(FixedMemory(*_TWO)).execute(query="text")

    assert result.content == "[Source: a.md] first text\n\n[Source: memory] second text"
    assert result.metadata == {"num_results": 2}


def test_retrieval_asks_for_as_many_as_it_was_made_for() -> None:
    memory = FixedMemory(*_TWO)

    RetrievalTool(memory, top_k=1).execute(query="text")
    RetrievalTool(memory, 3).execute(query="text")
    RetrievalTool(memory).execute(query="text", top_k=7)

    assert [top_k for _, top_k in memory.asked] == [1, 3, 7]


@pytest.mark.parametrize("tool", [MemoryRetrieveTool, MemorySearchTool])
def test_nothing_found_is_a_success_that_says_so(tool: Any) -> None:
    result = tool(FixedMemory()).execute(query="text")

    assert (result.success, result.content) == (True, "No results.")


def test_no_context_found_is_a_success_that_says_so() -> None:
    result = RetrievalTool(FixedMemory()).execute(query="text")

    assert (result.success, result.content) == (True, "No relevant results.")
    assert result.metadata == {"num_results": 0}


@pytest.mark.parametrize(
    ("tool", "params", "says"),
    [
        (RetrievalTool, {}, "No query"),
        (RetrievalTool, {"query": " "}, "No query"),
        (MemoryRetrieveTool, {}, "No query"),
        (MemorySearchTool, {"query": ""}, "No query"),
        (MemoryStoreTool, {}, "No content"),
        (MemoryStoreTool, {"content": "\n"}, "No content"),
        (MemoryIndexTool, {}, "No path"),
        (MemoryIndexTool, {"path": "/nonexistent/folder"}, "does not exist"),
        (MemoryIndexTool, {"path": "a\0b"}, "Access denied"),
        (MemoryIndexTool, {"path": ".", "chunk_size": 0}, "chunk_size must be"),
        (MemoryIndexTool, {"path": ".", "chunk_overlap": -1}, "chunk_overlap 0 or more"),
        (MemoryRetrieveTool, {"query": "x", "top_k": 0}, "top_k"),
        (RetrievalTool, {"query": "x", "top_k": 101}, "top_k"),
    ],
)
def test_what_is_missing_or_wrong_is_told(
    memory: SQLiteMemory, tool: Any, params: dict[str, Any], says: str
) -> None:
    result = tool(memory).execute(**params)

    assert not result.success
    assert says in result.content


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        (RetrievalTool, {"query": "x"}),
        (MemoryRetrieveTool, {"query": "x"}),
        (MemorySearchTool, {"query": "x"}),
        (MemoryStoreTool, {"content": "x"}),
        (MemoryIndexTool, {"path": "."}),
    ],
)
def test_without_a_memory_every_tool_says_so(tool: Any, params: dict[str, Any]) -> None:
    result = tool().execute(**params)

    assert not result.success
    assert "No memory backend" in result.content


def test_what_the_memory_refuses_reaches_the_model_in_its_words() -> None:
    broken = FixedMemory(error=MemoryFailed("The memory cannot be used: the disk is full."))

    for result in (
        MemoryStoreTool(broken).execute(content="x"),
        MemorySearchTool(broken).execute(query="x"),
    ):
        assert (result.success, result.content) == (False, str(broken.error))


def test_an_error_of_anybodys_backend_is_a_retrieval_error() -> None:
    result = RetrievalTool(FixedMemory(error=ValueError("boom"))).execute(query="x")

    assert not result.success
    assert "Retrieval error" in result.content
    assert "boom" in result.content


def test_a_folder_is_indexed_and_told(memory: SQLiteMemory, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("about tea")
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")

    result = MemoryIndexTool(memory).execute(path=str(tmp_path))

    assert result.success
    assert result.content.startswith("Indexed 1 file in 1 chunk; 1 skipped (binary).")
    assert result.metadata["added"] == 1
    assert memory.retrieve("tea")[0].source == str(tmp_path / "a.md")


def test_only_allowed_folders_are_indexed(memory: SQLiteMemory, tmp_path: Path) -> None:
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    for folder in (allowed, outside):
        folder.mkdir()
        (folder / "a.md").write_text("tea")
    (allowed / "link").symlink_to(outside)
    tool = MemoryIndexTool(memory, [allowed])

    assert tool.execute(path=str(allowed)).success
    refused = {
        tool.execute(path=path).content
        for path in (
            str(outside),
            str(outside / "a.md"),
            str(tmp_path / "none"),
            f"{allowed}/../outside",
            str(allowed / "link"),
            "/etc/passwd",
        )
    }
    assert len(refused) == 1  # the same words, whatever is there
    assert "Access denied" in refused.pop()
    assert "does not exist" in tool.execute(path=str(allowed / "none")).content
    assert memory.count() == 1


@pytest.mark.parametrize("path", ["/proc/self/environ", "/dev", "/sys"])
def test_the_systems_own_trees_are_never_indexed(memory: SQLiteMemory, path: str) -> None:
    result = MemoryIndexTool(memory).execute(path=path)

    assert not result.success
    assert memory.count() == 0


def test_a_model_gets_the_schema_with_what_is_required() -> None:
    for tool, required in (
        (RetrievalTool(), "query"),
        (MemoryRetrieveTool(), "query"),
        (MemorySearchTool(), "query"),
        (MemoryStoreTool(), "content"),
        (MemoryIndexTool(), "path"),
    ):
        parameters = tool.to_openai_function()["function"]["parameters"]
        assert parameters["required"] == [required]


def test_categories_and_hints_are_as_documented() -> None:
    assert RetrievalTool().spec.category == "memory"
    for tool in (MemoryStoreTool(), MemoryRetrieveTool(), MemorySearchTool(), MemoryIndexTool()):
        assert tool.spec.category == "storage"
    assert MemorySearchTool().spec.read_only
    assert not MemoryStoreTool().spec.read_only


def test_the_tools_are_built_by_name_over_the_systems_memory(
    memory: SQLiteMemory, tmp_path: Path
) -> None:
    names = ["retrieval", "memory_store", "memory_retrieve", "memory_search", "memory_index"]
    assert all(map(ToolRegistry.contains, names))
    services = Services(memory=memory, allowed_dirs=[tmp_path])
    executor = ToolExecutor(catalog.build(names, services))

    stored = executor.execute(ToolCall("1", "memory_store", '{"content": "tea is green"}'))
    found = executor.execute(ToolCall("2", "retrieval", '{"query": "tea"}'))
    refused = executor.execute(ToolCall("3", "memory_index", '{"path": "/etc"}'))

    assert stored.success
    assert found.content == "[Source: memory] tea is green"
    assert "Access denied" in refused.content
