"""Tokens of channels kept out of logs and errors, those of the libraries that send included."""

import logging
import re
from collections.abc import Iterable
from threading import Lock
from urllib.parse import quote, unquote

from openjarvis.safety.secrets import MASK, mask_secrets
from openjarvis.safety.terminal import plain

_SHORTEST = 6
_LOGGERS = ("apprise", "urllib3.connectionpool", "urllib3.util.retry", "httpx2", "httpcore2")
_HOST = re.compile(r"(?:[A-Za-z0-9-]+\.)+[A-Za-z0-9-]+(?::\d+)?|localhost(?::\d+)?|\[.*\](?::\d+)?")
_known: set[str] = set()
_lock = Lock()


def conceal_parts_of(address: str) -> None:
    """Mask from now on, in this process, all that may be secret in an address of a channel."""
    _, _, rest = address.partition("://")
    place, _, query = rest.partition("?")
    names = [pair.partition("=")[2] for pair in query.split("&")]
    login, at, place = place.rpartition("@")
    host, *path = place.split("/")
    token = "" if _HOST.fullmatch(host) else host  # some have a token where others have a host
    conceal(piece for piece in (address, token, *path, *names) if len(piece) >= _SHORTEST)
    if at:
        conceal([login.partition(":")[2] or login])


def conceal(values: Iterable[str]) -> None:
    """Mask these values from now on, in the logs of the libraries that send and in `masked`."""
    with _lock:
        for value in values:
            if value:
                _known.update((value, quote(value), quote(value, safe=""), unquote(value)))
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if _mask_record not in logger.filters:
            logger.addFilter(_mask_record)


def masked(text: str) -> str:
    """Return `text` as one line without secrets, at most 300 characters."""
    line = " ".join(plain(mask_secrets(_without_known(text))).split())
    return line if len(line) <= 300 else line[:300] + "…"


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
    return True
