"""What goes wrong with a server of somebody else's, in words."""

from openjarvis.core.errors import ToolError
from openjarvis.safety.concealment import masked


class ServerUnavailable(ToolError):
    """A server that cannot be asked now; the text begins with "unavailable: "."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"unavailable: {reason}")
        self.reason = reason


def told(error: BaseException) -> str:
    """Return what is told of `error`: its innermost cause, one line, secrets masked."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return masked(str(error)) or type(error).__name__
