"""How much a program keeps on disk, measured while it may be trying to hide it.

What cannot be measured counts as too much: a folder that is closed to us, or deeper than a program
needs.
"""

import os
import stat
from pathlib import Path
from typing import Final

DEEPEST: Final = 40
"""How many folders may lie in one another."""


class _TooMuch(Exception):
    """A bound was passed, or could not be checked."""


class Usage:
    """Counts bytes and entries against their bounds."""

    def __init__(self, *, most_bytes: int, most_entries: int) -> None:
        self._bytes_left = most_bytes
        self._entries_left = most_entries

    def is_over(self, folder: int, *, pid: int | None) -> bool:
        """Tell whether a folder, with what the process `pid` holds open, passes a bound."""
        try:
            self._add_folder(folder, DEEPEST)
            if pid is not None:
                self._add_removed(pid)
        except _TooMuch:
            return True
        return False

    def _add_folder(self, folder: int, depth: int) -> None:
        # By its descriptor, for the program may swap a path for a link meanwhile.
        if not depth:
            raise _TooMuch
        for name in self._add_entries(folder):
            try:
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            except (FileNotFoundError, NotADirectoryError):  # it was removed or replaced meanwhile
                continue
            except OSError as error:
                raise _TooMuch from error
            try:
                self._add_folder(inner, depth - 1)
            finally:
                os.close(inner)

    def _add_entries(self, folder: int) -> list[str]:
        """Count what lies in a folder itself; return the names of its folders."""
        folders: list[str] = []
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    self._add(_disk_bytes(entry), entries=1)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
        except FileNotFoundError:  # the folder was removed meanwhile
            return []
        except OSError as error:
            raise _TooMuch from error
        return folders

    def _add_removed(self, pid: int) -> None:
        """Count files that were removed and are still open: no folder shows them."""
        seen: set[tuple[int, int]] = set()
        for link in _open_files(pid):
            try:
                found = link.stat()
            except OSError:  # it was closed meanwhile
                continue
            is_removed = stat.S_ISREG(found.st_mode) and found.st_nlink == 0
            if is_removed and (found.st_dev, found.st_ino) not in seen:
                seen.add((found.st_dev, found.st_ino))
                self._add(found.st_blocks * 512, entries=1)

    def _add(self, size: int, *, entries: int) -> None:
        self._bytes_left -= size
        self._entries_left -= entries
        if self._bytes_left < 0 or self._entries_left < 0:
            raise _TooMuch


def _open_files(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # it has ended, or this system has no /proc
        return []


def _disk_bytes(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError:
        return 0
