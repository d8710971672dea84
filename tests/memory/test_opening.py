from pathlib import Path

import pytest

from openjarvis.config import MemoryConfig
from openjarvis.core.errors import ConfigError
from openjarvis.core.registry import MemoryRegistry
from openjarvis.memory import MemoryFailed
from openjarvis.memory.lazy import LazyMemory
from openjarvis.memory.opening import is_started, open_memory
from openjarvis.memory.sqlite import SQLiteMemory


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path))
    return tmp_path


def test_the_default_is_a_file_in_the_users_folder(home: Path) -> None:
    assert not is_started(MemoryConfig())

    with open_memory(MemoryConfig()) as memory:
        memory.store("tea")

    assert (home / "memory.db").exists()
    assert is_started(MemoryConfig())


def test_the_file_may_be_elsewhere(home: Path) -> None:
    settings = MemoryConfig(path=str(home / "other" / "notes.db"))

    open_memory(settings).close()

    assert (home / "other" / "notes.db").exists()


def test_postgres_is_opened_by_its_dsn(postgres_dsn: str) -> None:
    settings = MemoryConfig(backend="postgres", dsn=postgres_dsn)

    with open_memory(settings) as memory:
        memory.store("tea")
        assert memory.backend_id == "postgres"
    assert is_started(settings)
    assert postgres_dsn not in repr(settings)


def test_a_registered_backend_of_ones_own_is_opened() -> None:
    with MemoryRegistry.isolated():
        MemoryRegistry.register_value("mine", lambda: SQLiteMemory(":memory:"))

        with open_memory(MemoryConfig(backend="mine")) as memory:
            assert memory.count() == 0


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (MemoryConfig(backend="sqlit"), "did you mean 'sqlite'"),
        (MemoryConfig(backend="postgres"), "needs a `dsn`"),
        (MemoryConfig(embedder="olama"), "did you mean 'ollama'"),
    ],
)
def test_what_there_is_not_is_an_error_of_the_configuration(
    settings: MemoryConfig, says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        open_memory(settings)


@pytest.mark.parametrize("embedder", ["openai", "ollama"])
def test_an_embedder_that_is_not_there_is_told_in_words(embedder: str) -> None:
    settings = MemoryConfig(
        embedder=embedder, embedding_model="m", embedding_url="http://127.0.0.1:1"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "unused")
        patch.setattr("openjarvis.memory.embedders._RETRIES", 0)
        with open_memory(settings) as memory, pytest.raises(MemoryFailed, match="cannot be reach"):
            memory.store("tea")


def test_openai_without_a_key_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    with pytest.raises(MemoryFailed, match="OPENAI_API_KEY"):
        open_memory(MemoryConfig(embedder="openai"))


def test_a_lazy_memory_is_opened_by_its_first_use() -> None:
    opened: list[SQLiteMemory] = []

    def open_it() -> SQLiteMemory:
        opened.append(SQLiteMemory(":memory:"))
        return opened[-1]

    memory = LazyMemory(open_it)
    memory.close()
    assert opened == []

    key = memory.store("tea", source="a")
    assert memory.retrieve("tea")[0].source == "a"
    assert memory.store_many([]) == []
    assert memory.count() == 1
    assert memory.backend_id == "sqlite"
    assert memory.file_index is opened[0]
    assert memory.delete(key)
    memory.clear()
    memory.close()
    assert len(opened) == 1
    with pytest.raises(MemoryFailed, match="closed"):
        memory.count()
