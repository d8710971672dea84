"""The errors that cross floors. Each says what happened and what to do about it."""

from collections.abc import Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Any


class ToolError(Exception):
    """Raised by a tool whose text is written for the model: it is passed on as it is.

    Keep passwords, hosts and tracebacks out of it; chain the cause with `from`, which stays in the
    local log.
    """


class ToolDefinitionError(TypeError):
    """A tool that cannot be made: raised where it is defined, never at its first call."""


class ConfigError(ValueError):
    """A configuration that cannot be used; the text names the file, the key and its line."""


class Unavailable(RuntimeError):
    """A part of the system that cannot do what was asked; the text tells a user why."""


class LLMErrorCode(StrEnum):
    """What went wrong between us and a model, in the terms a caller can act on."""

    INVALID_REQUEST = "LLM_INVALID_REQUEST"
    REQUEST_REJECTED = "LLM_REQUEST_REJECTED"
    UNAUTHORIZED = "LLM_UNAUTHORIZED"
    RATE_LIMITED = "LLM_RATE_LIMITED"
    UNAVAILABLE = "LLM_UNAVAILABLE"


class LLMError(Exception):
    """A request to a model that failed.

    `code` is one of `LLMErrorCode`; `status` the HTTP status that fits (400 for our own checks);
    `retryable` says whether the same request may succeed later, after `retry_after` seconds where
    the provider told. `response` is what the run had gathered before it failed (an
    `openjarvis.llm.Response`), so that calls that already ran are not lost; None before the first.
    """

    def __init__(
        self,
        code: LLMErrorCode | str,
        message: str,
        status: int = 400,
        retryable: bool = False,
        *,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = LLMErrorCode(code)
        self.message = message
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.response: Any = None

    def __str__(self) -> str:
        told = f"{self.code}: {self.message}"
        if self.retry_after is None:
            return told
        return f"{told} (try again in {self.retry_after:.0f} s)"


def invalid_request(message: str) -> LLMError:
    """Return the error for a request that we refuse ourselves, before a token is spent."""
    return LLMError(LLMErrorCode.INVALID_REQUEST, message, 400)


_NEAR = 0.7
"""How alike a name must be, of 1, to be taken for a slip of the pen."""


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the entry of `known` that `name` was probably meant to be, or None."""
    wanted, lowered = name[:200].lower(), [entry.lower() for entry in known]
    matches = get_close_matches(wanted, lowered, n=1, cutoff=_NEAR)
    # In a short name, two letters that changed places make it look quite another.
    matches = matches or [entry for entry in lowered if sorted(entry) == sorted(wanted)]
    return known[lowered.index(matches[0])] if matches else None


def unknown_name(kind: str, name: str, known: Sequence[str]) -> str:
    """Return what to say of a name that no tool, agent or engine has; it names those there are."""
    near = nearest(name, known)
    hint = f" Did you mean {near!r}?" if near else ""
    return f"Unknown {kind} {name[:64]!r}.{hint} There are {', '.join(known)}."
