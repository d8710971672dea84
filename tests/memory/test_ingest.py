import os
import subprocess
from pathlib import Path

import pytest

from openjarvis.memory import MemoryBackend, RetrievalResult
from openjarvis.memory.files import Skip
from openjarvis.memory.ingest import Summary, index
from openjarvis.memory.ranked import RankedMemory


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def sources(memory: RankedMemory, query: str) -> set[str]:
    return {Path(found.source).name for found in memory.retrieve(query, top_k=50)}


def test_a_folder_is_stored_file_by_file(memory: RankedMemory, folder: Path) -> None:
    write(folder, {"a.md": "about tea", "sub/b.txt": "about coffee", "c.html": "<p>ประชุม</p>"})

    summary = index(memory, folder)

    assert (summary.added, summary.chunks) == (3, 3)
    (found,) = memory.retrieve("coffee")
    assert found.source == str(folder / "sub" / "b.txt")
    assert sources(memory, "ประชุม") == {"c.html"}


def test_a_long_file_is_stored_in_numbered_chunks(memory: RankedMemory, folder: Path) -> None:
    write(folder, {"a.md": "tea and cake. " * 100})

    summary = index(memory, folder, chunk_size=50, chunk_overlap=10)

    found = memory.retrieve("tea", top_k=50)
    assert summary.chunks == len(found) > 5
    assert sorted(one.metadata["chunk"] for one in found) == list(range(1, len(found) + 1))


def test_unchanged_files_are_skipped_and_changed_ones_replaced(
    memory: RankedMemory, folder: Path
) -> None:
    write(folder, {"a.md": "old tea", "b.md": "coffee"})
    index(memory, folder)
    write(folder, {"a.md": "new tea"})

    summary = index(memory, folder)

    assert (summary.added, summary.updated, summary.unchanged) == (0, 1, 1)
    assert [found.content for found in memory.retrieve("tea")] == ["new tea"]
    assert memory.count() == 2


def test_other_chunk_sizes_make_the_chunks_anew(memory: RankedMemory, folder: Path) -> None:
    write(folder, {"a.md": "tea " * 100})
    index(memory, folder, chunk_size=100, chunk_overlap=0)

    summary = index(memory, folder, chunk_size=50, chunk_overlap=0)

    assert (summary.updated, summary.chunks, memory.count()) == (1, 2, 2)


def test_files_that_are_gone_are_forgotten_and_others_stay(
    memory: RankedMemory, folder: Path
) -> None:
    write(folder, {"a.md": "tea", "sub/b.md": "tea", "other/c.md": "tea"})
    index(memory, folder)
    memory.store("tea by hand")
    (folder / "a.md").unlink()
    (folder / "sub" / "b.md").unlink()

    summary = index(memory, folder / "sub")

    assert summary.removed == 1
    assert sources(memory, "tea") == {"a.md", "c.md", ""}
    assert index(memory, folder).removed == 1
    assert sources(memory, "tea") == {"c.md", ""}


def test_one_file_can_be_indexed_without_touching_its_neighbours(
    memory: RankedMemory, folder: Path
) -> None:
    write(folder, {"a.md": "tea", "a.md2": "tea"})
    index(memory, folder)

    assert index(memory, folder / "a.md").unchanged == 1
    assert memory.count() == 2


def test_what_is_not_for_reading_is_skipped_and_counted(memory: RankedMemory, folder: Path) -> None:
    write(
        folder,
        {
            "good.md": "tea",
            "node_modules/x.js": "tea",
            "__pycache__/y.py": "tea",
            "keys/server.pem": "tea",
            "big.txt": "tea" * 1000,
        },
    )
    (folder / ".git").mkdir()
    (folder / ".hidden.md").write_text("tea")
    (folder / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100))
    (folder / "noise.txt").write_bytes(b"\x80\x81plain \xff\xfe" * 4)
    os.mkfifo(folder / "pipe")
    (folder.parent / "outside.md").write_text("tea")
    (folder / "link.md").symlink_to(folder.parent / "outside.md")
    (folder / "linked").symlink_to(folder.parent)

    summary = index(memory, folder, max_bytes=1000)

    assert sources(memory, "tea") == {"good.md"}
    assert summary.skipped == {
        Skip.HIDDEN: 2,
        Skip.MACHINE_MADE: 2,
        Skip.SENSITIVE: 1,
        Skip.TOO_LARGE: 1,
        Skip.BINARY: 1,
        Skip.ENCODING: 1,
        Skip.SPECIAL: 1,
        Skip.LINK: 2,
    }
    assert any("noise.txt: unknown encoding" in note for note in summary.notes)
    assert "1 skipped (too large)" in str(summary)


def test_ignored_files_are_skipped_as_git_would(memory: RankedMemory, folder: Path) -> None:
    subprocess.run(["git", "init", "-q", folder], check=True)
    write(
        folder,
        {
            "a.md": "tea",
            "a.log": "tea",
            "keep.log": "tea",
            "build/x.md": "tea",
            "sub/b.tmp": "tea",
            "sub/c.md": "tea",
            "sub/deep/d.log": "tea",
        },
    )
    (folder / ".gitignore").write_text("*.log\n!keep.log\n/build/\n")
    (folder / "sub" / ".gitignore").write_text("*.tmp\n!d.log\n")

    summary = index(memory, folder)
    expected = {"a.md", "keep.log", "c.md", "d.log"}

    assert sources(memory, "tea") == expected
    assert summary.skipped[Skip.IGNORED] == 3
    memory.clear()
    index(memory, folder / "sub")
    assert sources(memory, "tea") == {"c.md", "d.log"}


def test_rules_that_are_none_or_without_end_are_passed_over(
    memory: RankedMemory, folder: Path
) -> None:
    write(folder, {"a.md": "tea", "a.log": "tea", "a" * 200 + ".txt": "tea"})
    rules = ["*.log", "[z-a]", "\\", "!", "[[:alpha:]]", "*a" * 30 + "b", "\0", "["]
    (folder / ".gitignore").write_text("\n".join(rules))

    summary = index(memory, folder)

    assert (summary.added, summary.skipped[Skip.IGNORED]) == (2, 1)


def test_the_rules_above_a_folder_count_up_to_its_repository(
    memory: RankedMemory, folder: Path
) -> None:
    write(folder, {"repo/sub/a.md": "tea", "repo/sub/b.log": "tea", "repo/sub/c.tmp": "tea"})
    (folder / "repo" / ".git").mkdir()
    (folder / "repo" / ".gitignore").write_text("*.log\n")
    (folder / ".gitignore").write_text("*.tmp\n")  # outside the repository: not its business

    index(memory, folder / "repo" / "sub")

    assert sources(memory, "tea") == {"a.md", "c.tmp"}


def test_a_file_named_itself_is_taken_though_its_folder_ignores_it(
    memory: RankedMemory, folder: Path
) -> None:
    (folder / ".notes.md").write_text("tea")

    assert index(memory, folder / ".notes.md").added == 1


@pytest.mark.parametrize("name", [".env", "server.pem", "id_rsa", ".netrc"])
def test_a_sensitive_file_is_refused_even_when_named(
    memory: RankedMemory, folder: Path, name: str
) -> None:
    (folder / name).write_text("tea")

    assert index(memory, folder / name).skipped == {Skip.SENSITIVE: 1}


def test_a_file_that_turned_binary_is_forgotten(memory: RankedMemory, folder: Path) -> None:
    write(folder, {"a.md": "tea"})
    index(memory, folder)
    (folder / "a.md").write_bytes(bytes(1000))

    summary = index(memory, folder)

    assert (summary.removed, memory.count()) == (1, 0)


def test_what_cannot_be_read_for_now_stays_known(
    memory: RankedMemory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"a.md": "tea"})
    index(memory, folder)

    def refuse(base: Path, parts: tuple[str, ...]) -> int:
        raise PermissionError

    monkeypatch.setattr("openjarvis.memory.files.open_regular", refuse)
    summary = index(memory, folder)

    assert summary.skipped == {Skip.UNREADABLE: 1}
    assert sources(memory, "tea") == {"a.md"}


def test_a_folder_that_cannot_be_listed_keeps_what_is_known_of_it(
    memory: RankedMemory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"sub/b.md": "tea"})
    index(memory, folder)
    listed = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "sub":
            raise PermissionError
        return listed(path)

    monkeypatch.setattr("openjarvis.memory.files.os.scandir", scandir)

    assert index(memory, folder).removed == 0
    assert sources(memory, "tea") == {"b.md"}


def test_a_run_that_is_broken_off_goes_on_where_it_stopped(
    memory: RankedMemory, folder: Path
) -> None:
    for number in range(10):
        (folder / f"{number}.md").write_text(f"tea {number}")

    def interrupt(done: int, total: int, path: Path) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index(memory, folder, progress=interrupt)

    assert memory.count() == 4
    summary = index(memory, folder)
    assert (summary.added, summary.unchanged, memory.count()) == (6, 4, 10)


def test_progress_tells_each_file_and_how_many_there_are(
    memory: RankedMemory, folder: Path
) -> None:
    write(folder, {"a.md": "tea", "b.md": "tea"})
    told: list[tuple[int, int, str]] = []

    index(memory, folder, progress=lambda done, total, path: told.append((done, total, path.name)))

    assert told == [(0, 2, "a.md"), (1, 2, "b.md")]


def test_nothing_there_is_an_error(memory: RankedMemory, folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        index(memory, folder / "none")


def test_any_name_of_a_file_will_do(memory: RankedMemory, folder: Path) -> None:
    names = ["with space.md", "ไทย.md", "new\nline.md", "quote'\".md", "%_.md", "-r.md"]
    for name in names:
        (folder / name).write_text("tea")
    raw = os.fsencode(folder) + b"/broken\xff.md"
    Path(os.fsdecode(raw)).write_text("tea")

    assert index(memory, folder).added == 7
    summary = index(memory, folder)

    assert summary.unchanged == 7
    assert summary.removed == 0


class PlainMemory(MemoryBackend):
    """A memory of somebody else's, which cannot follow files."""

    def __init__(self) -> None:
        self.stored: list[tuple[str, str]] = []

    def store(self, content: str, *, source: str = "", metadata: object = None) -> str:
        self.stored.append((content, source))
        return str(len(self.stored))

    def retrieve(self, query: str, *, top_k: int = 5) -> list[RetrievalResult]:
        return []

    def delete(self, id: str) -> bool:  # noqa: A002 - the documented name
        return False

    def clear(self) -> None: ...

    def count(self) -> int:
        return len(self.stored)

    def close(self) -> None: ...


def test_a_memory_that_cannot_follow_files_gets_their_chunks(folder: Path) -> None:
    write(folder, {"a.md": "tea"})
    memory = PlainMemory()

    summary = index(memory, folder)

    assert memory.stored == [("tea", str(folder / "a.md"))]
    assert summary.added == 1


@pytest.mark.parametrize(
    ("summary", "told"),
    [
        (Summary(), "Indexed 0 files in 0 chunks."),
        (Summary(added=1, chunks=1), "Indexed 1 file in 1 chunk."),
        (
            Summary(added=1, updated=1, unchanged=3, removed=2, chunks=5),
            "Indexed 2 files in 5 chunks; 3 unchanged; 2 removed.",
        ),
    ],
)
def test_a_summary_reads_as_a_sentence(summary: Summary, told: str) -> None:
    assert str(summary) == told
