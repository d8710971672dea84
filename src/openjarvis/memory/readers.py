"""The text of a file's bytes, by its kind: plain text in any encoding, HTML, JSON, PDF, DOCX."""

import io
import json
import logging
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chardet
from selectolax.lexbor import LexborHTMLParser

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
_MOST_CONTROLS = 0.001  # of the characters; a stray form feed or bell is no sign of a binary
_SILENT_TAGS = ["script", "style", "noscript", "template", "svg", "head"]
_BLOCKS = (
    "address,article,aside,blockquote,dd,details,div,dl,dt,fieldset,figcaption,figure,footer,form,"
    "h1,h2,h3,h4,h5,h6,header,hr,main,nav,ol,p,section,summary,table,ul"
)
_LINES = "br,li,tr,option"
_FENCE = "\n```\n"
_MOST_UNPACKED = 20 * MAX_BYTES


def read_text(path: Path, content: bytes) -> str:
    """Return the text of a file that holds `content`; the suffix of `path` tells its kind.

    Raises:
        SkippedFile: when there is no text in it that we can read.
    """
    text = _READERS.get(path.suffix.lower(), decode)(content)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode(content: bytes) -> str:
    """Return plain text in whatever encoding it is.

    Raises:
        SkippedFile: when it is binary, or in no encoding that can be told.
    """
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), None)
    try:
        text = content.decode(marked or "utf-8")
    except UnicodeDecodeError:
        text = _detected(content)
    if len(_CONTROL.findall(text[:_PROBE])) > _MOST_CONTROLS * len(text[:_PROBE]):
        raise SkippedFile(Skip.BINARY)
    return text


def _detected(content: bytes) -> str:
    guess = chardet.detect(content, max_bytes=_PROBE)
    encoding, confidence = guess["encoding"], guess["confidence"]
    if encoding is None:
        raise SkippedFile(Skip.BINARY)
    if confidence < _LEAST_CONFIDENCE:
        raise SkippedFile(Skip.ENCODING)
    try:
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError) as exc:
        raise SkippedFile(Skip.ENCODING) from exc


def _html(content: bytes) -> str:
    tree = LexborHTMLParser(decode(content))
    title = tree.css_first("title")
    heading = [title.text()] if title else []
    tree.strip_tags(_SILENT_TAGS)
    for block in tree.css(_BLOCKS):
        block.insert_before("\n\n")
        block.insert_after("\n\n")
    for line in tree.css(_LINES):
        line.insert_after("\n")
    for cell in tree.css("td,th"):
        cell.insert_after(" ")
    for code in tree.css("pre"):
        code.replace_with(f"\n{_FENCE}{code.text()}{_FENCE}\n")
    pieces = (tree.body.text() if tree.body else "").split(_FENCE)
    # Every second piece is code, whose white space means something.
    pieces[::2] = map(_tidied, pieces[::2])
    return "\n\n".join([*heading, _FENCE.join(pieces)]).strip()


def _tidied(text: str) -> str:
    lines = "\n".join(" ".join(line.split()) for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines)


def _json(content: bytes) -> str:
    text = decode(content)
    try:
        # Written again because many writers escape what is not ASCII, which no search would find.
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text


def _json_lines(content: bytes) -> str:
    return "\n".join(_json(line.encode()) for line in decode(content).splitlines())


def _pdf(content: bytes) -> str:
    try:
        import pypdf
    except ImportError as exc:
        raise SkippedFile(Skip.NEEDS_EXTRA) from exc
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        return "\n\n".join(page.extract_text() for page in reader.pages)
    except Exception as exc:
        # pypdf lets all kinds of errors out of a damaged file.
        _log.debug("A PDF cannot be read", exc_info=True)
        raise SkippedFile(Skip.DAMAGED) from exc


def _docx(content: bytes) -> str:
    try:
        import docx
    except ImportError as exc:
        raise SkippedFile(Skip.NEEDS_EXTRA) from exc
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            if sum(part.file_size for part in package.infolist()) > _MOST_UNPACKED:
                raise SkippedFile(Skip.TOO_LARGE)
        document = docx.Document(io.BytesIO(content))
        return "\n\n".join(_docx_block(block) for block in document.iter_inner_content())
    except SkippedFile:
        raise
    except Exception as exc:
        # python-docx lets all kinds of errors out of a damaged file.
        _log.debug("A DOCX cannot be read", exc_info=True)
        raise SkippedFile(Skip.DAMAGED) from exc


def _docx_block(block: Any) -> str:
    if hasattr(block, "rows"):
        return "\n".join(" | ".join(cell.text for cell in row.cells) for row in block.rows)
    heading = re.fullmatch(r"Heading ([1-6])", block.style.name if block.style else "")
    return f"{'#' * int(heading[1])} {block.text}" if heading else str(block.text)


_READERS: dict[str, Callable[[bytes], str]] = {
    ".html": _html,
    ".htm": _html,
    ".xhtml": _html,
    ".json": _json,
    ".ipynb": _json,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".pdf": _pdf,
    ".docx": _docx,
}
