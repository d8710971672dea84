"""Paths that try to leave the allowed directories, to learn what is outside, or to hang us."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import pytest

from openjarvis.safety import opening
from openjarvis.tools.file_read import FileReadTool

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs links and POSIX files")

SECRET = "the secret"


@pytest.fixture(params=["descending", "comparing"], autouse=True)
def _each_way_of_opening(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "comparing":
        monkeypatch.setattr(opening, "CAN_DESCEND", False)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The allowed directory, which is the working directory, with secrets around it."""
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / "ok.txt").write_text("fine")
    (directory / "sub").mkdir()
    (directory / "sub" / "ok.txt").write_text("fine too")
    for outside in (tmp_path / "data2", tmp_path / "outside", tmp_path / "dat"):
        outside.mkdir()
        (outside / "secret.txt").write_text(SECRET)
        (outside / "ok.txt").write_text(SECRET)
    (tmp_path / "secret.txt").write_text(SECRET)
    monkeypatch.chdir(directory)
    return directory


@pytest.fixture
def denial(data: Path) -> str:
    """What is said of every path outside."""
    result = FileReadTool([data]).execute(path="../data3/none.txt")
    assert result.success is False
    assert result.content.startswith("Access denied")
    assert "data" not in result.content.replace("data3", "")
    return result.content


OUTSIDE = [
    "../secret.txt",
    "../data2/secret.txt",
    "../dat/secret.txt",
    "../data/../data2/secret.txt",
    "sub/../../secret.txt",
    "sub/../../outside/secret.txt",
    "./././../secret.txt",
    "..//secret.txt",
    "../",
    "..",
    "../outside",
    "../outside/",
    "../none",
    "../none/none/none",
    "../secret.txt/none",
    "../.env",
    "../id_rsa",
    "../outside/.env",
    "/",
    "//",
    "/etc/passwd",
    "//etc/passwd",
    "/etc/shadow",
    "/etc/none",
    "/root/.ssh/id_rsa",
    "/proc/self/environ",
    "/proc/self/mem",
    "/proc/self/root/etc/passwd",
    "/proc/self/fd/0",
    "/proc/1/root",
    "/proc/kmsg",
    "/sys/kernel/notes",
    "/dev/zero",
    "/dev/stdin",
    "/dev/tty",
    "/dev/fd/0",
    "~root/.ssh/id_rsa",
    "~/../../etc/passwd",
    "/etc/" + "n" * 300,
    "../" + "n" * 300,
    "../" * 500 + "etc/passwd",
    "/etc/\ud800",
    "/etc/\udc80",
]


@pytest.mark.parametrize("path", [path for path in OUTSIDE if not path.startswith("~root")])
def test_every_path_outside_gets_the_same_words(path: str, data: Path, denial: str) -> None:
    surrogate = "\ud800" in path or "\udc80" in path

    result = FileReadTool([data]).execute(path=path)

    assert result.success is False
    assert result.content == denial or (surrogate and "not JSON values" in result.content)


def test_the_home_of_another_user_is_not_looked_up(data: Path) -> None:
    result = FileReadTool([data]).execute(path="~root/.ssh/config")
    nobody = FileReadTool([data]).execute(path="~nosuchuser/.ssh/config")

    assert result.success is nobody.success is False
    assert result.content == nobody.content


@pytest.mark.parametrize(
    "kind", ["file", "directory", "missing", "unreadable", "fifo", "link", "env"]
)
def test_what_is_outside_cannot_be_told_by_path_or_by_link(
    kind: str, data: Path, tmp_path: Path, denial: str
) -> None:
    names = {"env": ".env"}
    target = tmp_path / "outside" / names.get(kind, f"a_{kind}")
    _make(kind, target)
    (data / "link").symlink_to(target)
    (data / "relative").symlink_to(Path("..") / "outside" / target.name)

    answers = {
        FileReadTool([data]).execute(path=path).content
        for path in (str(target), f"../outside/{target.name}", "link", "relative", "link/x")
    }

    assert answers == {denial}


def _make(kind: str, target: Path) -> None:
    if kind == "directory":
        target.mkdir()
    elif kind == "fifo":
        os.mkfifo(target)
    elif kind == "link":
        target.symlink_to("/etc/passwd")
    elif kind != "missing":
        target.write_text(SECRET)
        target.chmod(0 if kind == "unreadable" else 0o644)


@pytest.mark.parametrize("through", ["secret.txt", "outside", "none", "link"])
def test_a_way_through_the_outside_and_back_tells_nothing_of_it(
    through: str, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("/etc")

    result = FileReadTool([data]).execute(path=f"../{through}/../data/ok.txt")

    assert result.content == "fine"  # `..` is resolved in the text, so nothing outside is looked at


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("file", "../secret.txt"),
        ("file", "/etc/passwd"),
        ("file", "../data2/secret.txt"),
        ("file", "/proc/self/environ"),
        ("file", "hop"),
        ("file", "sub/../../secret.txt"),
        ("directory", ".."),
        ("directory", "/"),
        ("directory", "../outside"),
        ("directory", "sub/../.."),
    ],
)
def test_a_link_out_is_refused(link: str, target: str, data: Path, denial: str) -> None:
    (data / "hop").symlink_to("../outside/secret.txt")
    (data / "link").symlink_to(target)

    path = "link" if link == "file" else "link/secret.txt"

    assert FileReadTool([data]).execute(path=path).content == denial


def test_loops_of_links_end(data: Path) -> None:
    (data / "one").symlink_to("two")
    (data / "two").symlink_to("one")
    (data / "self").symlink_to("self/self")

    for path in ("one", "one/x", "self", "self/x"):
        assert FileReadTool([data]).execute(path=path).success is False


@pytest.mark.parametrize("name", [".env", "server.pem", "id_rsa", "credentials.json", ".netrc"])
def test_sensitive_files_are_refused_by_real_name_whatever_they_are_called(
    name: str, data: Path
) -> None:
    (data / name).write_text(SECRET)
    (data / "innocent.txt").symlink_to(name)
    (data / "chain.txt").symlink_to("innocent.txt")
    (data / "dir").symlink_to("sub")
    (data / "sub" / name).write_text(SECRET)

    for path in (name, name.upper(), "innocent.txt", "chain.txt", f"dir/{name}", f"sub/../{name}"):
        result = FileReadTool([data]).execute(path=path)
        assert result.success is False
        assert "sensitive" in result.content


def test_sensitive_names_are_refused_whether_they_exist_or_not(data: Path) -> None:
    (data / ".env").write_text(SECRET)

    there, not_there = (FileReadTool([data]).execute(path=path) for path in (".env", "sub/.env"))

    assert there.content == not_there.content


def test_a_fifo_a_socket_and_a_directory_are_no_files_and_never_block(data: Path) -> None:
    os.mkfifo(data / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")  # relative: a socket's path may have few characters

        for path in ("pipe", "socket", "sub", ".", "sub/"):
            result = FileReadTool([data]).execute(path=path)
            assert result.success is False
            assert result.content.startswith("Not a file")


@pytest.mark.parametrize(
    "path",
    ["/dev/zero", "/dev/null", "/dev/random", "/proc/self/environ", "/proc/self/mem", "/proc/kmsg"],
)
def test_devices_and_kernel_files_are_closed_even_when_everything_is_allowed(path: str) -> None:
    result = FileReadTool(["/"]).execute(path=path)

    assert result.success is False
    assert result.content.startswith("Access denied")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs devices")
def test_a_device_in_an_allowed_directory_is_no_file() -> None:
    for path in ("/dev/zero", "/dev/null", "/dev/tty"):
        assert FileReadTool(["/dev"]).execute(path=path).content.startswith("Not a file")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_file_that_tells_no_size_is_read_by_what_it_holds() -> None:
    result = FileReadTool(["/proc/self"]).execute(path="/proc/self/status")

    assert result.success
    assert result.metadata["size_bytes"] == len(result.content.encode()) > 0


def test_a_huge_sparse_file_is_refused_without_reading_it_all(data: Path) -> None:
    with (data / "huge.log").open("wb") as file:
        file.truncate(1 << 40)

    result = FileReadTool([data]).execute(path="huge.log")

    assert result.success is False
    assert "too large" in result.content


@pytest.mark.parametrize(
    "path", ["ok.txt\x00", "\x00", "ok.txt\x00.md", "x" * 5_000, "a/" * 1_000_000, "/" * 1_000_000]
)
def test_what_is_no_path_is_refused_at_once(path: str, data: Path) -> None:
    result = FileReadTool([data]).execute(path=path)

    assert result.success is False
    assert len(result.content) < 300


@pytest.mark.parametrize("path", ["no\x1b[31m.txt", "no\n.txt", "no\u202e.txt"])
def test_control_characters_of_a_path_do_not_come_back(path: str, data: Path) -> None:
    content = FileReadTool([data]).execute(path=path).content

    assert content.startswith("File not found")
    assert content.isprintable()


@pytest.mark.parametrize("path", [None, 5, ["ok.txt"], {"a": 1}, True])
def test_a_path_of_another_type_is_refused(path: object, data: Path) -> None:
    result = FileReadTool([data]).execute(path=path)

    assert result.success is False
    assert result.content.startswith("Invalid arguments")


def test_a_working_directory_that_is_gone_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    result = FileReadTool().execute(path="ok.txt")
    monkeypatch.undo()

    assert result.success is False
    assert result.content.startswith("Access denied")


_AS_NOBODY = """
import os, sys
from openjarvis.safety import opening
from openjarvis.tools.file_read import FileReadTool
opening.CAN_DESCEND = sys.argv[2] == "True"
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for path in ("closed.txt", "closed/x.txt", "search/x.txt"):
    print(FileReadTool([sys.argv[1]]).execute(path=os.path.join(sys.argv[1], path)).content)
"""


def test_files_without_permission_are_told_apart_from_missing_ones_inside() -> None:
    with TemporaryDirectory() as name:
        data = Path(name).resolve()
        data.chmod(0o711)
        for directory, mode in (("closed", 0), ("search", 0o711)):
            (data / directory).mkdir()
            (data / directory / "x.txt").write_text("x")
            (data / directory).chmod(mode)
        (data / "closed.txt").write_text(SECRET)
        (data / "closed.txt").chmod(0)

        child = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, str(data), str(opening.CAN_DESCEND)],
            capture_output=True,
            text=True,
            check=True,
        )
        (data / "closed").chmod(0o700)

    closed_file, in_closed, in_searchable = child.stdout.splitlines()
    assert closed_file.startswith("Access denied: the permissions of")
    assert in_closed.startswith("Access denied: the permissions of")
    assert in_searchable == "x"


@contextmanager
def _meanwhile(swap: Callable[[], None]) -> Iterator[None]:
    """Repeat `swap` in another thread until the block ends, at most 200,000 times."""
    stop, swapped = Event(), Event()

    def repeat() -> None:
        for _ in range(200_000):
            swap()
            swapped.set()
            if stop.is_set():
                return

    swapper = Thread(target=repeat)
    swapper.start()
    try:
        swapped.wait(10)
        yield
    finally:
        stop.set()
        swapper.join()


def test_a_file_swapped_for_a_link_out_between_check_and_open_never_leaks(
    data: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "file").write_text("fine")
    tool = FileReadTool([data])

    def swap() -> None:
        for entry in ("link", "file"):
            os.link(tmp_path / entry, data / "spare", follow_symlinks=False)
            (data / "spare").replace(data / "swapped.txt")

    with _meanwhile(swap):
        answers = {tool.execute(path="swapped.txt").content for _ in range(2_000)}

    assert SECRET not in answers
    assert "fine" in answers
    assert answers - {"fine"}, "the swap was never seen, so nothing was tested"


def test_a_directory_swapped_for_a_link_out_between_check_and_open_never_leaks(
    data: Path, tmp_path: Path
) -> None:
    (data / "real").mkdir()
    (data / "real" / "ok.txt").write_text("fine")
    (data / "link").symlink_to(tmp_path / "outside")
    tool = FileReadTool([data])

    def swap() -> None:
        for entry in ("real", "link"):
            (data / entry).rename(data / "swapped")
            (data / "swapped").rename(data / entry)

    with _meanwhile(swap):
        answers = {tool.execute(path="swapped/ok.txt").content for _ in range(2_000)}

    assert SECRET not in answers
    assert len(answers) > 1, "the swap was never seen, so nothing was tested"


def test_a_link_put_in_place_of_a_checked_component_is_not_followed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race again, won for certain: the swap is made just before the file is opened."""

    def swap_then_open(root: Path, parts: tuple[str, ...]) -> int:
        (data / "sub").rename(data / "moved")
        (data / "sub").symlink_to(tmp_path / "outside")
        return opening.open_regular(root, parts)

    monkeypatch.setattr("openjarvis.safety.paths.open_regular", swap_then_open)

    result = FileReadTool([data]).execute(path="sub/ok.txt")

    assert result.success is False
    assert SECRET not in result.content
