"""The folder that a sandboxed program works in: made, watched, and removed, whatever happened.

A process that is killed cannot clean up. Each folder is locked for as long as its owner lives, so
that whoever comes next can tell a forgotten one and remove it.
"""

import os
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from openjarvis.sandbox.cleaner import empty
from openjarvis.sandbox.usage import Usage

if sys.platform != "win32":
    import fcntl

_PREFIX = "openjarvis-"


class Workplace:
    """A new, empty folder that only its owner may enter."""

    def __init__(self) -> None:
        _remove_forgotten(tempfile.gettempdir())
        self.path, self._lock = _make()

    def is_over(self, *, most_bytes: int, most_entries: int, pid: int | None = None) -> bool:
        """Tell whether its files, with the removed ones that `pid` holds open, pass a bound.

        Links are not followed. What cannot be looked at counts as over.
        """
        usage = Usage(most_bytes=most_bytes, most_entries=most_entries)
        return usage.is_over(self._lock, pid=pid)

    def remove(self) -> None:
        """Remove it with all that is in it; twice is fine."""
        if self._lock >= 0:
            folder, self._lock = self._lock, -1
            _remove(self.path, folder)


def _make() -> tuple[str, int]:
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX)
        lock = _locked(path)
        if lock is not None and Path(path).exists():
            return path, lock
        # Somebody took it for a forgotten one in the moment before it was locked.
        if lock is not None:
            os.close(lock)


def _locked(path: str) -> int | None:
    """Return a descriptor that holds the lock of a folder, None when another process does."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(folder)
        return None
    return folder


@lru_cache(maxsize=1)
def _remove_forgotten(parent: str) -> None:
    """Remove the folders of owners that were killed; once for a process."""
    for path in Path(parent).glob(_PREFIX + "*"):
        try:
            is_ours = path.lstat().st_uid == os.getuid() and path.is_dir()
        except OSError:
            continue
        lock = _locked(str(path)) if is_ours else None
        if lock is not None:
            _remove(str(path), lock)


def _remove(path: str, folder: int) -> None:
    """Remove the folder `path`, whose descriptor `folder` is closed; what cannot go stays."""
    try:
        empty(folder)
        with suppress(OSError):
            Path(path).rmdir()
    finally:
        os.close(folder)
