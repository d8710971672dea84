"""An engine's reply, checked: engines that other people write may answer anything."""

from typing import Any, NamedTuple

from openjarvis.core.errors import LLMError, LLMErrorCode
from openjarvis.core.strict_json import dumps
from openjarvis.core.types import ToolCall
from openjarvis.engine.base import ProviderCall
from openjarvis.llm.response import PAUSE, FinishReason, Source, finish_reason

_UNREADABLE = "(arguments that cannot be written as text)"
_TOKEN_KINDS = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens")


class Turn(NamedTuple):
    """One model turn in our terms.

    `correction` is what the model is told of a turn that cannot be used, to try again. A turn that
    `is_paused` goes on when it is sent back.
    """

    text: str
    calls: list[ToolCall]
    finish_reason: FinishReason
    usage: dict[str, int]
    model: str
    sources: list[Source]
    provider_calls: list[ProviderCall]
    cost_usd: float | None
    metadata: dict[str, Any]
    correction: str = ""
    is_paused: bool = False

    @property
    def wants_more(self) -> bool:
        """Whether this is no answer yet."""
        return bool(self.calls or self.correction)


def read_reply(reply: Any) -> Turn:
    """Return what an engine's `generate` returned.

    Raises:
        LLMError: `LLM_UNAVAILABLE` when it is no reply at all, or cannot be read.
    """
    try:
        return _read(reply)
    except LLMError:
        raise
    except Exception as error:  # the values are an engine's own: their methods may raise anything
        raise LLMError(
            LLMErrorCode.UNAVAILABLE,
            f"The engine's reply cannot be read ({type(error).__name__}).",
            502,
        ) from error


def _read(reply: Any) -> Turn:
    if not isinstance(reply, dict):
        raise LLMError(
            LLMErrorCode.UNAVAILABLE,
            f"The engine answered with {type(reply).__name__}, expected a dict with 'content'.",
            502,
        )
    calls = [_call(entry) for entry in _list(reply.get("tool_calls"))]
    content, usage, metadata = reply.get("content"), reply.get("usage"), reply.get("metadata")
    return Turn(
        content if isinstance(content, str) else "" if content is None else str(content),
        calls,
        finish_reason(reply.get("finish_reason"), has_calls=bool(calls)),
        _usage(usage) if isinstance(usage, dict) else {},
        str(reply.get("model") or ""),
        [
            Source(str(entry.get("title") or entry["url"]), str(entry["url"]))
            for entry in _list(reply.get("sources"))
            if isinstance(entry, dict) and entry.get("url")
        ],
        [_provider_call(entry) for entry in _list(reply.get("provider_calls"))],
        _cost(reply.get("cost_usd")),
        metadata if isinstance(metadata, dict) else {},
        is_paused=reply.get("finish_reason") == PAUSE and not calls,
    )


def _provider_call(entry: Any) -> ProviderCall:
    given = entry if isinstance(entry, dict) else {}
    return ProviderCall(
        id=str(given.get("id") or ""),
        name=str(given.get("name") or ""),
        arguments=_arguments(given.get("arguments")),
        output=str(given.get("output") or ""),
    )


def _call(entry: Any) -> ToolCall:
    if isinstance(entry, ToolCall):
        return ToolCall(_text(entry.id), _text(entry.name), _arguments(entry.arguments))
    if not isinstance(entry, dict):
        return ToolCall("", "", "")
    function = entry.get("function")
    said = function if isinstance(function, dict) else entry
    name, arguments = said.get("name"), said.get("arguments")
    return ToolCall(_text(entry.get("id")), _text(name), _arguments(arguments))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value or "")


def _arguments(given: Any) -> str:
    if isinstance(given, str):
        return given
    if given is None:
        return ""
    try:
        return dumps(given)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return str(given)
    except Exception:  # noqa: BLE001 - a number too long, a nest too deep, or anybody's object
        return _UNREADABLE


def _usage(usage: dict[str, Any]) -> dict[str, int]:
    """Return the counts that can be: a total below its parts would hide what was spent."""
    counted = {
        kind: count for kind in _TOKEN_KINDS if type(count := usage.get(kind)) is int and count >= 0
    }
    if "total_tokens" in counted:
        parts = counted.get("prompt_tokens", 0) + counted.get("completion_tokens", 0)
        counted["total_tokens"] = max(counted["total_tokens"], parts)
    return counted


def _cost(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value >= 0 else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
