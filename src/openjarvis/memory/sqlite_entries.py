"""The statements on a memory file: entries written, removed and looked up inside a transaction."""

from collections.abc import Collection, Sequence
from sqlite3 import Connection

from openjarvis.memory.ranked import Entry, FileVersion, Row
from openjarvis.memory.ranking import MOST_SCORED, Corpus, Plan
from openjarvis.memory.segment import Query, document_terms
from openjarvis.memory.vectors import HeldVectors, Vector, VectorState, check_dimension, dimension

_ADD_TERMS = "INSERT INTO entries (rowid, terms) VALUES (?, ?)"
_REMOVE_TERMS = "INSERT INTO entries (entries, rowid, terms) VALUES ('delete', ?, ?)"


def insert(database: Connection, entries: Sequence[Entry], file: FileVersion | None) -> list[int]:
    """Write the entries and return their ids; with a file, in the place of what it had."""
    owner = _renewed_file(database, file) if file else None
    (last,) = database.execute(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'documents'"
    ).fetchone()
    keys = list(range(last + 1, last + 1 + len(entries)))
    numbered = list(zip(keys, entries, strict=True))
    database.executemany(
        "INSERT INTO documents (id, content, source, metadata, file) VALUES (?, ?, ?, ?, ?)",
        ((key, entry.content, entry.source, entry.metadata, owner) for key, entry in numbered),
    )
    database.executemany(_ADD_TERMS, ((key, " ".join(entry.terms)) for key, entry in numbered))
    database.execute(
        "UPDATE state SET documents = documents + ?, words = words + ?",
        (len(entries), sum(len(entry.terms) for entry in entries)),
    )
    add_vectors(database, [(key, entry.vector) for key, entry in numbered if entry.vector])
    return keys


def remove(database: Connection, keys: Sequence[int]) -> int:
    """Remove the documents of these ids and return how many there were."""
    words = vectors = documents = 0
    for key in keys:
        found = database.execute("SELECT content FROM documents WHERE id = ?", (key,)).fetchone()
        if found:
            terms = document_terms(found[0])
            database.execute(_REMOVE_TERMS, (key, " ".join(terms)))
            vectors += database.execute("DELETE FROM vectors WHERE document = ?", (key,)).rowcount
            database.execute("DELETE FROM documents WHERE id = ?", (key,))
            words, documents = words + len(terms), documents + 1
    database.execute(
        "UPDATE state SET documents = documents - ?, words = words - ?, removed = removed + ?",
        (documents, words, vectors),
    )
    return documents


def clear(database: Connection) -> None:
    """Remove everything, ids given so far excepted: they are not given again."""
    database.execute("INSERT INTO entries (entries) VALUES ('delete-all')")
    forget_vectors(database)
    database.execute("DELETE FROM documents")
    database.execute("DELETE FROM files")
    database.execute("UPDATE state SET documents = 0, words = 0")


def indexed_files(database: Connection, folder: str, below: str, past: str) -> dict[str, str]:
    """Return the digests of the file `folder` and of the files between `below` and `past`."""
    return dict(
        database.execute(
            "SELECT path, digest FROM files WHERE path = ? OR (path > ? AND path < ?)",
            (folder, below, past),
        )
    )


def forget_file(database: Connection, path: str) -> None:
    """Remove a file and its documents."""
    for (owner,) in database.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchall():
        keys = database.execute("SELECT id FROM documents WHERE file = ?", (owner,)).fetchall()
        remove(database, [key for (key,) in keys])
        database.execute("DELETE FROM files WHERE id = ?", (owner,))


def _renewed_file(database: Connection, file: FileVersion) -> int:
    forget_file(database, file.path)
    inserted = database.execute("INSERT INTO files (path, digest) VALUES (?, ?)", file)
    return int(inserted.lastrowid or 0)


def count(database: Connection) -> int:
    """Return the number of documents."""
    (documents,) = database.execute("SELECT documents FROM state").fetchone()
    return int(documents)


def corpus(database: Connection, query: Query) -> Corpus:
    """Return the size of the memory, and in how many documents each part of `query` stands."""
    documents, words = database.execute("SELECT documents, words FROM state").fetchone()
    holding: dict[str, int] = {}
    for term in query.terms:
        # One by one: the virtual table looks a single term up, and reads all for a list.
        holding |= database.execute("SELECT term, doc FROM vocabulary WHERE term = ?", (term,))
    for character in query.characters:
        (holding[character],) = database.execute(
            "SELECT count(*) FROM entries WHERE entries MATCH ?", (_beginning(character),)
        ).fetchone()
    return Corpus(documents, words, holding)


def candidates(database: Connection, search: Plan, limit: int) -> list[Row]:
    """Return the best `limit` documents for `search` by FTS5's own measure.

    Of more matches than can be weighed in good time, the latest are.
    """
    found = database.execute(
        """
        SELECT id, content, source, metadata FROM documents JOIN (
            SELECT rowid AS found, worth FROM (
                SELECT rowid, bm25(entries) AS worth FROM entries
                WHERE entries MATCH ? ORDER BY rowid DESC LIMIT ?
            ) ORDER BY worth, found LIMIT ?
        ) ON id = found
        """,
        (_expression(search), MOST_SCORED, limit),
    )
    return [Row(*row) for row in found]


def _expression(search: Plan) -> str:
    every = _any_of(search.terms, search.characters)
    if search.narrow == search.terms:
        return every
    # The second half changes no match; it lets the words left out of `narrow` count for the order.
    return f"({_any_of(search.narrow, search.characters)}) AND ({every})"


def _any_of(terms: Sequence[str], characters: Collection[str]) -> str:
    # No term has a quotation mark in it.
    return " OR ".join(_beginning(term) if term in characters else f'"{term}"' for term in terms)


def _beginning(character: str) -> str:
    return f'"{character}" *'


def _rows(database: Connection, keys: Sequence[int], limit: int) -> list[Row]:
    """Return the first `limit` documents of `keys` that still exist, in the order of `keys`."""
    rows: list[Row] = []
    for key in keys:
        found = database.execute(
            "SELECT id, content, source, metadata FROM documents WHERE id = ?", (key,)
        ).fetchone()
        if found and len(rows) < limit:
            rows.append(Row(*found))
    return rows


def contents_after(database: Connection, key: int, limit: int) -> list[tuple[int, str]]:
    """Return ids and contents of the `limit` documents that follow `key`."""
    return database.execute(
        "SELECT id, content FROM documents WHERE id > ? ORDER BY id LIMIT ?", (key, limit)
    ).fetchall()


def add_vectors(database: Connection, vectors: Sequence[tuple[int, Vector]]) -> None:
    """Keep vectors of documents, those of removed documents excepted.

    Raises:
        MemoryFailed: when they are of another dimension than the ones that are here.
    """
    if not vectors:
        return
    (stored,) = database.execute("SELECT dimension FROM state").fetchone()
    for _, vector in vectors:
        check_dimension(vector, stored)
    database.execute("UPDATE state SET dimension = ?", (dimension(vectors[0][1]),))
    database.executemany(
        "INSERT OR IGNORE INTO vectors (document, vector) "
        "SELECT id, ?2 FROM documents WHERE id = ?1",
        vectors,
    )


def forget_vectors(database: Connection) -> None:
    """Remove all vectors; the next may have any dimension."""
    database.execute("DELETE FROM vectors")
    database.execute("UPDATE state SET dimension = NULL, embedding = embedding + 1")


def nearest(database: Connection, held: HeldVectors, vector: Vector, limit: int) -> list[Row]:
    """Return the `limit` documents whose vectors are most like `vector`, the likest first."""
    found = database.execute("SELECT dimension, embedding, removed FROM state").fetchone()
    keys = held.nearest(
        vector,
        limit,
        state=VectorState(*found),
        added=lambda position: database.execute(
            "SELECT position, document, vector FROM vectors WHERE position > ? ORDER BY position",
            (position,),
        ).fetchall(),
    )
    return _rows(database, keys, limit)
