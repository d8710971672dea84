"""Files kept inside the allowed directories: whatever path a model names is opened here.

A path is made real (its links followed) and compared by component with the real allowed
directories; `opening` then opens it without following a link. Every refusal outside has the same
words, whatever is there, so that nothing outside is told.
"""

import errno
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from openjarvis.core.errors import ToolError
from openjarvis.safety.opening import NotRegular, list_directory, open_regular
from openjarvis.safety.sensitive import is_sensitive

AnyPath = str | os.PathLike[str]
AllowedDirs = Sequence[AnyPath] | None
"""The directories that may be read; None means the working directory at the time of the call."""

_MAX_PATH = 4_096
_SYSTEM_TREES = tuple(Path(tree) for tree in ("/dev", "/proc", "/sys"))
_OUTSIDE = (
    "Access denied: the path is not inside the allowed directories. Use a path inside them, or ask "
    "the user to allow another directory (--allow-dir)."
)
_SENSITIVE = "Access denied: files with keys or passwords are sensitive and are never read."

_log = logging.getLogger(__name__)


class PathRefused(ToolError):
    """A path that is not opened; the text is fit for the model."""


class PathMissing(PathRefused):
    """Nothing is there, inside the allowed directories."""


class NotAFile(PathRefused):
    """A directory, a device, a FIFO … is there, inside the allowed directories."""


@dataclass(frozen=True, slots=True)
class Confined:
    """A real path inside an allowed directory: the directory, and the components below it."""

    root: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The real path, whole."""
        return self.root.joinpath(*self.parts)


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A regular file, open for reading: its real path and its bytes."""

    path: Path
    stream: BinaryIO


def confine(path: AnyPath, allowed_dirs: AllowedDirs = None) -> Confined:
    """Return where `path` really leads, when that is inside an allowed directory.

    `..` is resolved in the text, before links are followed. Whether anything is there is not told.

    Raises:
        PathRefused: when it leads outside, is sensitive, or is no path at all.
    """
    text = os.fspath(path)
    if not text or "\0" in text or len(text) > _MAX_PATH:
        raise PathRefused(f"Access denied: a path has 1 to {_MAX_PATH:,} characters and no NUL.")
    try:
        roots = _roots(allowed_dirs)
        real = _real(text, roots)
    except (OSError, ValueError) as error:  # a working directory that is gone, a lone surrogate
        raise PathRefused(_OUTSIDE) from error
    root = next((root for root in roots if real.is_relative_to(root)), None)
    if root is None or _leads_into_system(real, root):
        raise PathRefused(_OUTSIDE)
    parts = real.relative_to(root).parts
    if is_sensitive(parts):
        raise PathRefused(_SENSITIVE)
    return Confined(root, parts)


@contextmanager
def open_confined(path: AnyPath, allowed_dirs: AllowedDirs = None) -> Iterator[OpenedFile]:
    """Give the regular file at `path`, open for reading; the block's own errors pass through.

    Raises:
        PathRefused: as `confine` does, and when the file cannot be opened.
        PathMissing: when nothing is there.
        NotAFile: when it is no regular file.
    """
    confined = confine(path, allowed_dirs)
    with _as_refusals(path):
        descriptor = open_regular(confined.root, confined.parts)
    with os.fdopen(descriptor, "rb") as stream:
        yield OpenedFile(confined.path, stream)


def read_confined(
    path: AnyPath, allowed_dirs: AllowedDirs = None, *, max_bytes: int
) -> tuple[Path, bytes]:
    """Return the real path and the bytes of the regular file at `path`.

    Raises:
        PathRefused: as `open_confined` does, and when it has more than `max_bytes` bytes.
    """
    with open_confined(path, allowed_dirs) as opened, _as_refusals(path):
        # What is read counts, not the size that was told: it may grow, and some files tell none.
        content = opened.stream.read(max_bytes + 1) or b""
    if len(content) > max_bytes:
        raise PathRefused(
            f"{os.fspath(path)[:200]!r} is too large: at most {max_bytes:,} bytes are read."
        )
    return opened.path, content


def files_below(path: AnyPath, allowed_dirs: AllowedDirs = None) -> Iterator[Path]:
    """Yield the real paths of the regular files below the directory `path`, each directory sorted.

    A `path` that is no directory is given alone. Links are not followed, and sensitive names are
    left out. A directory further down that cannot be read is logged and passed over. What is given
    is to be opened by `open_confined`, which looks again.

    Raises:
        PathRefused: as `confine` does, and when the directory cannot be read.
        PathMissing: when nothing is there.
    """
    top = confine(path, allowed_dirs)
    waiting = [top]
    while waiting:
        directory = waiting.pop()
        try:
            listing = list_directory(directory.root, directory.parts)
        except OSError as error:
            if directory is top:
                if isinstance(error, NotADirectoryError):
                    yield top.path
                    return
                raise _refusal(path, error) from error
            _log.warning("passed over the directory %r: %s", str(directory.path), error.strerror)
            continue
        yield from (directory.path / name for name in listing.files if not is_sensitive((name,)))
        waiting.extend(
            Confined(directory.root, (*directory.parts, name))
            for name in reversed(listing.directories)
            if not is_sensitive((name,))
        )


def _roots(allowed_dirs: AllowedDirs) -> list[Path]:
    if allowed_dirs is None:
        return [_resolved(Path.cwd())]
    if isinstance(allowed_dirs, str | os.PathLike):
        # Taken as a sequence, "/data" would allow "/".
        allowed_dirs = [allowed_dirs]
    return [_resolved(Path(entry).expanduser()) for entry in allowed_dirs if os.fspath(entry)]


def _real(text: str, roots: Sequence[Path]) -> Path:
    path = Path(text)
    if path.parts[:1] == ("~",):
        path = path.expanduser()
    absolute = Path(os.path.normpath(path if path.is_absolute() else Path.cwd() / path))
    # On Windows, resolving the path of another drive or share would already speak to its server.
    if absolute.drive not in {root.drive for root in roots}:
        raise PathRefused(_OUTSIDE)
    return _resolved(absolute)


def _resolved(path: Path) -> Path:
    # Unlike `Path.resolve`, this does not raise at a loop of links.
    return Path(os.path.realpath(path))


def _leads_into_system(real: Path, root: Path) -> bool:
    """Tell whether `real` is a device or kernel file that `root` allows only by being above it."""
    return any(
        real.is_relative_to(tree) and not root.is_relative_to(tree) for tree in _SYSTEM_TREES
    )


@contextmanager
def _as_refusals(path: AnyPath) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _refusal(path, error) from error


def _refusal(path: AnyPath, error: OSError) -> PathRefused:
    """Return what is told of an error met inside the allowed directories."""
    shown = repr(os.fspath(path)[:200])
    if isinstance(error, NotRegular):
        return NotAFile(f"Not a file: {shown}")
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
        return PathMissing(f"File not found: {shown}")
    if error.errno == errno.ELOOP:  # a link that was not there when the path was made real
        return PathRefused(_OUTSIDE)
    if isinstance(error, PermissionError):
        return PathRefused(f"Access denied: the permissions of {shown} do not allow reading it.")
    return PathRefused(f"{shown} cannot be read: {error.strerror or 'an input/output error'}.")
