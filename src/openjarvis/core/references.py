"""Where the references of a JSON Schema lead. Pure."""

from typing import Any
from urllib.parse import unquote


def referred(root: Any, reference: str) -> Any:
    """Return the part of the schema `root` that `reference` names: `#` or a pointer (RFC 6901).

    Raises:
        LookupError: when it leaves the schema or leads nowhere; the message says which.
    """
    if reference != "#" and not reference.startswith("#/"):
        raise LookupError(f"{reference[:80]!r} leaves the schema")
    at = root
    for step in unquote(reference).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        try:
            at = at[int(key)] if isinstance(at, list) else at[key]
        except (LookupError, TypeError, ValueError):
            raise LookupError(f"{reference[:80]!r} leads nowhere") from None
    return at
