"""The engine for a GGUF model in this process (extra `local`).

A model whose chat template knows tools is offered them its own way. For any other the tools are
told in words, its calls are held to a grammar made from their schemas, and the tools' examples
become turns that show how it is done.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from openjarvis.core.errors import invalid_request
from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message, Role, ToolCall
from openjarvis.engine.adapter import AdapterEngine, Client, Exchange
from openjarvis.engine.base import Reply
from openjarvis.engine.call_grammar import call_grammar
from openjarvis.engine.errors import Server
from openjarvis.engine.gguf import Gguf, read_head
from openjarvis.engine.llamacpp_client import LlamaCppClient
from openjarvis.engine.messages import to_chat, used_ids
from openjarvis.engine.openai import ChatReading
from openjarvis.engine.pictures import in_text
from openjarvis.engine.settings import EngineSettings
from openjarvis.engine.text_calls import parameters_of
from openjarvis.engine.text_protocol import in_words
from openjarvis.toolkit.base import ToolSpec

DEFAULT_CONTEXT = 8192
MOST_EXAMPLES = 6


@EngineRegistry.register("llamacpp")
class LlamaCppEngine(AdapterEngine):
    """Runs the GGUF model at `path`; it is loaded with the first request.

    `context_length` is in tokens, at most what the model was made for; `threads` how many
    processors it may use, all by default; `chat_template` a Jinja text in place of the model's own.
    `tool_choice="required"` in a request leaves the model nothing but a call. Further arguments of
    a request (`seed`, `top_p` …) go to llama.cpp as they are.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when there is no such file, it is no GGUF model, or a number
            is out of its range.
    """

    engine_id = "llamacpp"
    takes_specs: ClassVar[bool] = True

    def __init__(
        self,
        path: str | Path,
        *,
        context_length: int = 0,
        threads: int = 0,
        chat_template: str = "",
    ) -> None:
        if context_length < 0 or threads < 0:
            raise invalid_request(
                f"context_length={context_length}, threads={threads}: expected 0 (the default) or "
                "more."
            )
        model = read_head(path)
        self._takes_tools = "tools" in (chat_template or model.chat_template)
        self._server = Server(f"llama.cpp ({model.name})")
        client = LlamaCppClient(
            model,
            self._server,
            context_length=_fitting(context_length, model),
            threads=threads,
            template=chat_template,
        )
        super().__init__(client, self._server.name, model=model.name, is_local=True)

    @classmethod
    def from_settings(cls, settings: EngineSettings) -> Self:
        """Return the engine that the configuration describes.

        Raises:
            LLMError: `LLM_INVALID_REQUEST` when no model file is named.
        """
        if not settings.gguf_path:
            raise invalid_request(
                "The engine 'llamacpp' has no model: set `gguf_path` in [engine] to a .gguf file."
            )
        return cls(settings.gguf_path, context_length=settings.context_length)

    def check(self, request: Mapping[str, Any]) -> None:
        """Accept everything: what a schema asks for beyond the grammar is checked with the call."""

    def _exchange(
        self,
        messages: Sequence[Message],
        *,
        model: str,
        temperature: float | None = 0.7,
        max_tokens: int | None = 1024,
        tools: list[dict[str, Any]] | None = None,
        specs: Sequence[ToolSpec] = (),
        tool_choice: str = "auto",
        **kw: Any,
    ) -> Exchange:
        messages = in_text(messages)
        offered = tools if tools and tool_choice != "none" else []
        settings: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens}
        must_call = tool_choice == "required"
        # llama.cpp does not hold every template's calls to "required"; our own grammar does.
        if offered and self._takes_tools and not must_call:
            settings["tools"] = offered
        elif offered:
            settings["grammar"] = call_grammar(offered, must_call=must_call)
            messages = in_words(messages, offered, examples=_shown_calls(specs))
        elif not self._takes_tools:
            messages = in_words(messages, ())
        body = {**kw, "messages": to_chat(messages, server=self._server)}
        body.update((name, value) for name, value in settings.items() if value is not None)
        names = parameters_of(offered)
        return _Asked(body, self._client, self._server, model, names, used_ids(messages))


def _fitting(wanted: int, model: Gguf) -> int:
    return min(wanted or DEFAULT_CONTEXT, model.context_length or wanted or DEFAULT_CONTEXT)


def _shown_calls(specs: Sequence[ToolSpec]) -> list[Message]:
    """Return the examples that hold arguments as turns of a conversation."""
    pairs = [
        (spec.name, example)
        for spec in specs
        for example in spec.examples
        if isinstance(example, Sequence) and not isinstance(example, str) and len(example) == 2
    ]
    turns: list[Message] = []
    for number, (name, (sentence, arguments)) in enumerate(pairs[:MOST_EXAMPLES]):
        call = ToolCall(f"example_{number}", name, json.dumps(arguments, ensure_ascii=False))
        turns += [Message(Role.USER, sentence), Message(Role.ASSISTANT, "", tool_calls=[call])]
    return turns


@dataclass(frozen=True)
class _Asked(Exchange):
    body: dict[str, Any]
    client: Client
    server: Server
    model: str
    offered: dict[str, list[str]]
    used_ids: frozenset[str]

    def reading(self) -> ChatReading:
        return ChatReading(self.server, self.model, self.offered, self.used_ids)

    def reply(self, answer: Any) -> Reply:
        reading = self.reading()
        for piece in answer:
            reading.feed(piece)
        return reading.reply()
