import os
import stat
import sys
from pathlib import Path

import pytest

from openjarvis.safety.opening import NotRegular, new_file, open_to_append

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new"

    with new_file(path) as file:
        file.write("mine \ud800")

    assert path.read_text() == "mine ?"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "file").write_text("before")

    for name in ("link", "file"):
        with pytest.raises(FileExistsError), new_file(tmp_path / name) as file:
            file.write("after")

    assert (tmp_path / "file").read_text() == "before"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("size", [100, 100_000])
def test_a_file_that_cannot_be_written_whole_is_not_left_behind(tmp_path: Path, size: int) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="large"), new_file(tmp_path / "new") as file:
            file.write("x" * size)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert not (tmp_path / "new").exists()


def test_what_is_appended_stands_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for line in (b"one\n", b"two\n"):
        with os.fdopen(open_to_append(path), "ab") as file:
            file.write(line)

    assert path.read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_but_a_regular_file_is_appended_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "fifo")

    with pytest.raises(OSError, match="a link"):
        open_to_append(tmp_path / "link")
    for name in ("fifo", ""):
        with pytest.raises(NotRegular):
            open_to_append(tmp_path / name)

    assert not (tmp_path / "nowhere").exists()
