"""Small files that are kept between runs: for their owner only, changed by one at a time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from filelock import FileLock, Timeout

from openjarvis.core.errors import ConfigError

_PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.01


@contextmanager
def changing(path: Path) -> Iterator[None]:
    """Hold the file against every other process and thread that would change it too.

    Raises:
        ConfigError: when it cannot be had within half a minute.
    """
    lock = FileLock(path.with_suffix(".lock"), timeout=_PATIENCE_SECONDS, mode=0o600)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire(poll_interval=_POLL_SECONDS)
    except (Timeout, OSError) as error:
        raise ConfigError(f"{path}: the file cannot be locked to change it: {error}") from error
    try:
        yield
    finally:
        lock.release()


def write(path: Path, text: str) -> None:
    """Write the whole file: whoever reads it meanwhile finds the old one or the new one.

    Raises:
        ConfigError: when it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, delete=False
        ) as temporary:  # made with mode 0600
            temporary.write(text)
        os.replace(temporary.name, path)  # noqa: PTH105 - one step, on every system
    except OSError as error:
        raise ConfigError(f"{path}: the file cannot be written: {error}") from error
