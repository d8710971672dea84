import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openjarvis.sandbox import workplace
from openjarvis.sandbox.workplace import Workplace


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    workplace._remove_forgotten.cache_clear()


def test_it_is_new_and_only_its_owner_may_enter(temporary: Path) -> None:
    folder = Path(Workplace().path)

    assert folder.parent == temporary
    assert folder.stat().st_mode & 0o777 == 0o700


def test_what_an_owner_that_was_killed_left_behind_is_removed_by_the_next(temporary: Path) -> None:
    forgetful = (
        "import os, tempfile; from openjarvis.sandbox.workplace import Workplace; "
        f"tempfile.tempdir = {str(temporary)!r}; place = Workplace(); "
        "os.makedirs(place.path + '/deep/er'); print(place.path, flush=True); "
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", forgetful], capture_output=True, text=True)
    left = Path(done.stdout.strip())
    assert left.is_dir()

    mine = Workplace()

    assert not left.exists()
    assert Path(mine.path).is_dir()


def test_one_that_is_in_use_stays(temporary: Path) -> None:
    in_use = Workplace()
    workplace._remove_forgotten.cache_clear()

    Workplace()

    assert Path(in_use.path).is_dir()


def test_folders_and_links_of_others_stay(temporary: Path) -> None:
    (temporary / "kept").mkdir()
    (temporary / "openjarvis-link").symlink_to(temporary / "kept")
    (temporary / "openjarvis-file").touch()

    Workplace()

    assert {path.name for path in temporary.iterdir()} >= {
        "kept",
        "openjarvis-link",
        "openjarvis-file",
    }


def test_removing_takes_all_but_follows_no_link(temporary: Path) -> None:
    (temporary / "kept").mkdir()
    (temporary / "kept" / "file").touch()
    place = Workplace()
    (Path(place.path) / "a" / "b").mkdir(parents=True)
    (Path(place.path) / "a" / "link").symlink_to(temporary / "kept")
    (Path(place.path) / "a" / "b").chmod(0)

    place.remove()
    place.remove()

    assert [path.name for path in temporary.iterdir()] == ["kept"]
    assert (temporary / "kept" / "file").exists()


@pytest.mark.parametrize(
    ("bytes_written", "files", "is_over"),
    [(0, 0, False), (100_000, 3, False), (400_000, 3, True), (1, 20, True)],
)
def test_it_counts_bytes_and_files(bytes_written: int, files: int, is_over: bool) -> None:
    place = Workplace()
    Path(place.path, "deep").mkdir()
    Path(place.path, "link").symlink_to("/")
    for number in range(files):
        Path(place.path, "deep", str(number)).write_bytes(b"x" * bytes_written)

    assert place.is_over(most_bytes=1_000_000, most_entries=15) is is_over
