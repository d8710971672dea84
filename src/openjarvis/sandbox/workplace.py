"""The folder that a sandboxed program works in: made, watched, and removed, whatever happened.

A process that is killed cannot clean up. Each folder is locked for as long as its owner lives, so
that whoever comes next can tell a forgotten one and remove it.
"""

import os
import shutil
import stat
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_PREFIX = "openjarvis-"


class Workplace:
    """A new, empty folder that only its owner may enter."""

    def __init__(self) -> None:
        _remove_forgotten(tempfile.gettempdir())
        self.path, self._lock = _make()

    def is_over(self, *, most_bytes: int, most_entries: int) -> bool:
        """Tell whether the files in it pass a bound; links are not followed."""
        used = entries = 0
        waiting = [self.path]
        while waiting:
            try:
                with os.scandir(waiting.pop()) as found:
                    for entry in found:
                        entries += 1
                        used += _size(entry)
                        if used > most_bytes or entries > most_entries:
                            return True
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
            except OSError:  # it went away, or was closed to us, while we looked
                continue
        return False

    def remove(self) -> None:
        """Remove it with all that is in it; twice is fine."""
        if self._lock >= 0:
            _remove(self.path)
            os.close(self._lock)
            self._lock = -1


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
            _remove(str(path))
            os.close(lock)


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if Path(folder).exists():
        _open_all(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _open_all(folder: str) -> None:
    # Nobody else is here any more: the program that could swap a folder for a link is dead.
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        try:
            Path(current).chmod(stat.S_IRWXU)
            with os.scandir(current) as found:
                waiting += [one.path for one in found if one.is_dir(follow_symlinks=False)]
        except OSError:
            continue


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError:
        return 0
