"""The head of a GGUF model file: what the model is and how it wants to be talked to.

Read here and not by the runner, which answers a file that is none with nothing but "failed".
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from openjarvis.core.errors import invalid_request

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
_TEXT, _LIST = 8, 9
_MOST_ENTRIES = 100_000
_LONGEST_TEXT = 4_000_000


class _NotGGUF(Exception):
    """Bytes that are no such head."""


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
    where = Path(path).expanduser()
    try:
        with where.open("rb") as file:
            entries = _entries(file)
    except (OSError, _NotGGUF, struct.error, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no GGUF model"
        raise invalid_request(
            f"The model file {str(where)!r} cannot be read: {reason}. Give the path of a .gguf "
            "file; 'jarvis models pull REPO/FILE' fetches one."
        ) from error
    lengths = [value for key, value in entries.items() if key.endswith(".context_length")]
    return Gguf(
        where,
        str(entries.get("general.name") or where.stem),
        next((value for value in lengths if isinstance(value, int)), 0),
        str(entries.get("tokenizer.chat_template") or ""),
    )


def _entries(file: BinaryIO) -> dict[str, Any]:
    if file.read(4) != b"GGUF":
        raise _NotGGUF
    version, _, count = struct.unpack("<IQQ", _exactly(file, 20))
    if version < 2 or count > _MOST_ENTRIES:
        raise _NotGGUF
    found: dict[str, Any] = {}
    for _ in range(count):
        key = _text(file)
        found[key] = _value(file, _number(file, "<I"))
    return found


def _value(file: BinaryIO, kind: int) -> Any:
    if kind in _NUMBERS:
        return _number(file, _NUMBERS[kind])
    if kind == _TEXT:
        return _text(file)
    if kind == _LIST:
        return _skip_list(file)
    raise _NotGGUF


def _skip_list(file: BinaryIO) -> None:
    """Pass over a list: the vocabulary is long, and nobody here asks for it."""
    kind, length = _number(file, "<I"), _number(file, "<Q")
    if kind in _NUMBERS:
        file.seek(length * struct.calcsize(_NUMBERS[kind]), 1)
    elif kind == _TEXT and length <= 10_000_000:
        for _ in range(length):
            # Read, not sought over: a file that is cut short must end this.
            _exactly(file, _number(file, "<Q"))
    else:
        raise _NotGGUF


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, _exactly(file, struct.calcsize(form)))[0]


def _text(file: BinaryIO) -> str:
    return _exactly(file, _number(file, "<Q")).decode()


def _exactly(file: BinaryIO, length: int) -> bytes:
    if length > _LONGEST_TEXT:
        raise _NotGGUF
    read = file.read(length)
    if len(read) < length:
        raise _NotGGUF
    return read
