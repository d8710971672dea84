"""What was typed in a chat, kept in a file for the next one."""

import os
import tempfile
from pathlib import Path

from openjarvis.cli.render import notice
from openjarvis.safety.opening import open_regular, open_to_append

_KEPT_LINES = 1_000
_MOST_BYTES = 1 << 20


class History:
    """The lines of the file at `path`, which only its owner can read.

    Each is written when it was typed: nobody knows how a chat will end, and another may be open
    beside it. What is not a file of the user's own, such as a link, is neither read nor written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_kept = True
        self._last = ""

    def lines(self) -> list[str]:
        """Return what was typed before, the newest last."""
        try:
            kept, is_long = self._read()
        except OSError:  # none yet, or not ours to read
            return []
        lines = [line for line in kept.split("\n") if line and "\0" not in line]
        if is_long or len(lines) > 2 * _KEPT_LINES:
            self._shorten(lines[-_KEPT_LINES:])
        return lines[-_KEPT_LINES:]

    def keep(self, typed: str) -> None:
        """Write what was typed, but not twice in a row; that it cannot be is told once."""
        if not self._is_kept or not typed.strip() or typed == self._last:
            return
        self._last = typed
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(open_to_append(self._path), "ab") as file:
                file.write(f"{typed}\n".encode(errors="replace"))
        except OSError as error:
            self._is_kept = False
            notice(f"The history could not be kept in {self._path}: {error.strerror}.")

    def _read(self) -> tuple[str, bool]:
        """Return the end of the file, and whether there is more of it."""
        descriptor = open_regular(self._path.parent.resolve(), [self._path.name])
        with os.fdopen(descriptor, "rb") as file:
            begins = max(0, os.fstat(descriptor).st_size - _MOST_BYTES)
            file.seek(begins)
            return file.read(_MOST_BYTES).decode(errors="replace"), begins > 0

    def _shorten(self, lines: list[str]) -> None:
        """Let the file begin with `lines`; a line that another chat adds just now may be lost."""
        try:
            descriptor, name = tempfile.mkstemp(dir=self._path.parent)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
            Path(name).replace(self._path)
        except OSError as error:
            notice(f"The history in {self._path} could not be shortened: {error.strerror}.")
