"""Secrets kept out of what models, logs and records see."""

import os
import re
from functools import lru_cache

from openjarvis.safety.key_formats import mask_keys

MASK = "[secret]"

_SECRET_VARIABLE = re.compile(
    r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PWD|CREDENTIALS?|AUTH|DSN|APIKEY)(?:_|$)|API_?KEY",
    re.IGNORECASE,
)
_DIRECTORIES = frozenset({"PWD", "OLDPWD"})
_SHORTEST_VALUE = 8
"""Shorter values of the environment are not masked: they would hide ordinary words."""

# What repeats without a bound is possessive and starts at the beginnings of words only, so that the
# time is in proportion to the text.
_NAME = r"[\w\u0e00-\u0e7f-]"  # the vowels and tones of Thai are no word characters to `re`
_NAMED = re.compile(
    rf"(?i)(?<!{_NAME})(?!secret\])((?:(?:api|access|secret|private) )?{_NAME}++)"
    r"""["'\]]{0,2}\s{0,8}(?:=>|:=|[=:：])\s{0,8}(?:(?:bearer|basic|token|digest|apikey)\s{1,4})?"""
)
_OPTION = re.compile(r"(?<![\w-])(--[\w-]++)\s{1,8}")
_VALUE = re.compile(r"""(["'])((?:[^"'\\\r\n]|\\.|(?!\1)["'])*+)|([^\s,;&"'<>]++)""")
_COOKIE = re.compile(r"(?i)(?<![\w-])((?:set-)?cookie:\s{0,8})[^\r\n]++")
_SCHEME_AND_VALUE = re.compile(r"(?i)\b((?:bearer|basic) )([\w.~+/=-]{8,}+)")
_URL_REST = re.compile(r"""(?<=://)(?:(?!://)[^\s"<>])++""")

_PASSWORD_NAME = re.compile(
    r"(?i)password|passwd|passphrase|passcode|(?:^|[_-])(?:pass|pwd)$|secret(?!ar|ion)"
    r"|(?:api|access|account|private|signing|encryption|shared|master)[_ -]?key$|credentials?$"
    r"|(?:^|[_-])sig$|密码|密碼|パスワード|รหัสผ่าน"
)
_IN_NAMES = (
    "pass", "pwd", "secret", "token", "key", "credential", "auth", "cookie", "sig",
    "密", "パ", "รหัส",
)  # fmt: skip
"""Parts of names, one of which is in every text that holds a named secret: a cheap first look."""
_TOKEN_NAME = re.compile(r"(?i)token$|(?:^|[_-])auth$|authorization$")
_SHORTEST_TOKEN = 6
_LONGEST_WORD = 24
_HARMLESS = frozenset(
    [
        "none", "null", "nil", "true", "false", "yes", "no", "str", "string", "int", "integer",
        "bytes", "bool", "any", "optional", "required", "missing", "empty", "invalid", "unset",
        "undefined", "denied", "failed", "wrong", "expired", "include", "omit", "same-origin",
        "redacted", MASK, MASK.rstrip("]"),
    ]
)  # fmt: skip
"""What stands after a secret's name in messages, types and settings without being the secret."""
_REFERENCE = re.compile(r"\$\{?[A-Z_]+\}?|os\.environ[\w.[(]*|<\w+>|%\w+%|\W*")


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
    if "://" in text:
        text = _URL_REST.sub(_mask_userinfo, text)
    text = mask_keys(text, MASK)
    return _mask_named(text)


@lru_cache(maxsize=1024)
def looks_secret(name: str) -> bool:
    """Tell whether the name of a variable says that its value is a secret."""
    return name not in _DIRECTORIES and _SECRET_VARIABLE.search(name) is not None


def _mask_userinfo(found: re.Match[str]) -> str:
    """Mask `user:password@`, or a long `token@`, of what follows the `://` of a URL."""
    rest = found[0]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    userinfo, at, _ = authority.rpartition("@")
    if not at:
        # A password with a slash in it is no valid URL, but it is a password.
        user, _, port = authority.partition(":")
        if not user or not port or port.isdigit():
            return rest
        userinfo = rest.rpartition("@")[0]
    if ":" in userinfo or _looks_random(userinfo):
        return MASK + rest[len(userinfo) :]
    return rest


def _mask_named(text: str) -> str:
    """Mask what a name, an option or a scheme before it says is secret."""
    lowered = text.lower()
    for part in _IN_NAMES:
        if part in lowered:
            text = _COOKIE.sub(rf"\g<1>{MASK}", text)
            text = _mask_values(_OPTION, _mask_values(_NAMED, text))
            break
    if "bearer " in lowered or "basic " in lowered:
        text = _SCHEME_AND_VALUE.sub(_mask_random, text)
    return text


def _mask_random(found: re.Match[str]) -> str:
    return found[1] + MASK if _looks_random(found[2]) else found[0]


def _mask_values(named: re.Pattern[str], text: str) -> str:
    """Mask the values that follow the secret ones of the names which `named` finds."""
    pieces: list[str] = []
    done = 0
    for found in named.finditer(text):
        # A name inside a value that was looked at already names nothing.
        if found.start() >= done and (value := _VALUE.match(text, found.end())):
            secret = value[2] if value[1] else value[3].rstrip(")]}.")
            start = value.start(2) if value[1] else value.start(3)
            if _is_secret(found[1], secret):
                pieces += text[done:start], MASK
                done = start + len(secret)
    return "".join([*pieces, text[done:]])


def _is_secret(name: str, value: str) -> bool:
    if value.lower() in _HARMLESS or _REFERENCE.fullmatch(value):
        return False
    is_token = _TOKEN_NAME.search(name) is not None and _is_token(value)
    return is_token or _PASSWORD_NAME.search(name) is not None


def _is_token(value: str) -> bool:
    """Tell a token from a count, a type or a sign of a grammar, which are called tokens too."""
    return len(value) >= _SHORTEST_TOKEN and not (value.isdigit() and len(value) < _SHORTEST_VALUE)


def _looks_random(value: str) -> bool:
    """Tell a token from a word."""
    return len(value) >= _LONGEST_WORD or any(c.isdigit() or c.isupper() for c in value[1:])


def _environment_secrets() -> tuple[str, ...]:
    values = [os.environ.get(name, "") for name in os.environ if looks_secret(name)]
    return _longest_first(tuple(value for value in values if len(value) >= _SHORTEST_VALUE))


@lru_cache(maxsize=1)
def _longest_first(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(values, key=len, reverse=True))
