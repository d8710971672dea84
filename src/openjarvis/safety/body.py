"""Reads a body no further than its bounds, before decompression and after it."""

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from openjarvis.core.errors import ToolError

ACCEPTED_ENCODINGS: Final = "gzip, deflate"
_RAW_FACTOR: Final = 4
_STEP: Final = 64 * 1024
_TEXT_CODECS: Final = re.compile(
    r"utf-(8|16|32).*|ascii|iso8859-\d+|cp\d+|koi8-[ru]|big5.*|gb.*|euc_.*|shift_jis.*|tis-620"
)
_GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS


def web_encoding(named: str | None) -> str:
    """Return the codec for a body whose headers name this encoding; UTF-8 for what is unusual.

    Python has codecs that are no encodings of text, and some that take hours for a megabyte.
    """
    try:
        name = codecs.lookup(named or "utf-8").name
    except (LookupError, ValueError):
        return "utf-8"
    return name if _TEXT_CODECS.fullmatch(name) else "utf-8"


def read_body(chunks: Iterable[bytes], *, encoding: str, limit: int) -> tuple[bytes, bool]:
    """Return the decompressed body of at most `limit` bytes, and whether there was more.

    Raises:
        ToolError: when the body is compressed in a way that was not asked for, or is damaged.
    """
    body = bytearray()
    for part in _decompressed(_bounded(chunks, limit * _RAW_FACTOR), encoding.strip().lower()):
        body += part
        if len(body) > limit:
            return bytes(body[:limit]), True
    return bytes(body), False


def _bounded(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > limit:
            raise ToolError("The server sent far more bytes than they unpack to.")
        yield chunk


def _decompressed(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    if encoding in ("", "identity"):
        return iter(chunks)
    if encoding in ("gzip", "x-gzip", "deflate"):
        return _inflated(chunks)
    raise ToolError(f"The server compressed its answer in a way nobody asked for: {encoding[:40]}.")


def _inflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    # In steps: one small chunk can unpack to a thousand times its size.
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
    for chunk in chunks:
        waiting = chunk
        while waiting and not unpacker.eof:
            try:
                part = unpacker.decompress(waiting, _STEP)
            except zlib.error as error:
                raise ToolError("The server's answer is damaged: it does not unpack.") from error
            yield part
            waiting = unpacker.unconsumed_tail
