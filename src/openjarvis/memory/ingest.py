"""Files and folders into a memory: what changed is stored anew, what vanished is forgotten.

Each file is replaced in one step, so a run that is broken off leaves a sound memory, and the next
run goes on from there.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from openjarvis.memory import readers
from openjarvis.memory.base import Document, MemoryBackend
from openjarvis.memory.chunking import CHUNK_OVERLAP, CHUNK_SIZE, check_sizes, chunk
from openjarvis.memory.files import (
    MAX_BYTES,
    Listing,
    Skip,
    SkippedFile,
    list_files,
    read_file,
)

Progress = Callable[[int, int, Path], None]
"""Called before each file: how many are done, how many there are, and which one is next."""


@dataclass(slots=True)
class Summary:
    """What an index run did: numbers of files, of chunks stored, and of files skipped by reason.

    `notes` has a line for each file that was looked at and not stored.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    skipped: Counter[Skip] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {
            "added": self.added,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "removed": self.removed,
            "chunks": self.chunks,
            "skipped": {reason.value: count for reason, count in sorted(self.skipped.items())},
            "notes": self.notes,
        }

    def __str__(self) -> str:
        stored = self.added + self.updated
        told = [f"Indexed {_counted(stored, 'file')} in {_counted(self.chunks, 'chunk')}"]
        told += [f"{self.unchanged} unchanged"] if self.unchanged else []
        told += [f"{self.removed} removed"] if self.removed else []
        told += [f"{count} skipped ({reason})" for reason, count in sorted(self.skipped.items())]
        return "; ".join(told) + "."


def index(
    memory: MemoryBackend,
    path: Path,
    *,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
    max_bytes: int = MAX_BYTES,
    within: Path | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Store the file at `path`, or those in the folder, and return what was done.

    A memory that follows files (`FileIndex`) skips those it has as they are, replaces changed ones
    and forgets those that are gone; another stores all. No link below the real folder `within` (by
    default `path` itself) is followed.

    Raises:
        FileNotFoundError: when nothing is at `path`.
        ValueError: when the chunk sizes make no sense.
        MemoryFailed: when the memory cannot be written.
    """
    check_sizes(chunk_size, chunk_overlap)
    root = Path(os.path.realpath(path.expanduser()))
    if not root.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    base = within or (root if root.is_dir() else root.parent)
    run = _Run(memory, root, base, chunk_size, chunk_overlap, max_bytes)
    return run.over(list_files(root), progress or (lambda *_: None))


class _Run:
    """One run over a file or folder."""

    def __init__(
        self,
        memory: MemoryBackend,
        root: Path,
        base: Path,
        size: int,
        overlap: int,
        max_bytes: int,
    ) -> None:
        self._memory = memory
        # Anything with a memory's `store` will do; only our own kind can follow files.
        self._files = memory.file_index if isinstance(memory, MemoryBackend) else None
        self._base = base
        self._size = size
        self._overlap = overlap
        self._max_bytes = max_bytes
        self._known = self._files.indexed_files(_name(root)) if self._files else {}
        self._summary = Summary()

    def over(self, listing: Listing, progress: Progress) -> Summary:
        self._summary.skipped.update(listing.skipped)
        for number, path in enumerate(listing.files):
            progress(number, len(listing.files), path)
            try:
                self._store(path)
            except SkippedFile as skipped:
                self._pass_over(path, skipped.reason)
            self._known.pop(_name(path), None)
        # Of files in a folder that could not be read nothing is known; they may still be there.
        for known in self._known:
            if not any(Path(known).is_relative_to(_name(folder)) for folder in listing.unread):
                self._forget(known)
        return self._summary

    def _store(self, path: Path) -> None:
        content = read_file(self._base, path, limit=self._max_bytes)
        digest = self._digest(content)
        known = self._known.get(_name(path))
        if known == digest:
            self._summary.unchanged += 1
            return
        text = readers.read_text(path, content)
        chunks = chunk(text, size=self._size, overlap=self._overlap)
        documents = [
            Document(piece, _name(path), {"chunk": number} if len(chunks) > 1 else None)
            for number, piece in enumerate(chunks, 1)
        ]
        if self._files:
            self._files.replace_file(_name(path), digest, documents)
        else:
            for document in documents:
                self._memory.store(
                    document.content, source=document.source, metadata=document.metadata
                )
        self._summary.chunks += len(chunks)
        if known is None:
            self._summary.added += 1
        else:
            self._summary.updated += 1

    def _pass_over(self, path: Path, reason: Skip) -> None:
        self._summary.skipped[reason] += 1
        self._summary.notes.append(f"{_name(path)}: {reason}")
        # What cannot be read for now is kept as it was known; else what is known is out of date.
        if _name(path) in self._known and reason is not Skip.UNREADABLE:
            self._forget(_name(path))

    def _forget(self, path: str) -> None:
        if self._files:
            self._files.forget_file(path)
            self._summary.removed += 1

    def _digest(self, content: bytes) -> str:
        """Return what changes when the file's chunks would."""
        settings = f"{readers.VERSION} {self._size} {self._overlap}".encode()
        return blake2b(content, digest_size=16, key=settings).hexdigest()


def _name(path: Path) -> str:
    """Return the path as text that any database takes, its bytes in no encoding escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
