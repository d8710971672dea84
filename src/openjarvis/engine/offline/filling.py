"""The arguments of a tool as they are gathered, with where they were found."""

from typing import Any

from openjarvis.engine.offline.extract import Piece
from openjarvis.engine.offline.index import ToolIndex
from openjarvis.engine.offline.match import Match, Span
from openjarvis.engine.offline.request import Request
from openjarvis.engine.offline.schema import Parameter

WEAK = 0.2
"""What an argument adds to the evidence that shows little of what it is."""


class Filling:
    """The arguments found so far, the places they were taken from, and how sure they are.

    `evidence` weighs the arguments that show what they are; `loose` counts the words of those that
    could be anything; `doubt` counts the signs that these are not meant.
    """

    def __init__(self, request: Request, index: ToolIndex, match: Match) -> None:
        self.request = request
        self.index = index
        self.match = match
        self.arguments: dict[str, Any] = {}
        self.used: list[Span] = []
        self.evidence = 0.0
        self.loose = 0.0
        self.doubt = 0.0

    def put(self, parameter: Parameter, value: Any, start: int, end: int, sure: float) -> None:
        """Note an argument; `sure` is what it adds to the evidence."""
        self.arguments[parameter.name] = value
        self.used.append(Span(start, end, 0.0))
        self.evidence += sure

    def is_used(self, start: int, end: int) -> bool:
        """Tell whether a place was taken already."""
        return any(start < span.end and end > span.start for span in self.used)

    def free_pieces(self, *kinds: str) -> list[Piece]:
        """Return the pieces of these kinds that no argument was taken from."""
        return [
            piece
            for piece in self.request.pieces
            if piece.kind in kinds and not self.is_used(piece.start, piece.end)
        ]

    def is_missing(self, parameter: Parameter) -> bool:
        """Tell whether an argument is still to be found."""
        return parameter.name not in self.arguments
