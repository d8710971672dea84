"""What small models write around what they mean: thinking, Markdown, fences, other line ends."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_OPENS = re.compile(r"<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSES = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
# Possessive (`*+`), so that no text takes more time than its length.
_TURN_END = re.compile(
    r"(?:<\|(?:im_end|eot_id|eom_id|end|end_of_text|endoftext|end_of_turn)\|>|<end_of_turn>)"
    r"[ \t]*+(?=\n|\Z|<\|)"
)
_FENCE = re.compile(r"^[ \t]*+(```++|~~~++)[ \t]*+\{?+([\w+#.-]*+)[^\n`]*+$", re.MULTILINE)
_QUOTE_MARK = re.compile(r"^[ \t]*+(?:>[ \t]?)++", re.MULTILINE)


def spoken(text: str, is_said: Callable[[str], bool]) -> str:
    """Return what a model says: without what it thinks in tags, and with plain line ends.

    A thought that is never closed counts as said, for else nothing would be left. One that is only
    closed began with the text, unless that `is_said`: then the tag is quoted in it. Where the model
    spells out that its turn ends, it does: some servers let that through.
    """
    text = _TURN_END.split(text.lstrip(), maxsplit=1)[0]
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    kept: list[str] = []
    position = 0
    for opened, end in _thoughts(text, is_said):
        kept.append(text[position:opened])
        position = end
    rest = _OPENS.sub("", text[position:])
    return ("".join(kept) + rest).strip()


def _thoughts(text: str, is_said: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    """Yield where thoughts begin and end; of a closing tag that ends none, only where it stands."""
    position = 0
    for closing in _CLOSES.finditer(text):
        opening = _OPENS.search(text, position, closing.start())
        if opening is not None:
            yield opening.start(), closing.end()
        elif position == 0 and not is_said(text[: closing.start()]):
            yield 0, closing.end()
        else:
            yield closing.start(), closing.end()
        position = closing.end()


def unquoted(text: str) -> str:
    """Return a text that is quoted with `>` from its first line to its last as it was meant."""
    lines = text.split("\n")
    if not all(_QUOTE_MARK.match(line) for line in lines if line.strip()):
        return text
    return _QUOTE_MARK.sub("", text).strip()


class Fence(NamedTuple):
    """A fenced block: where it stands in a text, what it calls its language, what is in it."""

    start: int
    end: int
    language: str
    content: str
    is_closed: bool


def fences(text: str) -> Iterator[Fence]:
    """Yield the fenced blocks; the last one may be unclosed."""
    opening = None
    for mark in _FENCE.finditer(text):
        if opening is None:
            opening = mark
        elif mark[1].startswith(opening[1]) and not mark[2]:
            inside = text[opening.end() + 1 : max(opening.end() + 1, mark.start() - 1)]
            yield Fence(opening.start(), mark.end(), opening[2].lower(), inside, True)
            opening = None
    if opening is not None:
        inside = text[opening.end() + 1 :]
        yield Fence(opening.start(), len(text), opening[2].lower(), inside, False)


def unfenced(text: str) -> str:
    """Return what is in the fence of a text that is fenced as a whole; another text as it is."""
    block = next(fences(text), None)
    is_whole = block is not None and not text[: block.start].strip() + text[block.end :].strip()
    return block.content.strip() if block is not None and is_whole else text


def bare(text: str) -> str:
    """Return `text` without the Markdown, quotes and brackets that may stand around a word."""
    return text.strip().strip("*_`\"'[]<>“”‘’ \t").rstrip(".,;:").strip("*_`\"'[]<> ")
