"""A chat completion put together from the fragments of a stream.

Servers disagree on how they cut tool calls: by index, by id, by neither; a name whole, in pieces or
repeated; arguments in pieces or at once, as text or as an object. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from openjarvis.engine.call_pieces import Arguments
from openjarvis.engine.errors import Server, unavailable
from openjarvis.engine.messages import CALL_EXTRA, REASONING_FIELDS, arguments_text, text_of

ENOUGH_NAME = 1_000
"""Characters of a name that comes in pieces; a longer one names no tool."""


@dataclass(slots=True)
class _Call:
    """A tool call so far."""

    id: str = ""
    name: str = ""
    arguments: Arguments = field(default_factory=Arguments)
    extra: Any = None

    def is_too_full_for(self, arguments: str) -> bool:
        """Tell whether these arguments cannot be of this call: its own are a whole JSON object."""
        return bool(arguments.strip()) and self.arguments.are_whole()

    def as_message_part(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": str(self.arguments)}
        return {"id": self.id, "function": function, CALL_EXTRA: self.extra}


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A piece of a tool call as it came."""

    index: int | None
    id: str
    name: str
    arguments: str
    extra: Any

    @classmethod
    def of(cls, entry: Any) -> "_Fragment":
        given = entry if isinstance(entry, Mapping) else {}
        function = given.get("function")
        function = function if isinstance(function, Mapping) else {}
        index, call_id, name = given.get("index"), given.get("id"), function.get("name")
        return cls(
            index=index if isinstance(index, int) else None,
            id=call_id if isinstance(call_id, str) else "",
            name=name if isinstance(name, str) else "",
            arguments=arguments_text(function.get("arguments")),
            extra=given.get(CALL_EXTRA),
        )


class Assembly:
    """Collects the chunks of one streamed completion."""

    def __init__(self, *, server: Server) -> None:
        self._server = server
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: dict[str, list[Any]] = {}
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._finish_reason: Any = None
        self._model: Any = None
        self._usage: Any = None

    def feed(self, chunk: Any) -> str:
        """Take the next chunk; return the text that it adds to the reply."""
        if not isinstance(chunk, Mapping):
            return ""
        self._model = chunk.get("model") or self._model
        self._usage = chunk.get("usage") or self._usage
        pieces = [self._feed_choice(choice) for choice in _first_choices(chunk.get("choices"))]
        return "".join(pieces)

    def completion(self) -> dict[str, Any]:
        """Return the whole, in the form of a completion that was not streamed.

        Raises:
            LLMError: `LLM_UNAVAILABLE` when the stream ended before the reply did.
        """
        # A server that dies may still close its side in good order: only a reason to finish tells
        # the end from a cut, and a cut call must not look whole.
        if self._finish_reason is None:
            raise unavailable(
                f"{self._server.name} broke off in the middle of its reply.", status=502
            )
        message: dict[str, Any] = {
            "content": "".join(self._text),
            "refusal": "".join(self._refusal),
            "tool_calls": [call.as_message_part() for call in self._calls],
        }
        for name, pieces in self._reasoning.items():
            is_text = all(isinstance(piece, str) for piece in pieces)
            message[name] = "".join(pieces) if is_text else pieces
        choice = {"message": message, "finish_reason": self._finish_reason}
        return {"choices": [choice], "usage": self._usage, "model": self._model}

    def _feed_choice(self, choice: Mapping[str, Any]) -> str:
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return ""
        self._feed_reasoning(delta)
        fragments = delta.get("tool_calls")
        for entry in fragments if isinstance(fragments, list) else ():
            self._feed_call(_Fragment.of(entry))
        refusal = text_of(delta.get("refusal"))
        if refusal:
            self._refusal.append(refusal)
        text = text_of(delta.get("content"))
        if text:
            self._text.append(text)
        return text

    def _feed_reasoning(self, delta: Mapping[str, Any]) -> None:
        for name in REASONING_FIELDS:
            piece = delta.get(name)
            if piece and isinstance(piece, str | list):
                pieces = [piece] if isinstance(piece, str) else piece
                self._reasoning.setdefault(name, []).extend(pieces)

    def _feed_call(self, fragment: _Fragment) -> None:
        call = self._call_of(fragment)
        if fragment.id and not call.id:
            call.id = fragment.id
            self._by_id.setdefault(call.id, call)
        call.extra = fragment.extra or call.extra
        if fragment.name and not _repeats_name(call, fragment) and len(call.name) < ENOUGH_NAME:
            call.name += fragment.name
        if fragment.arguments:
            call.arguments.add(fragment.arguments)

    def _call_of(self, fragment: _Fragment) -> _Call:
        """Return the call that `fragment` continues, or a new one."""
        if fragment.index is None:
            call = self._continued(fragment)
        else:
            call = self._by_index.get(fragment.index)
            if call is not None and _starts_another(call, fragment):
                call = None
        if call is None:
            call = _Call()
            self._calls.append(call)
        if fragment.index is not None:
            self._by_index[fragment.index] = call
        return call

    def _continued(self, fragment: _Fragment) -> _Call | None:
        if fragment.id:
            known = self._by_id.get(fragment.id)
            if known is not None or fragment.name:
                is_full = known is not None and known.is_too_full_for(fragment.arguments)
                return None if is_full else known
        last = self._calls[-1] if self._calls else None
        if last is None or not fragment.name:
            return last
        # With neither index nor id, a name behind a whole call can only announce the next one.
        return None if last.arguments.are_whole() or _names_another(last, fragment) else last


def _first_choices(choices: Any) -> Iterator[Mapping[str, Any]]:
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and not choice.get("index"):
            yield choice


def _starts_another(call: _Call, fragment: _Fragment) -> bool:
    """Tell whether a fragment under the index of `call` belongs to the next one.

    Some servers number every call 0. A new id alone proves nothing: others make one up for each
    fragment, but do not repeat the name with it.
    """
    if not fragment.name:
        return False
    if fragment.id and call.id:
        return fragment.id != call.id or call.is_too_full_for(fragment.arguments)
    return _names_another(call, fragment)


def _names_another(call: _Call, fragment: _Fragment) -> bool:
    """Tell whether a fragment with a name begins a call, where no ids tell.

    Else its name is a piece of the call's, or the same again.
    """
    if not call.name:
        return False
    if not call.arguments:
        return bool(fragment.arguments) and fragment.name != call.name
    return fragment.name != call.name or call.is_too_full_for(fragment.arguments)


def _repeats_name(call: _Call, fragment: _Fragment) -> bool:
    """Tell whether the fragment says the name again instead of adding to it."""
    return call.name == fragment.name and bool(fragment.id or fragment.arguments or call.arguments)
