"""The vectors of a memory file, held in this process and kept up to date by what was added."""

from sqlite3 import Connection
from threading import Lock

from openjarvis.memory.vectors import Vector, VectorTable, check_dimension

_MOST_STALE = 1000  # removed documents whose vectors may still be held


class HeldVectors:
    """Answers which documents are nearest; any thread may ask."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._table = VectorTable()
        self._embedding = -1
        self._removed = 0

    def nearest(self, database: Connection, vector: Vector, limit: int) -> list[int]:
        """Return ids by likeness: `limit` of documents that exist, and maybe some that do not.

        Raises:
            MemoryFailed: when `vector` is of another dimension than the stored ones.
        """
        dimension, embedding, removed = database.execute(
            "SELECT dimension, embedding, removed FROM state"
        ).fetchone()
        check_dimension(vector, dimension)
        with self._lock:
            if embedding != self._embedding or removed - self._removed > _MOST_STALE:
                self._table = VectorTable()
                self._embedding, self._removed = embedding, removed
            added = database.execute(
                "SELECT document, vector FROM vectors WHERE document > ? ORDER BY document",
                (self._table.last,),
            )
            self._table.add(added.fetchall())
            return self._table.nearest(vector, limit + removed - self._removed)
