import os
import random
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from memory import storing_process
from openjarvis.memory import Document, MemoryFailed
from openjarvis.memory.segment import document_terms
from openjarvis.memory.sqlite import SQLiteMemory
from openjarvis.memory.sqlite_schema import APPLICATION_ID


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[SQLiteMemory]:
    with SQLiteMemory(path) as memory:
        yield memory


def start_storing(path: Path, name: str, steps: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, storing_process.__file__, str(path), name, steps],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check_soundness(path: Path) -> None:
    """Assert that the file, its index and its counters tell the same."""
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.execute("INSERT INTO entries (entries) VALUES ('integrity-check')")
    (counted,) = database.execute("SELECT count(*) FROM documents").fetchone()
    indexed = database.execute("SELECT count(*) FROM entries_docsize").fetchone()
    assert database.execute("SELECT documents FROM state").fetchone() == (counted,) == indexed
    contents = [content for (content,) in database.execute("SELECT content FROM documents")]
    (words,) = database.execute("SELECT words FROM state").fetchone()
    assert words == sum(len(document_terms(content)) for content in contents)
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    database.close()


def test_what_was_acknowledged_outlives_a_kill_at_any_moment(path: Path) -> None:
    random.seed(7)
    acknowledged: list[str] = []

    for _ in range(12):
        process = start_storing(path, "killed")
        assert process.stdout
        steps = range(random.randint(1, 60))
        acknowledged += [process.stdout.readline().strip() for _ in steps]
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate()
        # The last line may have been cut off by the kill.
        acknowledged += [
            line.strip() for line in rest.splitlines(keepends=True) if line[-1] == "\n"
        ]

        with SQLiteMemory(path) as memory:
            found = {one.id for one in memory.retrieve("entry", top_k=10_000)}
            assert set(acknowledged) <= found
            assert len(memory.retrieve("part", top_k=100)) in {0, 2}
        check_soundness(path)
    assert len(set(acknowledged)) == len(acknowledged) > 100


def test_several_processes_write_and_read_one_file(path: Path, memory: SQLiteMemory) -> None:
    writers = [start_storing(path, f"writer{number}", "150") for number in range(4)]
    for number in range(100):
        memory.store(f"mine {number}")
        memory.retrieve("entry")

    told = [process.communicate() for process in writers]

    assert [errors for _, errors in told] == [""] * 4
    keys = [key for output, _ in told for key in output.split()]
    assert len(set(keys)) == 600
    assert memory.count() == 600 + 100 + 4 * 2
    check_soundness(path)


def test_several_processes_may_make_the_file_at_once(path: Path) -> None:
    writers = [start_storing(path, f"w{number}", "3") for number in range(6)]

    assert [process.communicate()[1] for process in writers] == [""] * 6
    check_soundness(path)


def test_a_writer_that_never_ends_is_told_in_words(
    path: Path, memory: SQLiteMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openjarvis.memory.connections.PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr("openjarvis.memory.connections._TRY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with (
        SQLiteMemory(path) as second,
        pytest.raises(MemoryFailed, match="in use by another program"),
    ):
        second.store("tea")
    assert memory.retrieve("tea") == []  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    memory.store("tea")


def test_work_waits_for_another_writer(path: Path, memory: SQLiteMemory) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    waiting = Thread(target=memory.store, args=["tea"])

    waiting.start()
    other.execute("ROLLBACK")
    waiting.join(10)

    assert memory.count() == 1
    other.close()


def test_the_file_is_its_owners_only(path: Path, memory: SQLiteMemory) -> None:
    memory.store("tea")

    modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}

    assert modes == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_home_folder_is_written_as_a_tilde(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    with SQLiteMemory() as memory:
        memory.store("tea")

    assert (tmp_path / ".openjarvis" / "memory.db").exists()


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE documents (id INTEGER)")
    other.close()
    before = path.read_bytes()

    with pytest.raises(MemoryFailed, match="another program"):
        SQLiteMemory(path)

    # The switch to write-ahead logging marks two bytes of the header.
    assert path.read_bytes()[100:] == before[100:]


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("shopping list, " * 100)

    with pytest.raises(MemoryFailed, match="no SQLite database"):
        SQLiteMemory(path)

    assert path.read_text().startswith("shopping list")


def test_a_memory_of_a_newer_version_is_refused(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as newer:
        newer.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        newer.execute("PRAGMA user_version = 99")
    newer.close()

    with pytest.raises(MemoryFailed, match="newer version"):
        SQLiteMemory(path)


@pytest.mark.parametrize("wrong", ["/proc/none/memory.db", "/dev/null/memory.db"])
def test_a_place_that_cannot_be_written_is_told(wrong: str) -> None:
    with pytest.raises(MemoryFailed, match="cannot be opened"):
        SQLiteMemory(wrong)


def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(MemoryFailed, match="cannot be opened"):
        SQLiteMemory(tmp_path)


def test_a_full_disk_is_told_and_nothing_is_lost(path: Path, memory: SQLiteMemory) -> None:
    key = memory.store("tea")
    size = path.stat().st_size
    # A limit on the size of files refuses writes as a full disk does.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100_000, hard))
    try:
        with pytest.raises(MemoryFailed, match="disk"):
            memory.store("coffee " * 200_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert [found.id for found in memory.retrieve("tea coffee")] == [key]
    memory.store("coffee")
    memory.close()
    check_soundness(path)


def test_terms_of_an_older_segmenter_are_made_anew(path: Path) -> None:
    with SQLiteMemory(path) as memory:
        memory.store("ชาเขียว")
        memory.store("tea")
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO entries (entries) VALUES ('delete-all')")
        database.execute("UPDATE state SET segmenter = '0.1.0.0', words = 999")
    database.close()

    with SQLiteMemory(path) as memory:
        assert len(memory.retrieve("เขียว")) == 1
        assert memory.delete("2")
    check_soundness(path)


def test_terms_of_a_newer_segmenter_are_kept(path: Path) -> None:
    with SQLiteMemory(path) as memory:
        memory.store("tea")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE state SET segmenter = '999.1.0.0'")
    database.close()

    with SQLiteMemory(path) as memory:
        assert len(memory.retrieve("tea")) == 1
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT segmenter FROM state").fetchone() == ("999.1.0.0",)
    database.close()


def test_a_memory_in_memory_is_shared_by_threads() -> None:
    with SQLiteMemory(":memory:") as memory:
        threads = [Thread(target=memory.store, args=[f"tea {number}"]) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert memory.count() == len(memory.retrieve("tea", top_k=50)) == 20


def test_a_closed_memory_says_so(memory: SQLiteMemory) -> None:
    memory.close()

    with pytest.raises(MemoryFailed, match="closed"):
        memory.store("tea")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_opens_connections_of_its_own(path: Path, memory: SQLiteMemory) -> None:
    memory.store("tea before")

    child = os.fork()
    if child == 0:
        try:
            memory.store("tea of the child")
            memory.close()
            os._exit(0 if len(SQLiteMemory(path).retrieve("tea")) == 2 else 3)
        finally:
            os._exit(4)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    memory.store("tea after")
    assert memory.count() == 3


def test_an_error_in_the_middle_leaves_nothing_behind(
    memory: SQLiteMemory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.replace_file("/a", "1", [Document("old tea")])
    monkeypatch.setattr("openjarvis.memory.sqlite_entries._ADD_TERMS", "INSERT INTO nowhere")

    with pytest.raises(MemoryFailed, match="unexpected"):
        memory.replace_file("/a", "2", [Document("new tea")])

    assert [found.content for found in memory.retrieve("tea")] == ["old tea"]
    assert memory.indexed_files() == {"/a": "1"}
    memory.close()
    check_soundness(path)


def test_the_counters_follow_every_change(path: Path) -> None:
    with SQLiteMemory(path) as memory:
        key = memory.store("ชาเขียว and getUserName")
        memory.store("more tea")
        memory.delete(key)
        memory.replace_file("/a", "1", [Document("old tea"), Document("cup")])
        memory.replace_file("/a", "2", [Document("new tea")])
    check_soundness(path)


def test_the_file_stays_small(path: Path) -> None:
    texts = [f"entry {number} " + "green tea and other words " * 4 for number in range(5000)]
    texts += [f"รายการที่ {number} " + "ประชุมวันศุกร์เรื่องงบประมาณ" * 2 for number in range(2000)]

    with SQLiteMemory(path) as memory:
        memory.store_many(map(Document, texts))

    assert path.stat().st_size < 3 * sum(len(text.encode()) for text in texts)
