"""Opening what a real path names, and nothing that a link puts in its place meanwhile.

Where the platform can, every component is opened from the directory before it without following
links; elsewhere the opened file is compared with what the path names afterwards.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

CAN_DESCEND = os.open in os.supports_dir_fd and os.scandir in os.supports_fd


def _flags(*names: str) -> int:
    """Return the flags together; those that the platform does not have are left out."""
    combined = os.O_RDONLY
    for name in names:
        combined |= getattr(os, name, 0)
    return combined


_PASS_THROUGH = _flags("O_PATH", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC")
_LIST = _flags("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC")
# Without O_NONBLOCK a FIFO would hold the caller until somebody writes to it.
_READ = _flags("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")


class NotRegular(OSError):
    """What is there is no regular file."""


class Listing(NamedTuple):
    """The names in a directory, sorted; links and devices are in neither list."""

    files: list[str]
    directories: list[str]


def open_regular(root: Path, parts: Sequence[str]) -> int:
    """Return a descriptor of the regular file that is `parts` below `root`, for reading.

    Raises:
        NotRegular: when it is something else.
        OSError: when it cannot be opened, or a component has become a link.
    """
    if not CAN_DESCEND:
        return _open_and_compare(root.joinpath(*parts))
    if not parts:
        raise NotRegular(errno.EISDIR, "a directory")
    with _directory(root, parts[:-1], _PASS_THROUGH) as parent:
        # A device may act on being opened, so its kind is looked at before and, for certain, after.
        _refuse_other_kinds(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False))
        return _checked(os.open(parts[-1], _READ, dir_fd=parent))


def list_directory(root: Path, parts: Sequence[str]) -> Listing:
    """Return what is in the directory that is `parts` below `root`.

    Raises:
        NotADirectoryError: when it is none.
        OSError: when it cannot be read, or a component has become a link.
    """
    if CAN_DESCEND:
        with _directory(root, parts, _LIST) as descriptor:
            return _listing(descriptor)
    path = root.joinpath(*parts)
    listing = _listing(path)
    _refuse_moved(path)
    return listing


@contextmanager
def _directory(root: Path, parts: Sequence[str], flags: int) -> Iterator[int]:
    """Give a descriptor of the directory `parts` below `root`, the last one opened with `flags`."""
    descriptor = os.open(root, _PASS_THROUGH if parts else flags)
    try:
        for number, part in enumerate(parts, 1):
            below = os.open(
                part, flags if number == len(parts) else _PASS_THROUGH, dir_fd=descriptor
            )
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _listing(directory: int | Path) -> Listing:
    files: list[str] = []
    directories: list[str] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                directories.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                files.append(entry.name)
    return Listing(sorted(files), sorted(directories))


def _open_and_compare(path: Path) -> int:
    _refuse_other_kinds(os.lstat(path))
    descriptor = _checked(os.open(path, _READ))
    try:
        _refuse_moved(path)
        if not os.path.samestat(os.fstat(descriptor), os.lstat(path)):
            raise OSError(errno.ELOOP, "the path has changed")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _checked(descriptor: int) -> int:
    try:
        _refuse_other_kinds(os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_other_kinds(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "a link")
    if not stat.S_ISREG(status.st_mode):
        raise NotRegular(errno.EINVAL, "not a regular file")


def _refuse_moved(path: Path) -> None:
    if os.path.realpath(path) != str(path):
        raise OSError(errno.ELOOP, "the path has changed")
