"""Which request headers may come from somebody we do not trust. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from openjarvis.core.errors import ToolError

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_MOST, _LONGEST_VALUE = 50, 8192
_MANAGED: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers about one connection and the framing of a message: they belong to the transport."""


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers, which are sent byte for byte: nothing in them is ever expanded.

    Raises:
        ToolError: naming the header that cannot be sent.
    """
    if len(headers) > _MOST:
        raise ToolError(f"At most {_MOST} headers can be sent, got {len(headers)}.")
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise ToolError(f"{name[:60]!r} is not the name of a header.")
        if name.lower() in _MANAGED:
            raise ToolError(f"The header {name!r} is set by the connection itself; leave it out.")
        if len(value) > _LONGEST_VALUE or not _VALUE.fullmatch(value):
            raise ToolError(
                f"The value of the header {name!r} must be one line of at most {_LONGEST_VALUE} "
                "ASCII characters."
            )
    return dict(headers)
