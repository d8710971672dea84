"""The tables of a memory in PostgreSQL: made and brought up to date when it is opened."""

from typing import TYPE_CHECKING, LiteralString

from openjarvis.memory import postgres_entries as statements
from openjarvis.memory.base import MemoryFailed
from openjarvis.memory.segment import VERSION, is_older

if TYPE_CHECKING:
    from psycopg import Connection

SCHEMA = 1

_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('openjarvis_memory', 0))"

_TABLES: LiteralString = """
CREATE TABLE openjarvis_files (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Bytewise order, so that the files below a folder are a range.
    path text COLLATE "C" NOT NULL UNIQUE,
    digest text NOT NULL
);
CREATE SEQUENCE openjarvis_ids;
CREATE TABLE openjarvis_documents (
    id bigint PRIMARY KEY,
    content text NOT NULL,
    source text NOT NULL,
    metadata text,
    file bigint REFERENCES openjarvis_files (id),
    -- The segmenter's terms, each with how often it stands in the text. A tsvector would count to
    -- 255 only, and lose count in texts of more than 16,383 words.
    terms jsonb NOT NULL,
    length integer NOT NULL
);
CREATE INDEX openjarvis_documents_terms ON openjarvis_documents USING gin (terms)
    -- A search would read through what is waiting to be indexed.
    WITH (fastupdate = off);
CREATE INDEX openjarvis_documents_length ON openjarvis_documents (length);
CREATE INDEX openjarvis_documents_file ON openjarvis_documents (file) WHERE file IS NOT NULL;
CREATE TABLE openjarvis_vectors (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document bigint NOT NULL UNIQUE REFERENCES openjarvis_documents (id) ON DELETE CASCADE,
    vector bytea NOT NULL
);
CREATE TABLE openjarvis_state (
    version integer NOT NULL,
    segmenter text NOT NULL,
    dimension integer,
    embedding bigint NOT NULL DEFAULT 0,
    removed bigint NOT NULL DEFAULT 0
);
"""


def prepare(connection: "Connection") -> None:
    """Make the tables where there are none; bring those of an older version up to date.

    Raises:
        MemoryFailed: when they were made by a newer version of this program.
    """
    # Whoever opens the memory meanwhile waits for the end of this transaction.
    connection.execute(_LOCK)
    there = connection.execute("SELECT to_regclass('openjarvis_state')").fetchone()
    if there == (None,):
        connection.execute(_TABLES)
        connection.execute(
            "INSERT INTO openjarvis_state (version, segmenter) VALUES (%s, %s)", (SCHEMA, VERSION)
        )
        return
    found = connection.execute("SELECT version, segmenter FROM openjarvis_state").fetchone()
    version, segmenter = found or (SCHEMA, VERSION)
    if version > SCHEMA:
        raise MemoryFailed(
            "This memory was made by a newer version of openjarvis; update openjarvis to open it."
        )
    if is_older(segmenter):
        statements.index_again(connection)
        connection.execute("UPDATE openjarvis_state SET segmenter = %s", (VERSION,))
