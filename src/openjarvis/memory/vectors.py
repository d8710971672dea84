"""Vectors of meaning beside the words: checked, made comparable, and searched."""

import math
from array import array
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from openjarvis.core.extras import how_to_install
from openjarvis.memory.base import Embedder, MemoryFailed

if TYPE_CHECKING:
    import numpy as np

Vector = bytes
"""A vector of length one as 32-bit floats, so that the product of two is their likeness."""

_BYTES_A_NUMBER = 4
_MOST_STALE = 1000  # removed entries whose vectors may still be held


def embed(embedder: Embedder, texts: list[str]) -> list[Vector]:
    """Return the vectors of `texts`, each of length one.

    Raises:
        MemoryFailed: when the embedder gave something else than one vector of numbers a text.
    """
    if not texts:
        return []
    vectors = embedder(texts)
    if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) != 1:
        raise MemoryFailed(
            f"The embedder must give one vector a text, all of one dimension; for {len(texts)} "
            f"texts it gave vectors of {[len(vector) for vector in vectors][:5]} numbers."
        )
    return [_unit(vector) for vector in vectors]


def dimension(vector: Vector) -> int:
    """Return how many numbers `vector` holds."""
    return len(vector) // _BYTES_A_NUMBER


def check_dimension(vector: Vector, stored: int | None) -> None:
    """Do nothing when `vector` can be compared with those of the memory.

    Raises:
        MemoryFailed: when it is of another dimension.
    """
    if stored is not None and dimension(vector) != stored:
        raise MemoryFailed(
            f"This memory holds vectors of {stored} numbers, and the embedder gives "
            f"{dimension(vector)}. Use the embedder that the memory was made with, or call "
            "embed_again() to make all vectors anew."
        )


def _unit(vector: Sequence[float]) -> Vector:
    length = math.sqrt(sum(number * number for number in vector))
    if not vector or not math.isfinite(length):
        raise MemoryFailed("The embedder gave a vector that is empty or not of finite numbers.")
    return array("f", [number / length for number in vector] if length else vector).tobytes()


class VectorState(NamedTuple):
    """What a database knows of its vectors as a whole.

    `embedding` counts how often all were given up, `removed` how many were removed one by one.
    """

    dimension: int | None
    embedding: int
    removed: int


class HeldVectors:
    """The vectors of a database, held in this process and kept up to date; any thread may ask."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._table: _Table | None = None
        self._state = VectorState(None, -1, 0)
        self._position = 0

    def nearest(
        self,
        vector: Vector,
        limit: int,
        *,
        state: VectorState,
        added: Callable[[int], list[tuple[int, int, bytes]]],
    ) -> list[int]:
        """Return ids by likeness: `limit` of entries that exist, and maybe some that do not.

        `added` gives position, id and vector of those behind a position, in order.

        Raises:
            MemoryFailed: when `vector` is of another dimension than the stored ones.
        """
        check_dimension(vector, state.dimension)
        with self._lock:
            stale = state.removed - self._state.removed
            outdated = state.embedding != self._state.embedding or stale > _MOST_STALE
            if self._table is None or outdated:
                self._table, self._state, self._position, stale = _Table(), state, 0, 0
            rows = added(self._position)
            if rows:
                self._position = rows[-1][0]
                self._table.add([(key, blob) for _, key, blob in rows])
            return self._table.nearest(vector, limit + stale)


class _Table:
    """Vectors with their ids."""

    def __init__(self) -> None:
        self._numpy = _numpy()
        self._ids: list[int] = []
        self._blocks: list[np.ndarray] = []

    def add(self, rows: Sequence[tuple[int, bytes]]) -> None:
        block = self._numpy.frombuffer(b"".join(blob for _, blob in rows), dtype="f4")
        self._ids += [key for key, _ in rows]
        self._blocks.append(block.reshape(len(rows), -1))
        # A small block joins one of its size, so that one vector more does not copy all.
        while len(self._blocks) > 1 and len(self._blocks[-2]) <= len(self._blocks[-1]):
            self._blocks[-2:] = [self._numpy.concatenate(self._blocks[-2:])]

    def nearest(self, vector: Vector, limit: int) -> list[int]:
        """Return the ids of the `limit` likest, the likest first."""
        if not self._ids:
            return []
        wanted = self._numpy.frombuffer(vector, dtype="f4")
        likeness = self._numpy.concatenate([block @ wanted for block in self._blocks])
        limit = min(limit, len(likeness))
        best = self._numpy.argpartition(-likeness, limit - 1)[:limit]
        return [self._ids[place] for place in best[self._numpy.argsort(-likeness[best])]]


def _numpy() -> Any:
    try:
        import numpy as np
    except ImportError as exc:
        raise MemoryFailed(
            f"Searching by vectors needs numpy: {how_to_install('vectors')}."
        ) from exc
    return np
