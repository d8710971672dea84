from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from openjarvis.core.events import reset_event_bus
from openjarvis.memory.base import Embedder
from openjarvis.memory.ranked import RankedMemory
from openjarvis.memory.sqlite import SQLiteMemory
from postgres_server import PostgresServer

_schemas = count(1)

OpenMemory = Callable[..., RankedMemory]


@pytest.fixture
def postgres_dsn(postgres: PostgresServer) -> str:
    """A connection string whose schema is empty."""
    import psycopg

    schema = f"test_{next(_schemas)}"
    with psycopg.connect(postgres.dsn()) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{postgres.dsn()}&options=-csearch_path%3D{schema}"


@pytest.fixture(params=["sqlite", "postgres"])
def open_memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenMemory]:
    """Open the one memory of a test, as often as it likes, on either database."""
    opened: list[RankedMemory] = []

    def open_(embedder: Embedder | None = None) -> RankedMemory:
        memory: RankedMemory
        if request.param == "sqlite":
            memory = SQLiteMemory(tmp_path / "memory.db", embedder=embedder)
        else:
            from openjarvis.memory.postgres import PostgresMemory

            memory = PostgresMemory(dsn, embedder=embedder)
        opened.append(memory)
        return memory

    dsn = request.getfixturevalue("postgres_dsn") if request.param == "postgres" else ""
    yield open_
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory: OpenMemory) -> RankedMemory:
    return open_memory()


@pytest.fixture(autouse=True)
def fresh_bus() -> Iterator[None]:
    yield
    reset_event_bus()
