"""Text of tools and models made safe to show on a terminal and to write to a log."""

import json
import re

# Control characters but \n and \t; what reorders text or hides in it; line separators, which some
# viewers break at; surrogates, which no terminal or file would take.
_NEUTRALISED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def plain(text: str) -> str:
    r"""Return `text` with every character that a terminal would obey written out as an escape.

    An escape sequence stays visible as `\x1b[31m`; line ends, tabs and all letters stay as they
    are, and the line ends of Windows become `\n`.
    """
    return _NEUTRALISED.sub(_escape, text.replace("\r\n", "\n"))


def plain_json(text: str) -> str:
    """Return JSON text with the same characters written as JSON escapes; its meaning stays."""
    return _NEUTRALISED.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape", "backslashreplace").decode("ascii")
