"""How much a program has written into its workplace."""

import os
import shutil
import stat
from collections.abc import Callable
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
    shutil.rmtree(folder, onerror=_open_and_retry)


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError:
        return 0


def _open_and_retry(action: Callable[..., object], path: str, _error: object) -> None:
    # Nobody else is here any more: the program that could swap a folder for a link is dead.
    for one in (Path(path).parent, Path(path)):
        if one.exists() and not one.is_symlink():
            one.chmod(stat.S_IRWXU)
    try:
        if Path(path).is_dir() and not Path(path).is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            Path(path).unlink(missing_ok=True)
    except OSError:
        return
