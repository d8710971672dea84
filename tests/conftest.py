"""What holds for every test: reproducible examples, and a home of its own."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from postgres_server import NoPostgres, PostgresServer, postgres_server

# A shell starts what runs in the background with Ctrl-C ignored, and its children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def _home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path / "openjarvis-home"))
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OLLAMA_HOST",
        "HF_ENDPOINT",
        "HF_TOKEN",
        "OPENJARVIS_CONFIG",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for the whole session; without one its tests are skipped."""
    pytest.importorskip(
        "psycopg", reason="psycopg is not installed (extras 'postgres', 'distributed')"
    )
    try:
        with postgres_server() as server:
            yield server
    except NoPostgres as reason:
        pytest.skip(str(reason))
