"""The head of a GGUF model file: what the model is and how it wants to be talked to.

Read here and not by the runner, which answers a file that is none with nothing but "failed", and
some that are hostile by ending the process.
"""

import os
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from openjarvis.core.errors import invalid_request
from openjarvis.safety.terminal import plain

_NUMBERS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_MAGIC = b"GGUF"
_TEXT, _LIST = 8, 9
_MOST_ENTRIES = 100_000
_MOST_TEXTS = 2_000_000
"""In all lists together; a vocabulary has a few hundred thousand, and its merges as many."""
_MOST_BLOCKS = 10_000
_LONGEST_TEXT = 4_000_000
_LONGEST_HEAD = 512_000_000
_LONGEST_NAME = 200
_KEPT = ("general.name", "general.architecture", "tokenizer.chat_template", "split.count")
_KEPT_ENDINGS = (".context_length", ".block_count", ".embedding_length")
# Without O_NONBLOCK a FIFO would hold the caller until somebody writes to it.
_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


class _NotGGUF(Exception):
    """Bytes that are no such head; the text says why."""


@dataclass(frozen=True, slots=True)
class Gguf:
    """What the head says: the model's name, the longest context, and the chat template."""

    path: Path
    name: str
    context_length: int
    chat_template: str

    @property
    def takes_tools(self) -> bool:
        """Tell whether the model's own template says how to offer tools."""
        return "tools" in self.chat_template


def read_head(path: str | Path) -> Gguf:
    """Return what the head of the file at `path` says.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when there is no such file, or it is no GGUF model.
    """
    where = Path(path)
    try:
        where = where.expanduser()
        with os.fdopen(os.open(where, _FLAGS), "rb") as file:
            entries = _Head(file).entries()
        _check(entries)
    except (OSError, _NotGGUF, struct.error, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no GGUF model"
        reason = str(error) if isinstance(error, _NotGGUF) and str(error) else reason
        raise invalid_request(
            f"The model file {str(where)!r} cannot be read: {reason}. Give the path of a .gguf "
            "file; 'jarvis models pull OWNER/REPO/FILE.gguf' fetches one."
        ) from error
    name = " ".join(plain(str(entries.get("general.name") or "")).split())
    return Gguf(
        where,
        name[:_LONGEST_NAME] or where.stem,
        next((value for key, value in entries.items() if key.endswith(".context_length")), 0),
        str(entries.get("tokenizer.chat_template") or ""),
    )


def is_gguf(path: str | Path) -> bool:
    """Tell whether the file at `path` begins as such a model does; the head is not read."""
    try:
        with os.fdopen(os.open(Path(path).expanduser(), _FLAGS), "rb") as file:
            return stat.S_ISREG(os.fstat(file.fileno()).st_mode) and file.read(4) == _MAGIC
    except (OSError, ValueError, RuntimeError):
        return False


def _check(entries: dict[str, Any]) -> None:
    """Refuse what the runner would fall over: it ends the process where a number makes no sense."""
    if not isinstance(entries.get("general.architecture"), str):
        raise _NotGGUF("it does not say which kind of model it is")
    for key, value in entries.items():
        if key.endswith(_KEPT_ENDINGS) and not (type(value) is int and value > 0):
            raise _NotGGUF(f"its {key.rpartition('.')[2]} is no number from 1")
        # The first of several files may hold none of the tensors.
        most = _MOST_BLOCKS if "split.count" in entries else entries["tensors"]
        if key.endswith(".block_count") and value > most:
            raise _NotGGUF("it has fewer tensors than blocks")


class _Head:
    """The head of an open file, read from its beginning to its end."""

    def __init__(self, file: BinaryIO) -> None:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise _NotGGUF("it is no regular file")
        self._file = file
        self._end = min(about.st_size, _LONGEST_HEAD)
        self._texts = 0

    def entries(self) -> dict[str, Any]:
        """Return the entries that are of use, and the number of `tensors`."""
        if self._file.read(4) != _MAGIC:
            raise _NotGGUF
        version, tensors, count = struct.unpack("<IQQ", self._exactly(20))
        if version < 2 or count > _MOST_ENTRIES:
            raise _NotGGUF
        found: dict[str, Any] = {}
        for _ in range(count):
            key, value = self._text(), self._value(self._number("<I"))
            if key in _KEPT or key.endswith(_KEPT_ENDINGS):
                found[key] = value
        return {**found, "tensors": tensors}

    def _value(self, kind: int) -> Any:
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind == _TEXT:
            return self._text()
        if kind == _LIST:
            return self._skip_list()
        raise _NotGGUF

    def _skip_list(self) -> None:
        """Pass over a list: the vocabulary is long, and nobody here asks for it."""
        kind, length = self._number("<I"), self._number("<Q")
        if kind in _NUMBERS:
            self._skip(length * struct.calcsize(_NUMBERS[kind]))
        elif kind == _TEXT and length <= _MOST_TEXTS - self._texts:
            self._texts += length
            for _ in range(length):
                # Read, not sought over: a file that is cut short must end this.
                self._exactly(self._number("<Q"))
        else:
            raise _NotGGUF

    def _skip(self, length: int) -> None:
        if length > self._end - self._file.tell():
            raise _NotGGUF
        self._file.seek(length, os.SEEK_CUR)

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._exactly(struct.calcsize(form)))[0]

    def _text(self) -> str:
        return self._exactly(self._number("<Q")).decode()

    def _exactly(self, length: int) -> bytes:
        if length > _LONGEST_TEXT:
            raise _NotGGUF
        read = self._file.read(length)
        if len(read) < length:
            raise _NotGGUF
        return read
