"""What goes wrong with a server of somebody else's, in words."""

from collections.abc import Iterable

from openjarvis.core.errors import ToolError
from openjarvis.safety.secrets import MASK, mask_secrets
from openjarvis.safety.terminal import plain

_LONGEST_REASON = 300


class ServerUnavailable(ToolError):
    """A server that cannot be asked now; the text begins with "unavailable: "."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"unavailable: {reason}")
        self.reason = reason


def told(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """Return what is told of `error`: its innermost cause, one line, secrets masked."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = shown(str(error), _LONGEST_REASON, secrets)
    return text or type(error).__name__


def shown(text: str, limit: int, secrets: Iterable[str] = ()) -> str:
    """Return foreign text as one line that is safe to show, at most `limit` characters.

    `secrets` are masked too, beside what looks like one.
    """
    for secret in secrets:
        text = text.replace(secret, MASK)
    line = " ".join(plain(mask_secrets(text[: 4 * limit])).split())
    return line if len(line) <= limit else line[:limit] + "…"
