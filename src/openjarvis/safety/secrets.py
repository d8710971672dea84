"""Secrets kept out of what models, logs and records see."""

import os
import re
from functools import lru_cache

MASK = "[secret]"

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD|CREDENTIALS?|AUTH|DSN|APIKEY)(?:_|$)|API_?KEY",
    re.IGNORECASE,
)
_DIRECTORIES = frozenset({"PWD", "OLDPWD"})
_SHORTEST_VALUE = 8
"""Shorter values of the environment are not masked: they would hide ordinary words."""

_PATTERNS = (
    # user:password@ in any URL
    re.compile(r"(?<=://)[^\s/@:\"']*:[^\s@\"']+(?=@)"),
    # Authorization: Bearer …, Basic …
    re.compile(r"(?i)(?<=bearer )[A-Za-z0-9._~+/=-]{8,}|(?<=basic )[A-Za-z0-9+/=]{8,}"),
    # formats that providers document for their keys
    re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"),
    re.compile(r"\bglpat-[A-Za-z0-9_-]{16,}"),
    re.compile(r"\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(r"\bAIza[A-Za-z0-9_-]{30,}"),
    re.compile(
        r"\b(?:tvly|gsk|hf|npm|pypi|dop_v1|sq0atp|shpat|rk_live|sk_live|pk_live)[-_][A-Za-z0-9_-]{16,}"
    ),
    re.compile(r"\b\d{8,10}:[A-Za-z0-9_-]{35}\b"),  # Telegram bot tokens
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),  # JSON web tokens
    re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
    ),
)
_PAIR = re.compile(
    r"(?i)([\"']?\b[\w-]*(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|credential)[\w-]*"
    r"[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&\"'}\])]+)"
)


def mask_secrets(text: str) -> str:
    """Return `text` with what looks like a secret replaced by `[secret]`.

    Replaced are credentials in URLs, values of `password=…`-like pairs, known key formats, and the
    values of environment variables whose names look secret.
    """
    if not text:
        return text
    for value in _environment_secrets():
        if value in text:
            text = text.replace(value, MASK)
    for pattern in _PATTERNS:
        text = pattern.sub(MASK, text)
    return _PAIR.sub(lambda found: found[1] + MASK, text)


def looks_secret(name: str) -> bool:
    """Tell whether the name of a variable says that its value is a secret."""
    return bool(_SECRET_NAME.search(name))


def _environment_secrets() -> tuple[str, ...]:
    return _longest_first(
        tuple(
            value
            for name, value in os.environ.items()
            if len(value) >= _SHORTEST_VALUE and looks_secret(name) and name not in _DIRECTORIES
        )
    )


@lru_cache(maxsize=1)
def _longest_first(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(values, key=len, reverse=True))
