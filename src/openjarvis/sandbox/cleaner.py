"""Empties a folder that hostile code has filled: as deep, as closed and as oddly named as it likes.

It works by directory descriptors and never by long paths, and lifts what lies deep up to the top
instead of climbing down, so that neither recursion, nor descriptors, nor `PATH_MAX` bound the depth.
"""

import os
import secrets
import stat
from contextlib import suppress


def empty(folder: int) -> None:
    """Remove all that is in the folder of this descriptor; what cannot be removed is left.

    Nobody else may be at work in it: the program that could swap a folder for a link is dead.
    """
    with suppress(OSError):
        os.fchmod(folder, stat.S_IRWXU)
    while _remove_a_layer(folder):
        pass


def _remove_a_layer(top: int) -> bool:
    """Remove what is in `top`, lifting what its folders hold; tell whether anything changed."""
    changed = False
    for name in _names(top):
        with suppress(OSError):
            if _is_folder(name, top):
                changed |= _lift(name, top)
                os.rmdir(name, dir_fd=top)
            else:
                os.unlink(name, dir_fd=top)
            changed = True
    return changed


def _lift(name: str, top: int) -> bool:
    """Move the folders in the folder `name` up to `top`, and remove its files."""
    os.chmod(name, stat.S_IRWXU, dir_fd=top)
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    changed = False
    try:
        for inner in _names(folder):
            with suppress(OSError):
                _lift_one(inner, folder, top)
                changed = True
    finally:
        os.close(folder)
    return changed


def _lift_one(inner: str, folder: int, top: int) -> None:
    if _is_folder(inner, folder):
        os.chmod(inner, stat.S_IRWXU, dir_fd=folder)  # a closed one does not let itself be moved
        os.rename(inner, secrets.token_hex(8), src_dir_fd=folder, dst_dir_fd=top)
    else:
        os.unlink(inner, dir_fd=folder)


def _is_folder(name: str, within: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)


def _names(folder: int) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
