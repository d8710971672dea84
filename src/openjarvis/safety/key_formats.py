"""The formats of keys that providers document: what is masked wherever it stands."""

import re
from typing import NamedTuple


class _Format(NamedTuple):
    """A pattern, and literals of which a text holds one when the pattern can match at all."""

    literals: tuple[str, ...]
    pattern: re.Pattern[str]


def _format(literals: str, pattern: str) -> _Format:
    return _Format(tuple(literals.split()), re.compile(pattern, re.ASCII | re.DOTALL))


# Every pattern takes time in proportion to the text: what repeats without a bound ends the match,
# or is possessive and starts at the beginnings of words only.
_FORMATS = (
    _format("sk-", r"\bsk-[\w-]{16,}"),
    _format("sess-", r"\bsess-[A-Za-z0-9]{20,}"),
    _format("sk_ rk_ pk_", r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _format("ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    _format("github_pat_", r"\bgithub_pat_\w{20,}"),
    _format("glpat-", r"\bglpat-[\w-]{16,}"),
    _format("xox xapp-", r"\b(?:xox[abeprs]|xapp)-[A-Za-z0-9-]{10,}"),
    _format("AKIA ASIA", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _format("AIza", r"\bAIza[\w-]{30,}"),
    _format("GOCSPX-", r"\bGOCSPX-[\w-]{20,}"),
    _format("ya29.", r"\bya29\.[\w.-]{16,}"),
    _format("SG.", r"(?<![\w-])SG\.[\w-]{16,64}\.[\w-]{16,}"),
    _format("hf_ gsk_ npm_ r8_", r"\b(?:hf|gsk|npm|r8)_[A-Za-z0-9]{16,}"),
    _format("tvly-", r"\btvly-(?:dev-|prod-)?[A-Za-z0-9]{16,}"),
    _format("xai-", r"\bxai-[A-Za-z0-9]{20,}"),
    _format("nvapi-", r"\bnvapi-[\w-]{20,}"),
    _format("pypi-AgE", r"\bpypi-AgE[\w-]{16,}"),
    _format("whsec_", r"\bwhsec_[A-Za-z0-9+/=]{16,}"),
    _format("shp", r"\bshp(?:at|ca|pa|ss)_[A-Za-z0-9]{16,}"),
    _format("_v1_", r"\bdo[oprt]_v1_[A-Za-z0-9]{16,}"),
    _format("sq0", r"\bsq0(?:atp|csp)-[\w-]{16,}"),
    _format("dckr_", r"\bdckr_(?:pat|oat)_[\w-]{16,}"),
    _format("lin_api_", r"\blin_api_[A-Za-z0-9]{16,}"),
    _format(":", r"(?<!\d)\d{8,10}:[\w-]{35}(?![\w-])"),  # Telegram bots
    _format("hooks.slack.com", r"(?<=hooks\.slack\.com/services/)[\w/+-]++"),
    _format("/api/webhooks/", r"(?<=/api/webhooks/)\d++/[\w-]++"),  # Discord
    _format("eyJ", r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?"),  # JSON web tokens
    _format(
        "PRIVATE",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r".*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    ),
)


def mask_keys(text: str, mask: str) -> str:
    """Return `text` with `mask` in place of everything that has the format of a known key."""
    for literals, pattern in _FORMATS:
        for literal in literals:
            if literal in text:
                text = pattern.sub(mask, text)
                break
    return text
