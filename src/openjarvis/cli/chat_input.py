"""What the user types: one turn at a time, with line editing and a history at a terminal."""

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from openjarvis.cli.chat_history import History

_PROMPT = "› "
_MORE = "… "
_QUOTES = '"""'


class Typed(NamedTuple):
    """One turn of the user's: a question, or a command, which begins with a slash."""

    text: str
    is_command: bool


class Input:
    r"""Reads turns from standard input.

    A line that ends with a backslash goes on with the next one; so does everything between two
    `\"\"\"`, which is never a command. At a terminal there is line editing where Python has
    `readline`, a paste of several lines is one turn, and what is typed is kept in `history_path`.
    """

    def __init__(self, history_path: Path | None) -> None:
        # Either is None where the process was started with it closed.
        self.is_terminal = all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout))
        self._history: History | None = None
        readline = _readline() if self.is_terminal else None
        if readline is None:
            return
        if os.environ.get("TERM", "dumb") != "dumb":
            # Python switches it off, for the sake of programs that read what they wrote.
            readline.parse_and_bind("set enable-bracketed-paste on")
        if history_path is not None:
            self._history = History(history_path)
            for line in self._history.lines():
                readline.add_history(line)

    def read(self) -> Typed | None:
        """Return the next turn, None when there are no more."""
        line = self._line(_PROMPT)
        if line is None:
            return None
        if line.lstrip().startswith(_QUOTES):
            return Typed(self._quoted(line.lstrip().removeprefix(_QUOTES)), is_command=False)
        lines = [line]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            more = self._line(_MORE)
            if more is None:
                break
            lines.append(more)
        return _typed("\n".join(lines).strip("\n"))

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
            line = input(prompt)
        except EOFError:
            sys.stdout.write("\n")
            return None
        if self._history is not None:
            self._history.keep(line)
        return line


def _typed(text: str) -> Typed:
    """Return a turn; a command is one line, and `//` begins a question that begins with a slash."""
    if "\n" in text or not text.startswith("/"):
        return Typed(text, is_command=False)
    return Typed(text[1:], is_command=False) if text[1:2] == "/" else Typed(text, is_command=True)


def _readline() -> Any:
    try:
        import readline  # Windows has none
    except ImportError:
        return None
    return readline
