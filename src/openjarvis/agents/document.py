"""The long text that `rlm` works on: given as text, or read from the file that the user names."""

import stat
from pathlib import Path

from openjarvis.core.errors import LLMError, invalid_request

MAX_BYTES = 50 * 1024 * 1024


def read_document(document: str | Path) -> str:
    """Return the text; a `Path` is read.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when it is too long, or no readable UTF-8 file.
    """
    if isinstance(document, Path):
        return _read(document)
    try:
        size = len(document.encode())
    except UnicodeEncodeError as error:
        raise invalid_request(
            f"The text is not valid: character {error.start} is half of a surrogate pair."
        ) from error
    if size > MAX_BYTES:
        raise _too_long("The text")
    return document


def _read(path: Path) -> str:
    name = f"The file {str(path)!r}"
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise invalid_request(f"{name} is no regular file.")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise _too_long(name)
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid_request(f"{name} is not UTF-8 text.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise invalid_request(f"{name} cannot be read: {reason}.") from error


def _too_long(what: str) -> LLMError:
    return invalid_request(f"{what} is longer than {MAX_BYTES // 1024 // 1024} MB.")
