"""A request, read once: what stands in it, before any tool is looked at."""

from dataclasses import dataclass
from datetime import date

from openjarvis.engine.offline.arithmetic import Expression, find_expression
from openjarvis.engine.offline.extract import Piece, pieces, without
from openjarvis.engine.offline.glossary import Gloss, glosses
from openjarvis.engine.offline.script import Word, composed, fold, words
from openjarvis.engine.offline.words import PROHIBITIONS

MAX_CHARACTERS = 2_000
"""How much of a request is read; a text argument may still take what comes after."""
_NEAR = 4
_LITERAL_KINDS = ("url", "domain", "email", "path", "code", "date")


@dataclass(frozen=True, slots=True)
class Request:
    """A request with its `pieces`, words and arithmetic; places are those of `text`.

    `words` and `glosses` leave out what belongs to a piece. `rest` is what follows the part that
    was read; `forbids` tells that the request asks for something not to be done.
    """

    text: str
    folded: str
    rest: str
    pieces: list[Piece]
    words: list[Word]
    glosses: list[Gloss]
    expression: Expression | None
    forbids: bool

    def is_capital(self, word: Word) -> bool:
        """Tell whether a word is written as a name is, and not only because a sentence begins."""
        if not self.text[word.start].isupper() or word.text == "i":
            return False
        before = self.text[max(0, word.start - _NEAR) : word.start].rstrip()
        return bool(before) and before[-1] not in ".!?:;\"'"


def read_request(text: str, today: date) -> Request:
    """Return what stands in a request."""
    text = composed(text.strip())
    read, rest = text[:MAX_CHARACTERS], text[MAX_CHARACTERS:]
    folded = fold(read)
    found = pieces(read, folded, today)
    bare = without(folded, [piece for piece in found if piece.kind != "number"])
    literal = without(folded, [piece for piece in found if piece.kind in _LITERAL_KINDS])
    expression = find_expression(literal)
    if expression and rest and expression.end >= len(read.rstrip()):
        expression = None  # it may go on in what was not read
    return Request(
        text=read,
        folded=folded,
        rest=rest,
        pieces=found,
        words=[word for word in words(bare) if word.kind != "number"],
        glosses=list(glosses(bare)),
        expression=expression,
        forbids=bool(PROHIBITIONS.match(folded)),
    )
