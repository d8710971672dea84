"""What of a channel's address may be secret: everything that is no ordinary word."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

from openjarvis.safety.concealment import SHORTEST, SHORTEST_PASSWORD, conceal

_SEPARATOR = re.compile(r"[/?&=;#@:,\s]+")
_HERE = frozenset({"localhost", "127.0.0.1"})


def conceal_parts_of(address: str) -> None:
    """Mask from now on, in this process, all that may be secret in an address of a channel."""
    rest = address.partition("://")[2] or address
    pieces = (*_pieces(rest), *_pieces(unquote(rest)))
    told = (piece for piece in pieces if _is_telling(piece) and piece not in _HERE)
    conceal([address, *told, *_passwords(rest)])


def _pieces(rest: str) -> Iterator[str]:
    place, _, query = rest.partition("?")
    yield from _SEPARATOR.split(place)
    for pair in re.split("[&;]", query):
        name, is_pair, value = pair.partition("=")
        yield value
        yield from _SEPARATOR.split(value if is_pair else name)


def _passwords(rest: str) -> Iterator[str]:
    """Return what may be a password: a `/` or an `@` in it makes it hard to see where it ends."""
    for start in (rest, rest.partition("?")[0], rest.partition("/")[0]):
        yield start.rpartition("@")[0].partition(":")[2]


def _is_telling(piece: str) -> bool:
    """Tell what may be a token from a short word or number."""
    if len(piece) >= SHORTEST:
        return True
    is_number = piece.isdecimal()
    return len(piece) >= SHORTEST_PASSWORD and not is_number and any(map(str.isdigit, piece))
