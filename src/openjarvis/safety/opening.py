"""Opening what a real path names, and nothing that a link puts in its place meanwhile.

Where the platform can, every component is opened from the directory before it without following
links. Elsewhere (Windows) the path is opened whole, and the path of what was opened must be it.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TextIO

if sys.platform == "win32":
    import ctypes
    import msvcrt

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
_APPEND = _READ | _flags("O_WRONLY", "O_APPEND", "O_CREAT")
_NEW = _flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_CLOEXEC")
_OWNER_ONLY = 0o600


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


def open_to_append(path: Path) -> int:
    """Return a descriptor of the regular file at `path`, to write at its end.

    It is made where there is none; only its owner can read it from then on.

    Raises:
        NotRegular: when it is something else.
        OSError: when it cannot be opened, or is a link.
    """
    with suppress(FileNotFoundError):
        _refuse_other_kinds(os.lstat(path))
    descriptor = _checked(os.open(path, _APPEND, _OWNER_ONLY))
    if hasattr(os, "fchmod") and os.fstat(descriptor).st_mode & 0o077:
        os.fchmod(descriptor, _OWNER_ONLY)
    return descriptor


@contextmanager
def new_file(path: Path) -> Iterator[TextIO]:
    """Give a new text file at `path` that only its owner can read; removed again when that fails.

    Raises:
        OSError: when something is there already, or the file cannot be made or written.
    """
    descriptor = os.open(path, _NEW, _OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        try:
            yield file
            file.flush()
        except BaseException:
            path.unlink(missing_ok=True)
            raise


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
    if os.path.realpath(path) != str(path):
        raise OSError(errno.ELOOP, "the path has changed")
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
        # Only the descriptor can tell what was opened: the path may lead elsewhere by now.
        if os.path.normcase(_path_of(descriptor)) != os.path.normcase(path):
            raise OSError(errno.ELOOP, "the path has changed")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _path_of(descriptor: int) -> str:
    """Return the real path of what `descriptor` has open."""
    if sys.platform == "win32":
        handle = ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))
        buffer = ctypes.create_unicode_buffer(32_768)
        length = ctypes.windll.kernel32.GetFinalPathNameByHandleW(handle, buffer, len(buffer), 0)
        if not 0 < length < len(buffer):
            raise OSError(errno.EIO, "the opened file has no path")
        return buffer.value.replace("\\\\?\\UNC\\", "\\\\").removeprefix("\\\\?\\")
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


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
