import gzip
import tracemalloc
import zlib

import pytest

from openjarvis.core.errors import ToolError
from openjarvis.safety.body import read_body, web_encoding


@pytest.mark.parametrize("encoding", ["", "identity", "gzip", " GZIP ", "x-gzip", "deflate"])
def test_what_was_asked_for_is_undone(encoding: str) -> None:
    pack = {"gzip": gzip.compress, "deflate": zlib.compress}
    packed = pack.get(encoding.strip().lower().removeprefix("x-"), bytes)(b"hello" * 1000)
    pieces = [packed[at : at + 7] for at in range(0, len(packed), 7)]

    assert read_body(pieces, encoding=encoding, limit=10_000) == (b"hello" * 1000, False)


@pytest.mark.parametrize("size", [99, 100, 101])
def test_the_limit_is_exact(size: int) -> None:
    body, is_cut = read_body([b"x" * size], encoding="", limit=100)

    assert (len(body), is_cut) == (min(size, 100), size > 100)


def test_an_archive_bomb_is_unpacked_no_further_than_the_limit() -> None:
    packed = gzip.compress(b"\0" * (50 << 20))

    body, is_cut = read_body([packed], encoding="gzip", limit=100_000)

    assert (len(body), is_cut) == (100_000, True)


def test_a_bomb_takes_little_memory_on_the_way() -> None:
    packed = gzip.compress(b"\0" * (50 << 20))
    tracemalloc.start()

    read_body([packed], encoding="gzip", limit=100_000)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 << 20


def test_bytes_that_unpack_to_nothing_have_an_end() -> None:
    nothing = gzip.compress(b"", mtime=0)

    with pytest.raises(ToolError, match="far more bytes"):
        read_body([nothing] * 1000, encoding="gzip", limit=1000)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress", "x" * 500])
def test_another_encoding_is_refused(encoding: str) -> None:
    with pytest.raises(ToolError, match="in a way nobody asked for"):
        read_body([b""], encoding=encoding, limit=10)


@pytest.mark.parametrize(
    ("named", "codec"),
    [
        (None, "utf-8"),
        ("UTF8", "utf-8"),
        ("latin-1", "iso8859-1"),
        ("windows-1252", "cp1252"),
        ("tis-620", "tis-620"),
        ("gb18030", "gb18030"),
        ("big5", "big5"),
        ("shift_jis", "shift_jis"),
        ("euc-kr", "euc_kr"),
        ("klingon", "utf-8"),
        ("punycode", "utf-8"),
        ("idna", "utf-8"),
        ("unicode_escape", "utf-8"),
        ("rot13", "utf-8"),
        ("zlib", "utf-8"),
        ("undefined", "utf-8"),
        ("a\0b", "utf-8"),
    ],
)
def test_only_encodings_of_text_are_followed(named: str | None, codec: str) -> None:
    assert web_encoding(named) == codec
