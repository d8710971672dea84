"""What running tools say of how far they are: one line at a terminal, rewritten in its place."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TextIO

from openjarvis.execution.approval import Decision, ToolCallRequest
from openjarvis.execution.policy import Terminal
from openjarvis.execution.record import one_line

_LONGEST = 500


class ProgressLine:
    """The line on `stream`; there is none where that is no terminal. Any thread may call."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._lock = Lock()
        self._drawn = 0
        self._hidden = 0

    def show(self, text: str) -> None:
        """Show `text` in place of what was shown; nothing while the line is hidden."""
        if self._stream is None:
            return
        # Loaded only here: few tools tell of their progress.
        from rich.cells import cell_len, set_cell_size

        text = one_line(text, _LONGEST)
        with self._lock:
            if self._hidden:
                return
            width = min(cell_len(text), self._columns() - 1)
            blank = " " * max(0, self._drawn - width)
            self._write(f"\r{set_cell_size(text, width)}{blank}")
            self._drawn = width

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Leave the place to what is written in the block."""
        with self._lock:
            if self._drawn:
                self._write(f"\r{' ' * self._drawn}\r")
            self._drawn = 0
            self._hidden += 1
        try:
            yield
        finally:
            with self._lock:
                self._hidden -= 1

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80  # type: ignore[union-attr]
        except (OSError, ValueError):
            return 80

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()


class AskingTerminal(Terminal):
    """Asks a person for approvals, with no progress of other tools in between."""

    def __init__(self, line: ProgressLine) -> None:
        super().__init__()
        self._line = line

    def ask(self, request: ToolCallRequest) -> Decision:
        with self._line.hidden():
            return super().ask(request)
