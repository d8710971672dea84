from collections.abc import Iterator
from pathlib import Path

import pytest

from openjarvis.scheduler.store import SchedulerStore
from scheduler.fakes import MakeStore


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
