"""What to do about a server that refuses a request over HTTP; the SDK does not tell the status."""

import httpx2
from mcp.shared.exceptions import MCPError

from openjarvis.mcp.errors import innermost, told
from openjarvis.mcp.guarded_web import Hooks

_WHAT_TO_DO = {
    401: "it wants a token: set `headers` or `oauth`",
    403: "it does not allow this: look at the token in `headers`, or at who has logged in",
    404: "nothing is there: look at the path of `url`",
    421: "it does not answer to the host in `url`",
}


class Refusals:
    """Knows the status of the last request's answer. Used in that server's event loop only."""

    def __init__(self) -> None:
        self._status = 0
        self.hooks: Hooks = {"request": [self._asked], "response": [self._answered]}
        """What the HTTP client calls at each request and answer."""

    def told(self, error: BaseException) -> str:
        """Return what is told of `error`, and what to do where it stands for a refusal."""
        advice = _WHAT_TO_DO.get(self._status)
        if advice is None or not isinstance(innermost(error), MCPError | httpx2.HTTPStatusError):
            return told(error)
        return f"{told(error)} (HTTP {self._status}: {advice})"

    async def _asked(self, _: httpx2.Request) -> None:
        self._status = 0

    async def _answered(self, response: httpx2.Response) -> None:
        self._status = response.status_code
