"""What a program writes, read while it writes and kept up to a bound."""

import os
from typing import IO, cast

_CHUNK = 64 * 1024


class Capture:
    """One stream of a program: the beginning is kept, the rest counted and let go.

    It reads through `pipe`, never by a bare number: once the pipe is closed its number may be that
    of another program's stream.
    """

    def __init__(self, pipe: IO[bytes], *, keep: int) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._pipe = pipe
        self.is_open = True
        self.total = 0
        self._keep = keep
        self._kept = bytearray()

    def read(self) -> None:
        """Take one chunk of what is there; nothing there is fine, and so is a closed pipe."""
        if self._pipe.closed:
            self.is_open = False
            return
        # None when nothing is there, which the type of a pipe does not say.
        chunk = cast("bytes | None", self._pipe.read(_CHUNK))
        if chunk is None:
            return
        if not chunk:
            self.is_open = False
            return
        self.total += len(chunk)
        self._kept += chunk[: max(0, self._keep - len(self._kept))]

    def drain(self) -> None:
        """Take what is there, but no more than a pipe can hold, for the writer may go on."""
        for _ in range(16):
            before = self.total
            self.read()
            if self.total == before:
                return

    def take(self) -> tuple[str, bool]:
        """Return the text since the last time, and whether some of it was let go."""
        text = self._kept.decode("utf-8", errors="replace")
        cut = self.total > len(self._kept)
        self._kept.clear()
        self.total = 0
        return text, cut
