"""The text of a file's bytes, by its kind: plain text in any encoding, HTML, JSON, PDF, DOCX."""

import io
import json
import logging
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

from openjarvis.memory.files import MAX_BYTES, Skip, SkippedFile

VERSION = 1
"""Raised when a file's text may come out differently, so that indexed files are read again."""

_log = logging.getLogger("openjarvis.memory")

_PROBE = 8192
_LEAST_CONFIDENCE = 0.05
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_CONTROL = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f]")
_SILENT_TAGS = ["script", "style", "noscript", "template", "svg", "head"]
_BLOCK_TAGS = (
    "address,article,aside,blockquote,br,dd,details,div,dl,dt,fieldset,figcaption,figure,footer,"
    "form,h1,h2,h3,h4,h5,h6,header,hr,li,main,nav,ol,p,section,summary,table,tr,ul"
)
_CELL_TAGS = "td,th"
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_MOST_UNPACKED = 20 * MAX_BYTES


def read_text(path: Path, content: bytes) -> str:
    """Return the text of a file that holds `content`; `path` tells its kind.

    Raises:
        SkippedFile: when there is no text in it that we can read.
    """
    reader = _READERS.get(path.suffix.lower(), decode)
    return reader(content).replace("\r\n", "\n").replace("\r", "\n")


def decode(content: bytes) -> str:
    """Return plain text in whatever encoding it is.

    Raises:
        SkippedFile: when it is binary, or in no encoding that we can tell.
    """
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), None)
    if encoding is None:
        if b"\0" in content[:_PROBE] and not _looks_wide(content):
            raise SkippedFile(Skip.BINARY)
        try:
            return _checked(content.decode())
        except UnicodeDecodeError:
            encoding = _detected(content)
    try:
        return _checked(content.decode(encoding))
    except (UnicodeDecodeError, LookupError) as exc:
        raise SkippedFile(Skip.ENCODING) from exc
