"""Streamed text held back while it may still turn out to be a printed tool call."""

from collections.abc import Iterable
from itertools import repeat

_MARKERS = ("<tool_call>", "[TOOL_CALLS]")
_OPENINGS = (
    *_MARKERS,
    '{"name":',
    '[{"name":',
    '```{"name":',
    '```[{"name":',
    '```json{"name":',
    '```json[{"name":',
    "```tool_call",
)
_ENOUGH = 200
"""Characters at the start of a message in which an opening shows itself."""


class TextGate:
    """Passes text on at once, unless it looks like the beginning of a printed call.

    A marker is seen anywhere, a fence or a bare call at the start of the message only: a call
    that comes later is still understood, but its text was shown by then. What is held to the end
    is for the caller to show, once the whole message tells what it was.
    """

    def __init__(self, offered: Iterable[str]) -> None:
        names = tuple(offered)
        self._openings = (
            *_OPENINGS,
            *(f"{name}(" for name in names),
            *(f"[{name}(" for name in names),
        )
        self._held = ""
        self._is_open = False
        self._is_shut = False

    def passed(self, piece: str) -> str:
        """Return what may be shown now that `piece` has come."""
        if self._is_shut:
            return ""
        text = self._held + piece
        if not self._is_open and self._may_open_with_call(text):
            self._held = text
            return ""
        self._is_open = True
        end = self._first_marker(text)
        self._held = text[end:]
        return text[:end]

    def _may_open_with_call(self, text: str) -> bool:
        compact = "".join(text[:_ENOUGH].split())
        self._is_shut = any(compact.startswith(opening) for opening in self._openings)
        undecided = len(text) < _ENOUGH and any(
            map(str.startswith, self._openings, repeat(compact))
        )
        return self._is_shut or undecided

    def _first_marker(self, text: str) -> int:
        """Return where a marker, or what may become one, begins; the length when nowhere."""
        found = [position for marker in _MARKERS if (position := text.find(marker)) >= 0]
        if found:
            self._is_shut = True
            return min(found)
        start = max(text.rfind(marker[0]) for marker in _MARKERS)
        if start >= 0 and any(marker.startswith(text[start:]) for marker in _MARKERS):
            return start
        return len(text)
