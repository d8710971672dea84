"""What holds for every test: reproducible examples, and a home of its own."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def _home_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path / "openjarvis-home"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENJARVIS_CONFIG"):
        monkeypatch.delenv(name, raising=False)
