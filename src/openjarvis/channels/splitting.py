"""Long messages in pieces that a service takes."""

MAX_PARTS = 20


def split(text: str, limit: int) -> list[str]:
    """Return `text` in pieces of at most `limit` UTF-16 units, as most services count.

    Pieces end at a blank line, a line's end or a space where there is one in their second half.
    """
    pieces: list[str] = []
    while text:
        end = _fitting(text, limit)
        if end < len(text):
            end = _boundary(text, end)
        pieces.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return [piece for piece in pieces if piece]


def _fitting(text: str, limit: int) -> int:
    """Return how many characters of `text` fit into `limit` units, at least one."""
    units = 0
    for position, character in enumerate(text[:limit]):
        units += 2 if ord(character) > 0xFFFF else 1
        if units > limit:
            return max(position, 1)
    return min(len(text), limit)


def _boundary(text: str, end: int) -> int:
    for mark in ("\n\n", "\n", " "):
        found = text.rfind(mark, end // 2, end)
        if found > 0:
            return found + len(mark)
    return end
