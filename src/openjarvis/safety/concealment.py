"""Secrets that are known by their value, those of the configuration, kept out of messages and logs.

`safety/secrets.py` finds what looks like a secret; these are found whatever they look like.
"""

import logging
import re
from collections.abc import Iterable
from threading import Lock
from urllib.parse import quote, unquote

from openjarvis.safety.secrets import MASK, mask_secrets
from openjarvis.safety.terminal import plain

SHORTEST = 6
"""Shorter parts of an address are no secrets, and masking them would hide ordinary words."""

_LONGEST_READ = 100_000
_LOGGERS = re.compile(r"(openjarvis|apprise|urllib3|httpx2|httpcore2|mcp|client|asyncio)(\.|$)")
_formatter = logging.Formatter()
_known: set[str] = set()
_lock = Lock()


def conceal(values: Iterable[str]) -> None:
    """Mask these values from now on, in `masked` and in the logs of ours and of those that send."""
    with _lock:
        for value in values:
            if value:
                _known.update((value, quote(value), quote(value, safe=""), unquote(value)))
                _known.update(repr(one)[1:-1] for one in (value, unquote(value)))
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


def _without_known(text: str) -> str:
    with _lock:
        known = sorted(_known, key=len, reverse=True)
    for value in known:
        text = text.replace(value, MASK)
    return text


def _mask_record(record: logging.LogRecord) -> bool:
    message = record.getMessage()
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
