"""How much a program has written into its workplace."""

import os
import shutil
import stat
from pathlib import Path


def is_over(folder: str, *, most_bytes: int, most_entries: int) -> bool:
    """Tell whether the files below `folder` pass a bound; links are not followed."""
    used = entries = 0
    waiting = [folder]
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


def remove(folder: str) -> None:
    """Remove `folder` with all that is in it, folders that were closed to us included."""
    shutil.rmtree(folder, ignore_errors=True)
    if Path(folder).exists():
        _open_all(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError:
        return 0


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
