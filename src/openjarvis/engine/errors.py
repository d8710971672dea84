"""What client libraries raise, in the terms of `LLMError`."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.safety.secrets import MASK, mask_secrets
from openjarvis.safety.terminal import plain

MAX_MESSAGE = 1_000
"""Characters of a provider's message that are passed on; some answer with a page of HTML."""
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What client libraries stumble over in a reply that is none."""
LONGEST_WAIT = 86_400.0
"""Seconds that a server may ask to wait; who sleeps for what it says must wake up again."""
_SHORTEST_KEY = 8
"""A shorter key ("none", "ollama") is no secret, and masking it would hide ordinary words."""


class MaskedError(Exception):
    """Stands for a client library's error whose own words would print a secret."""


@dataclass(frozen=True, slots=True)
class Server:
    """Who is asked: the name that messages give it, and the key that they must not repeat."""

    name: str
    api_key: str = field(default="", repr=False)

    def quote(self, said: str) -> str:
        """Return what was said in a form that can be shown.

        It is short, one line, without secrets, and nothing in it is obeyed by a terminal.
        """
        said = mask_secrets(self._without_key(said)[: 2 * MAX_MESSAGE])
        said = plain(" ".join(said.split()))
        return said if len(said) <= MAX_MESSAGE else f"{said[:MAX_MESSAGE]}…"

    def cause(self, error: BaseException) -> BaseException | None:
        """Return what an error of ours may name as its cause: `error`, or what it says, masked.

        Providers repeat keys in their messages, and causes are printed with a traceback. None when
        `error` is only wrapped around an error of ours.
        """
        if isinstance(error.__cause__, LLMError):
            return None
        told: list[BaseException] = []
        link: BaseException | None = error
        while link is not None and link not in told:
            told.append(link)
            link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
        if all(self._may_be_printed(str(one)) for one in told):
            return error
        said = f"{type(error).__name__}: {self.quote(str(error))}"
        return MaskedError(said).with_traceback(error.__traceback__)

    def _may_be_printed(self, said: str) -> bool:
        return said == plain(mask_secrets(self._without_key(said)))

    def _without_key(self, said: str) -> str:
        return said.replace(self.api_key, MASK) if len(self.api_key) >= _SHORTEST_KEY else said


def llm_error(error: Exception, server: Server, library: Any) -> LLMError:
    """Return the `LLMError` that says what `error`, raised while asking `server`, means.

    `error` is one of the `library`'s (`openai` or `anthropic`) or a `ValueError` (a reply that
    cannot be read).
    """
    if isinstance(error, library.APIStatusError):
        said = provider_message(error.body) or error.message
        retry_after = seconds_to_wait(error.response.headers)
        return status_error(error.status_code, said, server, retry_after=retry_after)
    if isinstance(error, library.APITimeoutError):
        return unavailable(f"{server.name} did not answer in time.", status=504)
    if isinstance(error, library.APIConnectionError):
        cause = error.__cause__ or error
        if isinstance(cause, LLMError):  # the client's own refusal (`bounds`), wrapped
            return cause
        said = server.quote(str(cause) or type(cause).__name__)
        return unavailable(f"The connection to {server.name} failed: {said}")
    if isinstance(error, library.APIError):
        return reported_error(error.body or error.message, server)
    return transport_error(error, server)


def transport_error(error: Exception, server: Server) -> LLMError:
    """Return the error for a connection that failed, or a reply that cannot be read."""
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return unavailable(f"{server.name} did not answer in time.", status=504)
    said = server.quote(str(error) or type(error).__name__)
    if isinstance(error, UNREADABLE):
        return unavailable(f"{server.name} sent a reply that cannot be read: {said}", status=502)
    return unavailable(f"The connection to {server.name} failed: {said}")


def status_error(
    status: int, said: str, server: Server, *, retry_after: float | None = None
) -> LLMError:
    """Return the error for an HTTP status and what the provider said with it."""
    told = f" (HTTP {status}): {server.quote(said)}"
    if status in (401, 403):
        message = f"{server.name} refused the API key or access with it{told}"
        return LLMError(LLMErrorCode.UNAUTHORIZED, message, status)
    if status == 429:
        message = f"{server.name} is asked too often{told}"
        return LLMError(
            LLMErrorCode.RATE_LIMITED, message, status, retryable=True, retry_after=retry_after
        )
    if 400 <= status < 500:
        message = f"{server.name} rejected the request{told}"
        return LLMError(LLMErrorCode.REQUEST_REJECTED, message, status)
    return unavailable(f"{server.name} failed{told}", status=status, retry_after=retry_after)


def reported_error(body: Any, server: Server) -> LLMError:
    """Return the error for an `error` object inside an answer that began as a success."""
    status = _status(body.get("code")) if isinstance(body, Mapping) else None
    said = provider_message(body) or "no reason was given"
    if status is not None:
        return status_error(status, said, server)
    return unavailable(f"{server.name} reported an error: {server.quote(said)}", status=502)


def unavailable(message: str, *, status: int = 503, retry_after: float | None = None) -> LLMError:
    """Return the error for a model that cannot be reached now and may be later."""
    return LLMError(
        LLMErrorCode.UNAVAILABLE, message, status, retryable=True, retry_after=retry_after
    )


def provider_message(body: Any) -> str:
    """Return what a provider's error body says, or "" when it says nothing readable."""
    if isinstance(body, str):
        return body
    if not isinstance(body, Mapping):
        return ""
    for key in ("message", "error", "detail"):
        said = body.get(key)
        if said:
            return said if isinstance(said, str) else provider_message(said) or str(said)
    return ""


def seconds_to_wait(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return what `Retry-After` asks for (seconds or a date), or None when it is not usable."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return usable_wait(seconds)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    # A date that names no zone is read as UTC, the only one that HTTP has.
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return usable_wait(max(0.0, (moment - (now or datetime.now(UTC))).total_seconds()))


def usable_wait(seconds: float) -> float | None:
    """Return the seconds to wait, `LONGEST_WAIT` at most; None when they are no time."""
    return min(seconds, LONGEST_WAIT) if math.isfinite(seconds) and seconds >= 0 else None


def _status(code: Any) -> int | None:
    return code if isinstance(code, int) and 400 <= code <= 599 else None
