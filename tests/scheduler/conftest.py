from collections.abc import Iterator
from pathlib import Path

import pytest

from openjarvis.scheduler.store import SchedulerStore
from postgres_server import NoPostgres, PostgresServer, postgres_server
from scheduler.fakes import MakeStore


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for the whole session; without one its tests are skipped."""
    pytest.importorskip("psycopg", reason="psycopg is not installed (extra 'distributed')")
    try:
        with postgres_server() as server:
            yield server
    except NoPostgres as reason:
        pytest.skip(str(reason))


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    """Opens one and the same database, each time anew as another process would."""
    opened: list[SchedulerStore] = []
    if request.param == "postgres":
        from openjarvis.scheduler.postgres import PostgresDatabase

        dsn = request.getfixturevalue("postgres").new_database()

    def open_store() -> SchedulerStore:
        is_sqlite = request.param == "sqlite"
        database = tmp_path / "scheduler.db" if is_sqlite else PostgresDatabase(dsn)
        opened.append(SchedulerStore(database, keep_runs=3))
        return opened[-1]

    yield open_store
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: MakeStore) -> SchedulerStore:
    """A store on either database."""
    return open_store()
