"""The tables of a memory file: made, checked and brought up to date when it is opened."""

from sqlite3 import Connection

from openjarvis.memory.base import MemoryFailed
from openjarvis.memory.connections import Connections
from openjarvis.memory.segment import VERSION, document_terms, is_older

APPLICATION_ID = 0x4A41524D  # "JARM", in the header of the file
SCHEMA = 1

_TABLES = """
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, digest TEXT NOT NULL);
CREATE TABLE documents (
    -- AUTOINCREMENT: an id is never used again, so an id that a caller kept cannot turn into
    -- another text.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    content TEXT NOT NULL,
    source TEXT NOT NULL,
    metadata TEXT,
    file INTEGER REFERENCES files (id)
);
CREATE INDEX documents_of_file ON documents (file) WHERE file IS NOT NULL;
-- The terms come from the segmenter; between them stands ASCII white space only. The table keeps
-- no text of its own, so an entry is removed by telling its terms again.
CREATE VIRTUAL TABLE entries USING fts5 (terms, content = '', tokenize = 'ascii');
-- More is gathered in memory before it is written: fewer pieces to merge, a smaller file.
INSERT INTO entries (entries, rank) VALUES ('hashsize', 8000000);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (entries, row);
-- Vectors are added and removed, never changed, and positions only grow: whoever holds vectors
-- in memory takes in those behind the last that it has.
CREATE TABLE vectors (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL UNIQUE REFERENCES documents (id) ON DELETE CASCADE,
    vector BLOB NOT NULL
);
-- One row. `embedding` counts how often all vectors were given up, `removed` how many one by one.
CREATE TABLE state (
    segmenter TEXT NOT NULL,
    documents INTEGER NOT NULL DEFAULT 0,
    words INTEGER NOT NULL DEFAULT 0,
    dimension INTEGER,
    embedding INTEGER NOT NULL DEFAULT 0,
    removed INTEGER NOT NULL DEFAULT 0
);
"""


def prepare(database: Connections) -> None:
    """Make the tables of a new file; bring those of an older one up to date.

    Raises:
        MemoryFailed: when the file belongs to another program, or to a newer version of this one.
    """
    if not database.read(_is_current):
        database.write(_bring_up_to_date)


def _is_current(connection: Connection) -> bool:
    return _schema(connection) == SCHEMA and not is_older(_segmenter(connection))


def _bring_up_to_date(connection: Connection) -> None:
    if _schema(connection) == 0:
        _create(connection)
    elif is_older(_segmenter(connection)):
        index_again(connection)


def _schema(connection: Connection) -> int:
    """Return the version of the tables; zero for an empty file."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION_ID and version > SCHEMA:
        raise MemoryFailed(
            "This memory was made by a newer version of openjarvis; update openjarvis to open it."
        )
    empty = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    if application != APPLICATION_ID and not empty:
        raise MemoryFailed(
            "This file is a database of another program, and it was left as it is; give the "
            "memory a file of its own."
        )
    return int(version)


def _create(connection: Connection) -> None:
    for statement in _TABLES.split(";\n"):
        connection.execute(statement)
    connection.execute("INSERT INTO state (segmenter) VALUES (?)", (VERSION,))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _segmenter(connection: Connection) -> str:
    (version,) = connection.execute("SELECT segmenter FROM state").fetchone()
    return str(version)


def index_again(connection: Connection) -> None:
    """Index every entry by the present segmenter."""
    connection.execute("INSERT INTO entries (entries) VALUES ('delete-all')")
    words = 0
    for key, content in connection.execute("SELECT id, content FROM documents ORDER BY id"):
        terms = document_terms(content)
        words += len(terms)
        connection.execute(
            "INSERT INTO entries (rowid, terms) VALUES (?, ?)", (key, " ".join(terms))
        )
    connection.execute("UPDATE state SET segmenter = ?, words = ?", (VERSION, words))
