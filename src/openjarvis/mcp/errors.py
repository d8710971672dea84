"""What goes wrong with a server of somebody else's, in words."""

from openjarvis.core.errors import ToolError
from openjarvis.safety.concealment import masked


class ServerUnavailable(ToolError):
    """A server that cannot be asked now; the text begins with "unavailable: "."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"unavailable: {reason}")
        self.reason = reason


def innermost(error: BaseException) -> BaseException:
    """Return the first error in groups of groups of them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def told(error: BaseException) -> str:
    """Return what is told of `error`: its innermost cause, one line, secrets masked."""
    error = innermost(error)
    return masked(str(error)) or type(error).__name__
