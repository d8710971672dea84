import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openjarvis.core.errors import LLMError
from openjarvis.engine.gguf import read_head

NUMBER, SIGNED, REAL, TRUTH, TEXT, LIST = 4, 5, 6, 7, 8, 9


def text(said: str | bytes) -> bytes:
    data = said if isinstance(said, bytes) else said.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def head(*entries: bytes, tensors: int = 9, count: int | None = None) -> bytes:
    counted = len(entries) if count is None else count
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, counted) + b"".join(entries)


LLAMA = entry("general.architecture", TEXT, text("llama"))
BLOCKS = entry("llama.block_count", NUMBER, struct.pack("<I", 9))


def test_a_head_says_what_the_model_is(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    vocabulary = struct.pack("<IQ", TEXT, 3) + text("a") + text("") + text("b")
    path.write_bytes(
        head(
            LLAMA,
            BLOCKS,
            entry("tokenizer.ggml.tokens", LIST, vocabulary),
            entry("tokenizer.ggml.scores", LIST, struct.pack("<IQ", REAL, 3) + b"\0" * 12),
            entry("general.name", TEXT, text("Small\x1b]0;gone\x07\nmodel")),
            entry("llama.context_length", NUMBER, struct.pack("<I", 2048)),
            entry("tokenizer.chat_template", TEXT, text("{{ tools }}")),
        )
    )

    found = read_head(path)

    assert (found.name, found.context_length) == (r"Small\x1b]0;gone\x07 model", 2048)
    assert found.takes_tools


def test_the_first_of_several_files_may_be_without_tensors(tmp_path: Path) -> None:
    path = tmp_path / "model-00001-of-00002.gguf"
    split = entry("split.count", NUMBER, struct.pack("<I", 2))
    path.write_bytes(head(LLAMA, BLOCKS, split, tensors=0))

    assert read_head(path).name == "model-00001-of-00002"


@pytest.mark.parametrize(
    "data",
    {
        "a list beyond any file": head(LLAMA, entry("a", LIST, struct.pack("<IQ", 10, 2**63))),
        "a list of all there is": head(LLAMA, entry("a", LIST, struct.pack("<IQ", 0, 2**64 - 1))),
        "a list past the end": head(LLAMA, entry("a", LIST, struct.pack("<IQ", 0, 2**62))),
        "a text past the end": head(LLAMA, entry("a", TEXT, struct.pack("<Q", 2**63))),
        "a list of lists": head(LLAMA, entry("a", LIST, struct.pack("<IQ", LIST, 1))),
        "no UTF-8": head(LLAMA, entry("a", TEXT, text(b"\xff"))),
        "fewer entries than said": head(LLAMA, count=100_000),
        "no kind": head(BLOCKS),
        "a kind that is no text": head(entry("general.architecture", NUMBER, b"\0\0\0\0")),
        "a context below 1": head(
            LLAMA, entry("llama.context_length", SIGNED, struct.pack("<i", -5))
        ),
        "a context that is true": head(LLAMA, entry("llama.context_length", TRUTH, b"\2")),
        "an embedding of 0": head(LLAMA, entry("llama.embedding_length", NUMBER, b"\0\0\0\0")),
        "more blocks than any model": head(
            LLAMA,
            entry("llama.block_count", NUMBER, struct.pack("<I", 2**31 - 1)),
            entry("split.count", NUMBER, struct.pack("<I", 2)),
        ),
        "more blocks than tensors": head(LLAMA, BLOCKS, tensors=8),
        "blocks without end": head(
            LLAMA, entry("llama.block_count", NUMBER, struct.pack("<I", 2**31 - 1)), tensors=0
        ),
        "millions of nothing": head(
            LLAMA, entry("a", LIST, struct.pack("<IQ", TEXT, 9_000_000) + b"\0" * 72_000_000)
        ),
    }.items(),
    ids=lambda named: named[0],
)
def test_a_head_that_makes_no_sense_is_refused_soon(
    tmp_path: Path, data: tuple[str, bytes]
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(data[1])
    begun = time.process_time()

    with pytest.raises(LLMError, match="cannot be read") as failed:
        read_head(path)

    assert failed.value.code == "LLM_INVALID_REQUEST"
    assert time.process_time() - begun < 2.0


@pytest.mark.skipif(sys.platform == "win32", reason="needs FIFOs and devices")
@pytest.mark.parametrize(
    "made", [lambda path: os.mkfifo(path), lambda path: path.symlink_to("/dev/zero"), Path.mkdir]
)
def test_what_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, made: Callable[[Path], None]
) -> None:
    made(tmp_path / "model.gguf")

    with pytest.raises(LLMError, match=r"no regular file|Is a directory"):
        read_head(tmp_path / "model.gguf")


@pytest.mark.parametrize("path", ["\0x", "~nobody-of-that-name/x", "x" * 5000])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(LLMError, match="cannot be read"):
        read_head(path)
