import logging
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import psycopg
import pytest

from memory.judged import DOCUMENTS, QUERIES
from openjarvis.memory import Document, MemoryFailed, postgres_entries
from openjarvis.memory.postgres import PostgresMemory
from openjarvis.memory.sqlite import SQLiteMemory


@pytest.fixture
def memory(postgres_dsn: str) -> Iterator[PostgresMemory]:
    with PostgresMemory(postgres_dsn) as memory:
        yield memory


def cut_connections(dsn: str) -> None:
    """End every other connection to the server, as a restart would."""
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


def test_both_databases_rank_alike(memory: PostgresMemory) -> None:
    documents = [Document(text, name) for name, text in DOCUMENTS.items()]
    memory.store_many(documents)
    with SQLiteMemory(":memory:") as other:
        other.store_many(documents)

        for query, _ in QUERIES:
            ours = [(one.source, round(one.score, 6)) for one in memory.retrieve(query)]
            theirs = [(one.source, round(one.score, 6)) for one in other.retrieve(query)]
            assert ours == theirs


def test_a_lost_connection_is_made_again(memory: PostgresMemory, postgres_dsn: str) -> None:
    memory.store("tea")
    cut_connections(postgres_dsn)

    assert len(memory.retrieve("tea")) == 1
    cut_connections(postgres_dsn)
    memory.store("more tea")
    cut_connections(postgres_dsn)
    memory.replace_file("/a", "1", [Document("file tea")])

    assert memory.count() == 3


def test_a_connection_lost_in_the_middle_stores_nothing_twice(
    memory: PostgresMemory, postgres_dsn: str
) -> None:
    insert = postgres_entries.insert
    attempts: list[int] = []

    def lose_the_first(connection: psycopg.Connection, *rest: object) -> None:
        insert(connection, *rest)  # type: ignore[arg-type]
        attempts.append(1)
        if len(attempts) == 1:
            connection.commit()
            cut_connections(postgres_dsn)
            connection.execute("SELECT 1")

    with patch.object(postgres_entries, "insert", lose_the_first):
        key = memory.store("tea")

    assert len(attempts) == 2
    assert [found.id for found in memory.retrieve("tea")] == [key]
    assert memory.count() == 1


def test_a_database_that_stays_away_is_told_without_the_password(
    postgres_dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    for dsn in (
        "host=127.0.0.1 port=1 password=hunter2 user=u",
        "postgresql://u:hunter2@127.0.0.1:1/x",
        "hunter2 nonsense = = ",
    ):
        with pytest.raises(MemoryFailed) as caught:
            PostgresMemory(dsn)
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    assert "hunter2" not in caplog.text


def test_what_the_server_refuses_is_told(memory: PostgresMemory, postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("DROP TABLE openjarvis_vectors, openjarvis_documents")

    with pytest.raises(MemoryFailed, match=r"refused: .*does not exist"):
        memory.store("tea")


def test_many_may_make_the_tables_at_once(postgres_dsn: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        memories = list(pool.map(PostgresMemory, [postgres_dsn] * 6))

    for memory in memories:
        memory.store("tea")
    assert memories[0].count() == 6
    for memory in memories:
        memory.close()


def test_several_writers_of_one_file_leave_the_chunks_of_one(
    postgres_dsn: str, memory: PostgresMemory
) -> None:
    def write(number: int) -> None:
        documents = [Document(f"tea {number} {part}") for part in range(3)]
        memory.replace_file("/a", str(number), documents)
        memory.forget_file("/b")
        memory.replace_file("/b", str(number), documents)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))

    assert memory.count() == 6
    assert len({found.content.split()[1] for found in memory.retrieve("tea", top_k=50)}) <= 2


def test_terms_of_an_older_segmenter_are_made_anew(
    memory: PostgresMemory, postgres_dsn: str
) -> None:
    memory.store_many([Document(f"ชาเขียว {number}") for number in range(3)])
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("UPDATE openjarvis_documents SET terms = '{}', length = 0")
        connection.execute("UPDATE openjarvis_state SET segmenter = '0.1.0.0'")

    with patch.object(postgres_entries, "_BATCH", 2), PostgresMemory(postgres_dsn) as again:
        assert len(again.retrieve("เขียว")) == 3


def test_a_memory_of_a_newer_version_is_refused(memory: PostgresMemory, postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("UPDATE openjarvis_state SET version = 99")

    with pytest.raises(MemoryFailed, match="newer version"):
        PostgresMemory(postgres_dsn)


def test_words_are_found_by_an_index(memory: PostgresMemory, postgres_dsn: str) -> None:
    memory.store_many([Document(f"word{number} tea") for number in range(3000)])
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("ANALYZE openjarvis_documents")
        plan = connection.execute(
            "EXPLAIN SELECT id FROM openjarvis_documents WHERE terms ?| '{word7,word8}'"
        ).fetchall()

    assert any("openjarvis_documents_terms" in line for (line,) in plan)


def test_a_long_text_counts_every_word(memory: PostgresMemory) -> None:
    memory.store("tea " * 20_000 + "cup")
    memory.store("cup " + "tea " * 300)

    assert memory.retrieve("tea")[0].content.startswith("tea")
    assert len(memory.retrieve("cup")) == 2


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)

    with pytest.raises(MemoryFailed, match=r"openjarvis\[postgres\]"):
        PostgresMemory("host=nowhere")


logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
