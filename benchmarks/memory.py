"""A hundred thousand short documents: stored, searched, and the size of the file.

Beside a bare FTS5 table in SQLite, filled with the same documents and asked the same queries. Times
are of the processor, but for durable stores, which wait for the disk.
`python -m benchmarks.memory DSN` measures a PostgreSQL memory too, in an empty database.
"""

import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import accumulate, product
from pathlib import Path

from benchmarks.measure import row
from openjarvis.memory import Document
from openjarvis.memory.ranked import RankedMemory
from openjarvis.memory.sqlite import SQLiteMemory

DOCUMENTS = 100_000
DURABLE = 2_000
QUERIES = 500
_VOWELS = ("า", "ิ", "ี", "ุ", "ู", "ะ", "ัน", "อง", "าย")
_THAI = [a + b for a, b in product("กขคจดตทนบปพมยรลวสหอ", _VOWELS)]
_CHINESE = [chr(code) for code in range(0x4E00, 0x4E00 + 2000)]


def vocabulary(letters: Sequence[str], lengths: Sequence[int], size: int) -> list[str]:
    """Return made-up words, the ones that are used most first."""
    return ["".join(random.choices(letters, k=random.choice(lengths))) for _ in range(size)]


def written(words: list[str], number: int, *, between: str) -> list[str]:
    """Return texts of 20 words, which are used as unevenly as the words of a language are."""
    usage = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    return [
        between.join(random.choices(words, cum_weights=usage, k=20)).capitalize() + "."
        for _ in range(number)
    ]


def queries(documents: list[str]) -> list[str]:
    """Return queries of 1 to 3 words that stand together in a document."""
    return [
        " ".join(random.sample(random.choice(documents).split(), random.randint(1, 3)))
        for _ in range(QUERIES)
    ]


class BareTable:
    """What the numbers are to be seen against: documents and an FTS5 table over them."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute("CREATE TABLE documents (id INTEGER PRIMARY KEY, content TEXT)")
        self._database.execute(
            "CREATE VIRTUAL TABLE words USING fts5 (content, content='documents', content_rowid=id)"
        )

    def store_many(self, documents: list[str]) -> None:
        self._database.execute("BEGIN")
        for document in documents:
            self._insert(document)
        self._database.execute("COMMIT")

    def store(self, document: str) -> None:
        self.store_many([document])

    def _insert(self, document: str) -> None:
        key = self._database.execute(
            "INSERT INTO documents (content) VALUES (?)", (document,)
        ).lastrowid
        self._database.execute("INSERT INTO words (rowid, content) VALUES (?, ?)", (key, document))

    def search(self, query: str) -> list[tuple[str]]:
        words = " OR ".join(f'"{word}"' for word in query.split())
        return self._database.execute(
            "SELECT documents.content FROM words JOIN documents ON documents.id = words.rowid "
            "WHERE words MATCH ? ORDER BY rank LIMIT 5",
            (words,),
        ).fetchall()

    def close(self) -> None:
        self._database.close()


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    started = clock()
    work()
    return clock() - started


def write_synced(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(4096))
        file.flush()
        os.fsync(file.fileno())


def latencies(
    search: Callable[[str], object],
    asked: list[str],
    clock: Callable[[], float] = time.process_time,
) -> tuple[float, float]:
    """Return the median and the 99th percentile in milliseconds."""
    search(asked[0])
    times = sorted(seconds(lambda query=query: search(query), clock) * 1e3 for query in asked)
    return statistics.median(times), times[int(len(times) * 0.99)]


def measure_sqlite(folder: Path, documents: list[str], more: list[str], asked: list[str]) -> None:
    size = sum(len(text.encode()) for text in [*documents, *more])
    wall = time.perf_counter
    bare, memory = BareTable(folder / "bare.db"), SQLiteMemory(folder / "memory.db")
    bulk_bare = seconds(lambda: bare.store_many(documents)) / len(documents) * 1e6
    bulk = seconds(lambda: memory.store_many(map(Document, documents))) / len(documents) * 1e6
    sync = seconds(lambda: [write_synced(folder / "plain") for _ in range(200)], wall) / 200 * 1e6
    row("4 KB written to a file and synced to the disk", sync, "us")
    row("store_many, a document", bulk, "us", 50, f"bare FTS5 {bulk_bare:.1f} us")
    one_bare = seconds(lambda: [bare.store(text) for text in more], wall) / len(more) * 1e6
    one = seconds(lambda: [memory.store(text) for text in more], wall) / len(more) * 1e6
    row("store, one by one and durable", one, "us", 500, f"bare FTS5 {one_bare:.0f} us")
    median_bare, late_bare = latencies(bare.search, asked)
    median, late = latencies(memory.retrieve, asked)
    row("retrieve 1-3 words, top 5, median", median, "ms", 5, f"bare FTS5 {median_bare:.1f} ms")
    row("retrieve 1-3 words, top 5, 99th percentile", late, "ms", 30, f"bare {late_bare:.1f} ms")
    bare.close()
    memory.close()
    ratio_bare = (folder / "bare.db").stat().st_size / size
    ratio = (folder / "memory.db").stat().st_size / size
    row("file, times the text", ratio, "x", 3, f"bare FTS5 {ratio_bare:.2f} x")


def measure_script(folder: Path, name: str, letters: Sequence[str]) -> None:
    words = vocabulary(letters, (1, 2, 2, 3), 5000)
    documents = written(words, DOCUMENTS // 5, between="")
    with SQLiteMemory(folder / f"{name}.db") as memory:
        bulk = seconds(lambda: memory.store_many(map(Document, documents))) / len(documents)
        asked = random.choices(words, k=QUERIES)
        median, late = latencies(memory.retrieve, asked)
    size = (folder / f"{name}.db").stat().st_size
    ratio = size / sum(len(text.encode()) for text in documents)
    row(f"{name}: store_many, a document of 20 words", bulk * 1e6, "us")
    late_note = f"99th {late:.1f} ms"
    row(f"{name}: retrieve a word of 20,000 documents, median", median, "ms", None, late_note)
    row(f"{name}: file, times the text", ratio, "x", 3)


def measure_postgres(memory: RankedMemory, documents: list[str], asked: list[str]) -> None:
    wall = time.perf_counter
    bulk = seconds(lambda: memory.store_many(map(Document, documents)), wall) / len(documents)
    row("PostgreSQL: store_many, a document", bulk * 1e6, "us")
    one = seconds(lambda: [memory.store(text) for text in documents[:500]], wall) / 500 * 1e6
    row("PostgreSQL: store, one by one", one, "us")
    median, late = latencies(memory.retrieve, asked, wall)
    row("PostgreSQL: retrieve 1-3 words, median", median, "ms", None, f"99th {late:.1f} ms")


if __name__ == "__main__":
    random.seed(1)
    english = vocabulary("abcdefghijklmnopqrstuvwxyz", range(3, 11), 20_000)
    texts = written(english, DOCUMENTS + DURABLE, between=" ")
    wanted = queries(texts)
    with tempfile.TemporaryDirectory() as place:
        measure_sqlite(Path(place), texts[:DOCUMENTS], texts[DOCUMENTS:], wanted)
        measure_script(Path(place), "Thai", _THAI)
        measure_script(Path(place), "Chinese", _CHINESE)
    if len(sys.argv) > 1:
        from openjarvis.memory.postgres import PostgresMemory

        with PostgresMemory(sys.argv[1]) as postgres:
            measure_postgres(postgres, texts[:DOCUMENTS], wanted)
