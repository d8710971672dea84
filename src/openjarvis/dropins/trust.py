"""Whose code it is: a folder or file that others can write is not loaded.

Whoever can write a tool file, its folder or a folder above decides what runs with the user's
rights. The rules are those of `ssh` for its keys: the owner is the user or root, and nobody else
may write.
"""

import os
import stat
from pathlib import Path

MAX_BYTES = 5_000_000
"""How large a tool file may be; a larger one holds something else than a tool."""

# Modes and owners of this kind do not exist on Windows, where the user's profile is private.
_HAS_MODES = os.name == "posix"


class SourceRefused(ImportError):
    """A file or folder whose code is not run; the text says why and what to do."""


def trusted_folder(path: Path) -> Path:
    """Return the real path of a folder whose code only the user (and root) can have written.

    Raises:
        FileNotFoundError: when there is nothing at `path`.
        SourceRefused: when it is no folder, cannot be read, or others can write it or a parent.
    """
    try:
        folder = path.resolve(strict=True)
        is_folder = folder.is_dir()
    except FileNotFoundError:
        if path.is_symlink():
            raise SourceRefused(
                f"it is a link to {path.readlink()}, which does not exist"
            ) from None
        raise
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL in the name
        raise SourceRefused(f"it cannot be opened: {error}") from error
    if not is_folder:
        raise SourceRefused("it is not a folder")
    _refuse_others(folder, folder.stat(), is_tool_folder=True)
    for parent in folder.parents:
        _refuse_others(parent, parent.stat())
    return folder


def read_source(path: Path, folder: Path) -> bytes:
    """Return the content of a file of `folder`, a trusted one, read from what was checked.

    Raises:
        SourceRefused: when it is no regular file, a link out of the folder, too large, not
            readable, or when others can write it.
    """
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise SourceRefused(f"{path.name} cannot be opened: {_reason(error)}") from error
    if not real.is_relative_to(folder):
        raise SourceRefused(
            f"{path.name} is a link out of its folder, to {real}; copy the file into the folder, "
            "or add the other folder to the tool directories"
        )
    for parent in real.relative_to(folder).parents:
        _refuse_others(folder / parent, (folder / parent).stat(), is_tool_folder=True)
    return _read(real)


def _read(path: Path) -> bytes:
    # Not blocking: opening a FIFO would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise SourceRefused(f"{path.name} cannot be read: {_reason(error)}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SourceRefused(f"{path.name} is not a regular file")
        _refuse_others(path, status)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise SourceRefused(f"{path.name} is larger than {MAX_BYTES:,} bytes")
    return content


def _refuse_others(path: Path, status: os.stat_result, *, is_tool_folder: bool = False) -> None:
    """Refuse what somebody else than the user and root can write.

    In a parent with the sticky bit, such as /tmp, others cannot replace what they do not own; in
    the tool folder itself they could still add a file.
    """
    if not _HAS_MODES:
        return
    if status.st_uid not in (0, os.geteuid()):
        raise SourceRefused(
            f"{path} belongs to another user (uid {status.st_uid}), who can change the code; "
            f"run as that user, or: chown {os.geteuid()} '{path}'"
        )
    mode = stat.S_IMODE(status.st_mode)
    is_sticky = stat.S_ISDIR(status.st_mode) and bool(mode & stat.S_ISVTX)
    if is_sticky and not is_tool_folder:
        return
    if mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _is_private_group(status.st_gid)):
        who = "everyone" if mode & stat.S_IWOTH else "its group"
        raise SourceRefused(
            f"{path} is writable by {who} (mode {mode:04o}), who can change the code; "
            f"run: chmod go-w '{path}'"
        )


def _is_private_group(gid: int) -> bool:
    """Tell whether the group is the user's own, as where umask 002 goes with a group each."""
    # These modules exist on POSIX only.
    import grp
    import pwd

    if os.geteuid() == 0:
        return False
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _reason(error: OSError | RuntimeError) -> str:
    return getattr(error, "strerror", None) or str(error)
