"""Secrets that are known by their value, those of the configuration, kept out of messages and logs.

`safety/secrets.py` finds what looks like a secret; these are found whatever they look like.
"""

import logging
import os
import re
from collections.abc import Iterable, Iterator
from threading import Lock
from urllib.parse import quote, quote_plus, unquote

from openjarvis.safety.secrets import MASK, mask_secrets
from openjarvis.safety.terminal import plain

SHORTEST = 6
"""Shorter parts of an address are no secrets, and masking them would hide ordinary words.

What is shorter and concealed all the same is masked only where it stands as a word.
"""

SHORTEST_PASSWORD = 4
"""What is shorter is not masked: it would be in every line."""

_LONGEST_READ = 100_000
_LOGGERS = re.compile(
    r"(openjarvis|apprise|urllib3|oauthlib|requests_oauthlib|httpx2|httpcore2|mcp|client|asyncio)(\.|$)"
)
_MADE_LATER = tuple(f"httpcore2.{name}" for name in ("connection", "http11", "http2", "proxy"))
"""Loggers of what is imported with the first request."""

_formatter = logging.Formatter()
_known: set[str] = set()
_found: tuple[re.Pattern[str], frozenset[str]] | None = None
"""Finds what is known, longer ones first, and what to look for before: searching for words is fast.

Replaced as a whole, so that reading needs no lock.
"""

_lock = Lock()


def conceal(values: Iterable[str]) -> None:
    """Mask these values from now on, in `masked` and in the logs of ours and of those that send."""
    global _found
    told = [value for value in values if len(value) >= SHORTEST_PASSWORD]
    with _lock:
        new = {one for value in told for one in _spellings(value)} - _known
        if new:
            _known.update(new)
            longer_first = sorted(_known, key=len, reverse=True)
            # Names of hosts come back in small letters.
            pattern = re.compile("|".join(map(_finding, longer_first)), re.IGNORECASE)
            _found = pattern, frozenset(map(str.lower, _known))
    for name in _MADE_LATER:
        logging.getLogger(name)
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if (
            _LOGGERS.match(name)
            and isinstance(logger, logging.Logger)
            and _mask_record not in logger.filters
        ):
            logger.addFilter(_mask_record)


def masked(text: str, limit: int = 300) -> str:
    """Return foreign text as one line without secrets, safe to show, at most `limit` characters."""
    text = _without_known(text[:_LONGEST_READ])[: 4 * limit]
    line = " ".join(plain(mask_secrets(text)).split())
    return line if len(line) <= limit else line[:limit] + "…"


def _spellings(value: str) -> Iterator[str]:
    for one in (value, unquote(value)):
        yield from (one, repr(one)[1:-1], quote(one), quote(one, safe=""), quote_plus(one))


def _finding(value: str) -> str:
    found = re.escape(value)
    return found if len(value) >= SHORTEST else rf"(?<![^\W_]){found}(?![^\W_])"


def _without_known(text: str) -> str:
    if _found is None:
        return text
    pattern, words = _found
    lowered = text.lower()
    return pattern.sub(MASK, text) if any(word in lowered for word in words) else text


def _mask_record(record: logging.LogRecord) -> bool:
    try:
        message = record.getMessage()
    except Exception:  # noqa: BLE001 - a record of anybody's that cannot be told: no handler tells it
        return True
    clean = _without_known(message)
    if clean != message:
        record.msg, record.args = clean, ()
    if record.exc_info and not record.exc_text:
        traceback = _formatter.formatException(record.exc_info)
        clean = _without_known(traceback)
        if clean != traceback:
            record.exc_text = clean
            record.exc_info = None  # some handlers would write it out themselves
    return True


def _begin_anew() -> None:
    """Forget, in a forked copy of this process, a lock that another thread held."""
    global _lock
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
