"""Empties a folder that hostile code has filled: as deep, as closed and as oddly named as it likes.

It goes down and up by directory descriptors, one at a time, and never by long paths: neither
recursion, nor descriptors, nor `PATH_MAX` bound the depth.
"""

import os
import stat
from contextlib import suppress


def empty(folder: int) -> None:
    """Remove all that is in the folder of this descriptor; what cannot be removed is left.

    Nobody else may be at work in it: the program that could swap a folder for a link is dead.
    """
    current = os.dup(folder)
    try:
        with suppress(OSError):
            os.fchmod(current, stat.S_IRWXU)
        way: list[str] = []
        waiting = [_remove_files(current)]
        while way or waiting[-1]:
            if waiting[-1]:
                name = waiting[-1].pop()
                inner = _opened(name, current)
                if inner is None:
                    continue
                os.close(current)
                current = inner
                way.append(name)
                waiting.append(_remove_files(current))
            else:
                above = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=current)
                os.close(current)
                current = above
                waiting.pop()
                with suppress(OSError):
                    os.rmdir(way.pop(), dir_fd=current)
    except OSError:  # the way back up is closed: what is left stays
        return
    finally:
        os.close(current)


def _remove_files(folder: int) -> list[str]:
    """Remove all from a folder but the folders in it; return their names."""
    folders: list[str] = []
    with suppress(OSError):
        for name in os.listdir(folder):
            with suppress(OSError):
                if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    folders.append(name)
                else:
                    os.unlink(name, dir_fd=folder)
    return folders


def _opened(name: str, within: int) -> int | None:
    try:
        os.chmod(name, stat.S_IRWXU, dir_fd=within)
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=within)
    except OSError:
        return None
