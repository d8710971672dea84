"""The arguments of one call as they come in pieces: whether they are a whole JSON object yet.

Each piece is looked at once, and the whole is parsed once, so that the time grows with the length.
"""

import re

from openjarvis.core import strict_json

_MARKS = re.compile(r'["\\{}\[\]]')


class Arguments:
    """Collects the pieces."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._seen = 0  # pieces that were looked at
        self._depth = 0
        self._is_in_text = False
        self._escaped = -1  # where the character behind a \\ stands, in this piece or the next
        self._has_begun = False
        self._has_ended = False
        self._is_whole: bool | None = None

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def __str__(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        """Add what came next."""
        self._pieces.append(piece)

    def are_whole(self) -> bool:
        """Tell whether the pieces so far are a whole JSON object, and nothing beside it."""
        while self._seen < len(self._pieces) and self._is_whole is not False:
            self._look_at(self._pieces[self._seen])
            self._seen += 1
        if self._has_ended and self._is_whole is None:
            try:
                self._is_whole = isinstance(strict_json.loads(str(self)), dict)
            except strict_json.JSONRefused:
                self._is_whole = False
        return self._is_whole is True

    def _look_at(self, piece: str) -> None:
        start = 0
        if not self._has_begun:
            start = len(piece) - len(piece.lstrip())
            if start == len(piece):
                return
            self._has_begun = True
            if piece[start] != "{":
                self._is_whole = False
                return
        end = start if self._has_ended else self._end_in(piece, start)
        if self._has_ended and piece[end:].strip():
            self._is_whole = False

    def _end_in(self, piece: str, start: int) -> int:
        """Return where in `piece` the object ends, if it does."""
        for found in _MARKS.finditer(piece, start):
            position, mark = found.start(), found[0]
            if self._is_in_text:
                if position == self._escaped:
                    continue
                if mark == "\\":
                    self._escaped = position + 1
                elif mark == '"':
                    self._is_in_text = False
            elif mark == '"':
                self._is_in_text = True
            elif mark != "\\":
                self._depth += 1 if mark in "{[" else -1
                if self._depth == 0:
                    self._has_ended = True
                    return position + 1
        self._escaped = 0 if self._escaped == len(piece) else -1
        return len(piece)
