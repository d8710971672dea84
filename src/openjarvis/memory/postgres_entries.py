"""The statements on a memory in PostgreSQL; each function works inside the caller's transaction."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, LiteralString

from openjarvis.memory.ranked import Entry, FileVersion, Row
from openjarvis.memory.ranking import LENGTH_WEIGHT, MOST_SCORED, SATURATION, Corpus, Plan
from openjarvis.memory.segment import Query, characters_of, document_terms, fold
from openjarvis.memory.vectors import HeldVectors, Vector, VectorState, check_dimension, dimension

if TYPE_CHECKING:
    from psycopg import Connection

_BATCH = 500

# Vectors are told apart from those already known by their positions, so they must become visible
# in the order of their positions: one transaction adds them at a time.
_VECTORS_IN_TURN: LiteralString = (
    "SELECT pg_advisory_xact_lock(hashtextextended('openjarvis_vectors', 0))"
)


def reserve(connection: "Connection", number: int) -> list[int]:
    """Return as many ids that nobody else gets."""
    rows = connection.execute(
        "SELECT nextval('openjarvis_ids') FROM generate_series(1, %s)", (number,)
    )
    return [key for (key,) in rows]


def insert(
    connection: "Connection",
    numbered: Sequence[tuple[int, Entry]],
    file: FileVersion | None,
) -> None:
    """Write the entries; with a file, in the place of what it had. Doing it twice is as once."""
    owner = _renewed_file(connection, file) if file else None
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO openjarvis_documents (id, content, source, metadata, file, terms, length) "
            "VALUES (%s, %s, %s, %s, %s, %s::jsonb, %s) ON CONFLICT (id) DO NOTHING",
            [
                (
                    key,
                    entry.content,
                    entry.source,
                    entry.metadata,
                    owner,
                    _counted(entry.content, entry.terms),
                    len(entry.terms),
                )
                for key, entry in numbered
            ],
        )
    add_vectors(connection, [(key, entry.vector) for key, entry in numbered if entry.vector])


def _counted(content: str, terms: Sequence[str]) -> str:
    """Return JSON of how often each term, and each character that may be asked for, stands there.

    This index cannot be asked what terms begin with.
    """
    characters = Counter(characters_of(fold(content)))
    return json.dumps(Counter(terms) | characters, ensure_ascii=False)


def _renewed_file(connection: "Connection", file: FileVersion) -> int:
    ((owner,),) = connection.execute(
        "INSERT INTO openjarvis_files (path, digest) VALUES (%s, %s) "
        "ON CONFLICT (path) DO UPDATE SET digest = excluded.digest RETURNING id",
        file,
    ).fetchall()
    _remove_documents_of(connection, owner)
    return int(owner)


def remove(connection: "Connection", keys: Sequence[int]) -> int:
    """Remove the documents of these ids and return how many there were."""
    vectors = connection.execute(
        "DELETE FROM openjarvis_vectors WHERE document = ANY(%s)", (list(keys),)
    ).rowcount
    if vectors:
        connection.execute("UPDATE openjarvis_state SET removed = removed + %s", (vectors,))
    return connection.execute(
        "DELETE FROM openjarvis_documents WHERE id = ANY(%s)", (list(keys),)
    ).rowcount


def _remove_documents_of(connection: "Connection", owner: int) -> None:
    keys = connection.execute("SELECT id FROM openjarvis_documents WHERE file = %s", (owner,))
    remove(connection, [key for (key,) in keys.fetchall()])


def clear(connection: "Connection") -> None:
    """Remove everything, ids given so far excepted: they are not given again."""
    forget_vectors(connection)
    connection.execute("DELETE FROM openjarvis_documents")
    connection.execute("DELETE FROM openjarvis_files")


def indexed_files(connection: "Connection", folder: str, below: str, past: str) -> dict[str, str]:
    """Return the digests of the file `folder` and of the files between `below` and `past`."""
    return dict(
        connection.execute(
            "SELECT path, digest FROM openjarvis_files "
            "WHERE path = %s OR (path > %s AND path < %s)",
            (folder, below, past),
        ).fetchall()
    )


def forget_file(connection: "Connection", path: str) -> None:
    """Remove a file and its documents."""
    # The lock keeps anyone from adding documents to the file meanwhile.
    for (owner,) in connection.execute(
        "SELECT id FROM openjarvis_files WHERE path = %s FOR UPDATE", (path,)
    ).fetchall():
        _remove_documents_of(connection, owner)
        connection.execute("DELETE FROM openjarvis_files WHERE id = %s", (owner,))


def count(connection: "Connection") -> int:
    """Return the number of documents."""
    ((documents,),) = connection.execute("SELECT count(*) FROM openjarvis_documents").fetchall()
    return int(documents)


def corpus(connection: "Connection", query: Query) -> Corpus:
    """Return the size of the memory, and in how many documents each part of `query` stands."""
    ((documents, words),) = connection.execute(
        "SELECT count(*), coalesce(sum(length), 0)::bigint FROM openjarvis_documents"
    ).fetchall()
    holding = connection.execute(
        "SELECT term, (SELECT count(*) FROM openjarvis_documents WHERE terms ? term) "
        "FROM unnest(%s::text[]) AS term",
        ([*query.terms, *query.characters],),
    )
    return Corpus(documents, words, dict(holding.fetchall()))


def candidates(connection: "Connection", search: Plan, known: Corpus, limit: int) -> list[Row]:
    """Return the best `limit` documents for `search` by BM25.

    Of more matches than can be weighed in good time, the latest are.
    """
    found = connection.execute(
        """
        SELECT id, content, source, metadata FROM openjarvis_documents JOIN (
            SELECT id, (
                SELECT sum(
                    weight * count * %(peak)s / (count + %(fixed)s + %(by_length)s * length)
                )
                FROM unnest(%(terms)s::text[], %(weights)s::float8[]) AS wanted (term, weight)
                CROSS JOIN LATERAL (SELECT (terms ->> term)::float8 AS count) AS present
            ) AS worth
            FROM (
                SELECT id, terms, length FROM openjarvis_documents
                WHERE terms ?| %(narrow)s::text[] ORDER BY id DESC LIMIT %(scored)s
            ) AS matching
            ORDER BY worth DESC, id LIMIT %(limit)s
        ) AS best USING (id)
        """,
        {
            "terms": list(search.terms),
            "weights": [known.weight(term) for term in search.terms],
            "narrow": list(search.narrow),
            "peak": SATURATION + 1,
            "fixed": SATURATION * (1 - LENGTH_WEIGHT),
            "by_length": SATURATION * LENGTH_WEIGHT / known.average_length,
            "scored": MOST_SCORED,
            "limit": limit,
        },
    )
    return [Row(*row) for row in found]


def nearest(connection: "Connection", held: HeldVectors, vector: Vector, limit: int) -> list[Row]:
    """Return the `limit` documents whose vectors are most like `vector`, the likest first."""
    keys = held.nearest(
        vector,
        limit,
        state=_vector_state(connection),
        added=lambda position: connection.execute(
            "SELECT position, document, vector FROM openjarvis_vectors "
            "WHERE position > %s ORDER BY position",
            (position,),
        ).fetchall(),
    )
    rows = connection.execute(
        "SELECT id, content, source, metadata FROM openjarvis_documents WHERE id = ANY(%s)", (keys,)
    )
    found = {row[0]: Row(*row) for row in rows}
    return [found[key] for key in keys if key in found][:limit]


def contents_after(connection: "Connection", key: int, limit: int) -> list[tuple[int, str]]:
    """Return ids and contents of the `limit` documents that follow `key`."""
    return connection.execute(
        "SELECT id, content FROM openjarvis_documents WHERE id > %s ORDER BY id LIMIT %s",
        (key, limit),
    ).fetchall()


def add_vectors(connection: "Connection", vectors: Sequence[tuple[int, Vector]]) -> None:
    """Keep vectors of documents, those of removed documents excepted.

    Raises:
        MemoryFailed: when they are of another dimension than the ones that are here.
    """
    if not vectors:
        return
    connection.execute(_VECTORS_IN_TURN)
    stored = _vector_state(connection).dimension
    for _, vector in vectors:
        check_dimension(vector, stored)
    if stored is None:
        connection.execute(
            "UPDATE openjarvis_state SET dimension = %s", (dimension(vectors[0][1]),)
        )
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO openjarvis_vectors (document, vector) "
            "SELECT id, %s FROM openjarvis_documents WHERE id = %s ON CONFLICT DO NOTHING",
            [(vector, key) for key, vector in vectors],
        )


def forget_vectors(connection: "Connection") -> None:
    """Remove all vectors; the next may have any dimension."""
    connection.execute(_VECTORS_IN_TURN)
    connection.execute("DELETE FROM openjarvis_vectors")
    connection.execute("UPDATE openjarvis_state SET dimension = NULL, embedding = embedding + 1")


def _vector_state(connection: "Connection") -> VectorState:
    (found,) = connection.execute(
        "SELECT dimension, embedding, removed FROM openjarvis_state"
    ).fetchall()
    return VectorState(*found)


def index_again(connection: "Connection") -> None:
    """Index every document by the present segmenter."""
    last = 0
    while batch := contents_after(connection, last, _BATCH):
        last = batch[-1][0]
        segmented = [(key, content, document_terms(content)) for key, content in batch]
        counted = [(_counted(content, terms), len(terms), key) for key, content, terms in segmented]
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE openjarvis_documents SET terms = %s::jsonb, length = %s WHERE id = %s",
                counted,
            )
