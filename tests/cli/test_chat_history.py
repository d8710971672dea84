import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from openjarvis.cli.chat_history import History

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "chat_history"


def test_what_was_typed_is_there_for_the_next_chat(path: Path) -> None:
    first = History(path)
    first.keep("one")
    first.keep("สอง")
    first.keep("สอง")
    first.keep(" ")

    assert History(path).lines() == ["one", "สอง"]


def test_two_chats_at_once_both_keep_theirs(path: Path) -> None:
    one, other = History(path), History(path)
    one.keep("from one")
    other.keep("from the other")
    one.keep("from one again")

    assert History(path).lines() == ["from one", "from the other", "from one again"]


@needs_posix
def test_only_its_owner_can_read_it(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("before\n")
    path.chmod(0o644)

    History(path).keep("after")

    assert path.read_text() == "before\nafter\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@needs_posix
def test_a_link_is_neither_read_nor_written(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    victim = path.parent.parent / "victim"
    victim.write_text("precious\n")
    victim.chmod(0o644)
    path.parent.mkdir()
    path.symlink_to(victim)
    history = History(path)

    assert history.lines() == []
    history.keep("one")
    history.keep("two")

    assert victim.read_text() == "precious\n"
    assert stat.S_IMODE(victim.stat().st_mode) == 0o644
    assert capsys.readouterr().err == f"The history could not be kept in {path}: a link.\n"


@needs_posix
def test_a_fifo_holds_nobody_up(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    history = History(path)

    assert history.lines() == []
    history.keep("one")

    assert os.read(reader, 1) == b""
    os.close(reader)
    assert "not a regular file" in capsys.readouterr().err


def test_a_home_that_is_a_file_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").touch()
    history = History(tmp_path / "home" / "chat_history")

    assert history.lines() == []
    history.keep("one")
    history.keep("two")

    said = capsys.readouterr().err
    assert said.count("The history could not be kept") == 1
    assert os.strerror(errno.EEXIST) in said or os.strerror(errno.ENOTDIR) in said


@pytest.mark.parametrize("line", [b"a" * 40 + b"\n", b"\xff\xfe\x00\x1b[2J\n", b"x" * 500 + b"\n"])
def test_a_long_history_is_shortened(path: Path, line: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(line * 30_000 + b"the last\n")

    lines = History(path).lines()

    assert len(lines) <= 1_000
    assert lines[-1] == "the last"
    assert History(path).lines() == lines
    assert path.stat().st_size < 1 << 20


def test_a_line_without_end_does_not_fill_the_memory(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"a" * (8 << 20))

    assert sum(map(len, History(path).lines())) <= 1 << 20
