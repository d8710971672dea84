"""What the user types: one turn at a time, with line editing and a history at a terminal."""

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

from openjarvis.cli.render import notice

_PROMPT = "› "
_MORE = "… "
_QUOTES = '"""'
_KEPT_LINES = 1_000


class Input:
    r"""Reads turns from standard input.

    A line that ends with a backslash goes on with the next one; so does everything between two
    `\"\"\"`. At a terminal there is line editing where Python has `readline`, and the history is
    kept in `history_path`, readable by the user only.
    """

    def __init__(self, history_path: Path | None) -> None:
        # Either is None where the process was started with it closed.
        self.is_terminal = all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout))
        self._path = history_path if self.is_terminal else None
        self._readline = _readline() if self.is_terminal else None
        if self._readline is not None and self._path is not None:
            self._readline.set_history_length(_KEPT_LINES)
            with contextlib.suppress(OSError, UnicodeError):  # none yet, or not ours to read
                self._readline.read_history_file(str(self._path))

    def read(self) -> str | None:
        """Return the next turn, None when there are no more."""
        line = self._line(_PROMPT)
        if line is None:
            return None
        if line.lstrip().startswith(_QUOTES):
            return self._quoted(line.lstrip().removeprefix(_QUOTES))
        lines = [line]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            more = self._line(_MORE)
            if more is None:
                break
            lines.append(more)
        return "\n".join(lines)

    def close(self) -> None:
        """Keep the history."""
        if self._readline is None or self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
            self._path.chmod(0o600)
            self._readline.write_history_file(str(self._path))
        except OSError as error:
            notice(f"The history could not be kept in {self._path}: {error.strerror}.")

    def _quoted(self, line: str | None) -> str:
        lines: list[str] = []
        while line is not None:
            before, closing, _ = line.partition(_QUOTES)
            lines.append(before)
            if closing:
                break
            line = self._line(_MORE)
        return "\n".join(lines).strip("\n")

    def _line(self, prompt: str) -> str | None:
        if not self.is_terminal:
            line = sys.stdin.readline() if sys.stdin else ""
            return line.rstrip("\r\n") if line else None
        try:
            return input(prompt)
        except EOFError:
            sys.stdout.write("\n")
            return None


def _readline() -> Any:
    try:
        import readline  # Windows has none
    except ImportError:
        return None
    return readline
