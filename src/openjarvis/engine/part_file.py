"""A file that is being fetched: one fetcher at a time, what has come is kept, no link followed."""

import errno
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from openjarvis.core.errors import LLMError, invalid_request
from openjarvis.engine.errors import unavailable

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_BUSY = frozenset({errno.EAGAIN, errno.EACCES, errno.EWOULDBLOCK, errno.EDEADLK})
# Without O_NONBLOCK a FIFO would hold the caller until somebody writes to it.
_FLAGS = os.O_RDWR | os.O_CREAT
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


class PartFile:
    """The bytes that have come; every method raises `LLMError` when the disk does not serve."""

    def __init__(self, path: Path, file: FileIO) -> None:
        self._path = path
        self._file = file
        self.size = os.fstat(file.fileno()).st_size

    def add(self, piece: bytes) -> None:
        """Add what came next."""
        left = memoryview(piece)
        with disk(self._path):
            while left:  # a disk that fills up takes a part, and refuses with the next
                written = self._file.write(left)
                left = left[written:]
                self.size += written

    def cut(self, size: int) -> None:
        """Keep the first `size` bytes only, and go on behind them."""
        with disk(self._path):
            self._file.truncate(size)
            self._file.seek(size)
        self.size = size

    def sha256(self) -> str:
        """Return the checksum of what has come, once it is on the disk."""
        with disk(self._path):
            os.fsync(self._file.fileno())
            self._file.seek(0)
            return hashlib.file_digest(self._file, "sha256").hexdigest()


@contextmanager
def opened_part(path: Path) -> Iterator[PartFile]:
    """Give the file at `path`, made if need be, for as long as the block lasts.

    Raises:
        LLMError: when it is no regular file or cannot be written (`LLM_INVALID_REQUEST`), or when
            somebody else fetches it now (`LLM_UNAVAILABLE`).
    """
    with disk(path):
        descriptor = os.open(path, _FLAGS, 0o666)
    # Unbuffered: what was written is there when the process is killed.
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise invalid_request(f"{path} is no regular file; remove it.")
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno not in _BUSY:
                raise _told(path, error) from error
            raise unavailable(f"{path.name} is being fetched already; wait for it.") from error
        yield PartFile(path, file)


@contextmanager
def disk(path: Path) -> Iterator[None]:
    """Turn what goes wrong with the file at `path` into an `LLMError` that says so."""
    try:
        yield
    except OSError as error:
        raise _told(path, error) from error


def _told(path: Path, error: OSError) -> LLMError:
    return invalid_request(f"{path} cannot be written: {error.strerror or error}.")


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        # Far behind the end: a locked byte could not be read.
        os.lseek(descriptor, 2**62, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)

else:

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
