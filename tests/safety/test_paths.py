import logging
import os
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from openjarvis.safety import opening
from openjarvis.safety.paths import (
    NotAFile,
    PathMissing,
    PathRefused,
    confine,
    files_below,
    open_confined,
    read_confined,
)
from openjarvis.safety.sensitive import is_sensitive


@pytest.fixture(params=["descending", "comparing"], autouse=True)
def _each_way_of_opening(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test with both ways of opening; the second is what Windows has."""
    if request.param == "comparing":
        monkeypatch.setattr(opening, "CAN_DESCEND", False)
    elif not opening.CAN_DESCEND:
        pytest.skip("the platform has no directory descriptors")


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    (directory / "deep" / "er").mkdir(parents=True)
    (directory / "a.txt").write_text("A")
    (directory / "deep" / "b.txt").write_text("B")
    (directory / "deep" / "er" / "c.txt").write_text("C")
    return directory


def test_a_file_inside_is_read_with_its_real_path(inside: Path) -> None:
    assert read_confined(inside / "a.txt", [inside], max_bytes=9) == (inside / "a.txt", b"A")
    assert read_confined(str(inside / "deep/er/c.txt"), [str(inside)], max_bytes=9)[1] == b"C"


def test_relative_paths_start_at_the_working_directory_which_is_allowed_by_default(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inside)

    assert read_confined("deep/../a.txt", max_bytes=9)[1] == b"A"
    assert read_confined("./deep//b.txt", None, max_bytes=9)[1] == b"B"
    with pytest.raises(PathRefused, match="Access denied"):
        confine("../data2/a.txt")


def test_given_directories_are_all_that_is_allowed(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inside)

    for allowed in ([inside / "deep"], [], [""]):
        with pytest.raises(PathRefused, match="Access denied"):
            confine("a.txt", allowed)


def test_one_directory_given_as_text_is_one_directory_and_not_a_list_of_letters(
    inside: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.txt").write_text("secret")

    assert confine(inside / "a.txt", str(inside)).path == inside / "a.txt"
    with pytest.raises(PathRefused, match="Access denied"):
        confine(tmp_path / "outside.txt", str(inside))


def test_several_directories_may_be_allowed_and_may_be_links(inside: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.txt").write_text("O")
    link = tmp_path / "link"
    link.symlink_to(other)

    assert read_confined(link / "o.txt", [inside, link], max_bytes=9) == (other / "o.txt", b"O")
    assert read_confined(other / "o.txt", [inside, link], max_bytes=9)[1] == b"O"


def test_a_link_inside_is_followed_as_long_as_it_stays_inside(inside: Path) -> None:
    (inside / "link.txt").symlink_to("deep/b.txt")
    (inside / "link").symlink_to(inside / "deep")

    assert read_confined(inside / "link.txt", [inside], max_bytes=9)[0] == inside / "deep/b.txt"
    assert read_confined(inside / "link/er/c.txt", [inside], max_bytes=9)[1] == b"C"


def test_the_home_directory_is_understood(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(inside))
    monkeypatch.setenv("USERPROFILE", str(inside))

    assert confine("~/a.txt", ["~"]).path == inside / "a.txt"


def test_what_is_not_there_or_is_no_file_is_told_inside(inside: Path) -> None:
    with pytest.raises(PathMissing, match="File not found: '"):
        read_confined(inside / "none.txt", [inside], max_bytes=9)
    with pytest.raises(PathMissing, match="File not found"):
        read_confined(inside / "none" / "none.txt", [inside], max_bytes=9)
    with pytest.raises(PathMissing, match="File not found"):
        read_confined(inside / "a.txt" / "none.txt", [inside], max_bytes=9)
    with pytest.raises(PathMissing, match="File not found"):
        read_confined(inside / ("n" * 300), [inside], max_bytes=9)
    with pytest.raises(NotAFile, match="Not a file"):
        read_confined(inside / "deep", [inside], max_bytes=9)
    with pytest.raises(NotAFile, match="Not a file"):
        read_confined(inside, [inside], max_bytes=9)


def test_a_file_of_the_largest_size_is_read_and_one_byte_more_is_refused(inside: Path) -> None:
    (inside / "full").write_bytes(b"x" * 1_000)
    (inside / "over").write_bytes(b"x" * 1_001)

    assert len(read_confined(inside / "full", [inside], max_bytes=1_000)[1]) == 1_000
    with pytest.raises(PathRefused, match="too large: at most 1,000 bytes"):
        read_confined(inside / "over", [inside], max_bytes=1_000)


def test_an_opened_file_is_closed_after_its_block_and_the_blocks_errors_pass(inside: Path) -> None:
    def fail_while_reading() -> None:
        with open_confined(inside / "a.txt", [inside]) as opened:
            streams.append(opened.stream)
            raise OSError("mine")

    streams: list[BinaryIO] = []

    with pytest.raises(OSError, match="mine"):
        fail_while_reading()

    assert streams[0].closed


def test_no_descriptor_is_left_open(inside: Path) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("needs /proc to count descriptors")
    before = len(list(descriptors.iterdir()))

    for name in ("a.txt", "deep/er/c.txt", "deep", "none", "none/none", ".", "a.txt/x"):
        try:
            read_confined(inside / name, [inside], max_bytes=9)
        except PathRefused:
            continue
    list(files_below(inside, [inside]))

    assert len(list(descriptors.iterdir())) == before


def test_the_files_below_a_directory_come_in_order_without_links_and_sensitive_ones(
    inside: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    (inside / "link").symlink_to(tmp_path / "outside")
    (inside / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (inside / ".env").write_text("KEY=1")
    (inside / ".ssh").mkdir()
    (inside / ".ssh" / "config").write_text("Host *")
    if hasattr(os, "mkfifo"):
        os.mkfifo(inside / "pipe")

    found = [path.relative_to(inside).as_posix() for path in files_below(inside, [inside])]

    assert found == ["a.txt", "deep/b.txt", "deep/er/c.txt"]


def test_a_path_that_is_no_directory_is_given_alone(inside: Path) -> None:
    assert list(files_below(inside / "a.txt", [inside])) == [inside / "a.txt"]


def test_a_directory_that_is_missing_or_outside_is_refused(inside: Path, tmp_path: Path) -> None:
    with pytest.raises(PathMissing, match="File not found"):
        next(files_below(inside / "none", [inside]))
    with pytest.raises(PathRefused, match="Access denied"):
        next(files_below(tmp_path, [inside]))


def test_a_directory_that_vanishes_is_logged_and_passed_over(
    inside: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = files_below(inside, [inside])
    first = next(files)
    (inside / "deep").rename(inside.parent / "moved")

    with caplog.at_level(logging.WARNING, "openjarvis.safety.paths"):
        rest = list(files)

    assert (first, rest) == (inside / "a.txt", [])
    assert "passed over the directory" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="paths are shorter there")
def test_a_tree_of_two_hundred_levels_is_walked(inside: Path) -> None:
    deepest = inside
    for _ in range(200):
        deepest = deepest / "d"
    deepest.mkdir(parents=True)
    (deepest / "end.txt").write_text("end")

    assert deepest / "end.txt" in list(files_below(inside, [inside]))


@pytest.mark.parametrize(
    "parts",
    [
        (".env",), (".ENV",), (".env.local",), (".envrc",), ("prod.env",), ("x", ".env"),
        ("server.pem",), ("SERVER.PEM",), ("server.pem.",), ("server.pem::$DATA",), ("tls.key",),
        ("id_rsa",), ("ID_RSA",), ("id_ed25519.pub",), ("credentials",), ("credentials.json",),
        ("Credentials.CSV",), (".netrc",), ("_netrc",), (".pgpass",), (".git-credentials",),
        (".npmrc",), (".pypirc",), (".bash_history",), ("secrets.toml",), ("client_secret_1.json",),
        ("wallet.kdbx",), (".ssh", "config"), ("a", ".aws", "config"), (".SSH", "known_hosts"),
        (".e\u200cnv",), ("．ｅｎｖ",), (".env ",), (".docker", "config.json"), ("shadow",),
    ],
)  # fmt: skip
def test_names_of_keys_and_passwords_are_sensitive(parts: tuple[str, ...]) -> None:
    assert is_sensitive(parts)


@pytest.mark.parametrize(
    "parts",
    [
        (), ("notes.txt",), ("environment.md",), ("identity.txt",), ("env",), ("key",),
        ("pem.txt",), ("monkey.txt",), ("secret.txt",), ("ssh", "config"), ("Dockerfile",),
        ("docker-compose.yml",), ("my_credentials_talk.md",), ("valid_ids.csv",),
        ("history.md",), ("shadow.css",),
        ("รหัส.txt",), ("keyboard.key.txt",),
    ],
)  # fmt: skip
def test_other_names_are_not_sensitive(parts: tuple[str, ...]) -> None:
    assert not is_sensitive(parts)
