import os
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


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def dig(folder: str, *, depth: int, mode: int = 0o700) -> None:
    """Make folders within folders, as a program can that changes into each."""
    current = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=current)
        inner = os.open("d", os.O_RDONLY, dir_fd=current)
        os.fchmod(current, mode)
        os.close(current)
        current = inner
    os.close(current)


@pytest.mark.parametrize("mode", [0o700, 0o300, 0])
def test_folders_deeper_than_any_path_are_removed(temporary: Path, mode: int) -> None:
    place = Workplace()
    dig(place.path, depth=3000, mode=mode)

    place.remove()

    assert list(temporary.iterdir()) == []


def test_forgotten_ones_never_stop_the_next(temporary: Path) -> None:
    forgotten = temporary / "openjarvis-forgotten"
    forgotten.mkdir()
    dig(str(forgotten), depth=3000)
    workplace._remove_forgotten.cache_clear()
    descriptors = open_descriptors()

    place = Workplace()

    assert not forgotten.exists()
    place.remove()
    assert open_descriptors() == descriptors


def test_one_that_cannot_be_removed_never_stops_the_next(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary / "openjarvis-forgotten").mkdir()

    def refuse(path: Path) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(Path, "rmdir", refuse)

    assert Path(Workplace().path).is_dir()


def test_folders_deeper_than_a_program_needs_are_over() -> None:
    place = Workplace()
    dig(place.path, depth=30)
    assert not place.is_over(most_bytes=1 << 30, most_entries=10_000)

    dig(place.path + "/d" * 30, depth=3000)

    assert place.is_over(most_bytes=1 << 30, most_entries=10_000)
    place.remove()


@pytest.mark.skipif(os.getuid() == 0, reason="nothing is closed to root")
def test_a_folder_that_is_closed_to_us_is_over() -> None:
    place = Workplace()
    Path(place.path, "closed").mkdir(mode=0o300)

    assert place.is_over(most_bytes=1 << 30, most_entries=10_000)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows them")
def test_a_file_that_was_removed_and_is_still_open_counts(temporary: Path) -> None:
    place = Workplace()
    with Path(place.path, "file").open("wb") as file:
        file.write(bytes(1 << 20))
        file.flush()
        Path(place.path, "file").unlink()
        again = os.dup(file.fileno())

        assert place.is_over(most_bytes=1 << 19, most_entries=10, pid=os.getpid())
        assert not place.is_over(most_bytes=3 << 19, most_entries=100, pid=os.getpid())
        assert not place.is_over(most_bytes=1 << 19, most_entries=10)
        os.close(again)
