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
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_OFTEN_LEFT_OPEN = {
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta",
    "option", "p", "source", "tbody", "td", "th", "tr", "wbr",
}  # fmt: skip
# The parser's time grows with the square of the depth; browsers stop at 512.
_DEEPEST = 2000
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
    # UTF-16 without a mark is valid UTF-8 too, full of zeros.
    likely = marked or (None if b"\0" in content[:_PROBE] else "utf-8")
    try:
        text = content.decode(likely or _detected(content))
    except UnicodeDecodeError:
        text = _redecoded(content)
    if len(_CONTROL.findall(text[:_PROBE])) > _MOST_CONTROLS * len(text[:_PROBE]):
        raise SkippedFile(Skip.BINARY)
    return text


def _redecoded(content: bytes) -> str:
    try:
        return content.decode(_detected(content))
    except (UnicodeDecodeError, LookupError) as exc:
        raise SkippedFile(Skip.ENCODING) from exc


def _detected(content: bytes) -> str:
    """Return the encoding that the bytes look like."""
    guess = chardet.detect(content, max_bytes=_PROBE)
    if guess["encoding"] is None:
        raise SkippedFile(Skip.BINARY)
    if guess["confidence"] < _LEAST_CONFIDENCE:
        raise SkippedFile(Skip.ENCODING)
    return guess["encoding"]


def _html(content: bytes) -> str:
    source = decode(content)
    if _nesting(source) > _DEEPEST:
        raise SkippedFile(Skip.DAMAGED)
    tree = LexborHTMLParser(source)
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


def _nesting(source: str) -> int:
    """Return about how deep the elements of a page are nested."""
    depth = deepest = 0
    for closing, name in _TAG.findall(source):
        if name.lower() not in _OFTEN_LEFT_OPEN:
            depth += -1 if closing else 1
            deepest = max(deepest, depth)
    return deepest


def _tidied(text: str) -> str:
    lines = "\n".join(" ".join(line.split()) for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines)


def _json(content: bytes) -> str:
    return _unescaped(decode(content))


def _json_lines(content: bytes) -> str:
    return "\n".join(map(_unescaped, decode(content).splitlines()))


def _unescaped(text: str) -> str:
    """Return JSON text written again: many writers escape what is not ASCII, hiding it."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except (ValueError, RecursionError):
        return text


def _pdf(content: bytes) -> str:
    try:
        import pypdf
    except ImportError as exc:
        raise SkippedFile(Skip.NEEDS_EXTRA) from exc
    # Its remarks on odd files belong in the log of whoever keeps one, not on the terminal.
    logging.getLogger("pypdf").addHandler(logging.NullHandler())
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
