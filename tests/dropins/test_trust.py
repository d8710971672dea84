import os
from pathlib import Path

import pytest

from dropin_files import write_folder
from openjarvis.dropins import trust
from openjarvis.dropins.trust import SourceRefused, read_source, trusted_folder

grp = pytest.importorskip("grp", reason="groups are POSIX's")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and owners are POSIX's")
root_only = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "agent" / "tools", {"weather.py": "x = 1\n"})


def refusal(path: Path) -> str:
    with pytest.raises(SourceRefused) as refused:
        trusted_folder(path)
    return str(refused.value)


def file_refusal(name: str, folder: Path) -> str:
    with pytest.raises(SourceRefused) as refused:
        read_source(folder / name, folder)
    return str(refused.value)


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `path` belong to another user than the one who runs."""
    if os.geteuid() == 0:
        os.chown(path, 4321, -1)
    else:
        somebody = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: somebody)


def test_a_folder_of_the_user_is_trusted_and_its_files_are_read(folder: Path) -> None:
    trusted = trusted_folder(folder)

    assert trusted == folder.resolve()
    assert read_source(trusted / "weather.py", trusted) == b"x = 1\n"


def test_a_folder_in_a_sticky_one_is_trusted(folder: Path) -> None:
    folder.parent.chmod(0o1777)

    assert trusted_folder(folder) == folder.resolve()


@pytest.mark.parametrize(
    ("mode", "who"), [(0o777, "everyone"), (0o757, "everyone"), (0o1777, "everyone")]
)
def test_a_folder_that_others_can_write_is_refused_with_the_remedy(
    folder: Path, mode: int, who: str
) -> None:
    folder.chmod(mode)

    told = refusal(folder)

    assert f"is writable by {who} (mode {mode:04o})" in told
    assert told.endswith(f"run: chmod go-w '{folder.resolve()}'")


@root_only
def test_a_folder_that_its_group_can_write_is_refused(folder: Path) -> None:
    folder.chmod(0o775)

    assert "is writable by its group (mode 0775)" in refusal(folder)


@root_only
def test_the_private_group_of_the_user_is_the_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(folder, 1, 1)  # daemon, whose group has no other member
    folder.chmod(0o775)
    monkeypatch.setattr(os, "geteuid", lambda: 1)

    assert trusted_folder(folder) == folder.resolve()


@root_only
def test_a_group_of_several_is_not_the_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(folder, 1, 2)
    folder.chmod(0o775)
    monkeypatch.setattr(os, "geteuid", lambda: 1)

    assert "is writable by its group" in refusal(folder)


@root_only
def test_a_private_group_with_another_member_is_not_the_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(folder, 1, 1)
    folder.chmod(0o775)
    group = grp.struct_group(("daemon", "x", 1, ["daemon", "somebody"]))
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    monkeypatch.setattr(grp, "getgrgid", lambda gid: group)

    assert "is writable by its group" in refusal(folder)


@root_only
def test_a_group_without_a_name_is_not_the_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(folder, 1, 54321)
    folder.chmod(0o775)
    monkeypatch.setattr(os, "geteuid", lambda: 1)

    assert "is writable by its group" in refusal(folder)


def test_a_parent_that_others_can_write_is_refused(folder: Path) -> None:
    folder.parent.chmod(0o777)

    assert refusal(folder).startswith(f"{folder.parent.resolve()} is writable by everyone")


def test_a_folder_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_away(folder, monkeypatch)

    assert "belongs to another user" in refusal(folder)


def test_a_file_that_others_can_write_is_refused(folder: Path) -> None:
    (folder / "weather.py").chmod(0o666)

    assert "weather.py is writable by everyone (mode 0666)" in file_refusal("weather.py", folder)


@root_only
def test_a_file_of_another_user_is_refused(folder: Path) -> None:
    os.chown(folder / "weather.py", 4321, -1)

    assert "belongs to another user (uid 4321)" in file_refusal("weather.py", folder)


def test_a_folder_in_the_folder_that_others_can_write_is_refused(folder: Path) -> None:
    write_folder(folder / "_lib", {"secret.py": ""})
    (folder / "_lib").chmod(0o777)

    assert "_lib is writable by everyone" in file_refusal("_lib/secret.py", folder)


def test_a_link_to_a_folder_is_judged_at_its_target(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)

    trusted = trusted_folder(link)
    folder.chmod(0o777)

    assert trusted == folder.resolve()
    assert "is writable by everyone" in refusal(link)


def test_a_link_to_nothing_and_a_loop_of_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    assert "is a link to" in refusal(tmp_path / "nowhere")
    assert "cannot be opened" in refusal(tmp_path / "loop")


def test_a_missing_folder_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        trusted_folder(tmp_path / "missing")


def test_what_is_no_folder_is_refused(folder: Path) -> None:
    assert refusal(folder / "weather.py") == "it is not a folder"
    assert "cannot be opened" in refusal(Path("tools\0"))
    assert "cannot be opened" in refusal(Path("x" * 5_000))


def test_a_file_that_is_a_link_out_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("x = 2")
    (folder / "link.py").symlink_to(outside)

    assert "link.py is a link out of its folder" in file_refusal("link.py", folder)


def test_a_link_inside_the_folder_is_read(folder: Path) -> None:
    (folder / "link.py").symlink_to("weather.py")

    assert read_source(folder / "link.py", folder) == b"x = 1\n"


def test_what_is_no_regular_file_is_refused_without_waiting(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py", 0o600)
    (folder / "directory.py").mkdir(mode=0o755)

    assert file_refusal("pipe.py", folder) == "pipe.py is not a regular file"
    assert file_refusal("directory.py", folder) == "directory.py is not a regular file"


def test_a_broken_link_and_a_missing_file_are_refused(folder: Path) -> None:
    (folder / "broken.py").symlink_to(folder / "missing")

    assert "broken.py cannot be opened: No such file" in file_refusal("broken.py", folder)
    assert "gone.py cannot be opened: No such file" in file_refusal("gone.py", folder)


def test_a_huge_file_is_refused(folder: Path) -> None:
    with (folder / "huge.py").open("wb") as file:
        file.truncate(trust.MAX_BYTES + 1)
    (folder / "huge.py").chmod(0o644)

    assert "huge.py is larger than 5,000,000 bytes" in file_refusal("huge.py", folder)


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_is_refused(folder: Path) -> None:
    (folder / "weather.py").chmod(0o000)

    assert "weather.py cannot be read: Permission denied" in file_refusal("weather.py", folder)


def test_where_modes_do_not_exist_they_are_not_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.chmod(0o777)
    (folder / "weather.py").chmod(0o666)
    monkeypatch.setattr(trust, "_HAS_MODES", False)

    assert trusted_folder(folder) == folder.resolve()
    assert read_source(folder.resolve() / "weather.py", folder.resolve()) == b"x = 1\n"
