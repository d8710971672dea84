"""The engine for every server that speaks OpenAI's chat completions.

OpenAI itself, OpenRouter, Groq, DeepSeek …, and on this machine Ollama, LM Studio, llama.cpp and
vLLM. Below it: `chat_client` sends, `messages` and `assembly` translate, `text_calls` reads what
small models print.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any, Self

from openjarvis.core.errors import invalid_request
from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message
from openjarvis.core.workers import run_in_worker
from openjarvis.engine.assembly import Assembly
from openjarvis.engine.base import InferenceEngine, Reply, ReplyCall, StreamChunk
from openjarvis.engine.chat_client import ChatClient
from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.errors import Server
from openjarvis.engine.messages import new_call_id, reply_of, to_chat
from openjarvis.engine.settings import (
    OPENAI_URL,
    EngineSettings,
    environment_api_key,
    environment_base_url,
)
from openjarvis.engine.text_calls import find_text_calls, parameters_of
from openjarvis.engine.text_gate import TextGate

SHOWN_MODELS = 10
LONGEST_TIMEOUT = 86_400


@EngineRegistry.register("openai")
class OpenAIEngine(InferenceEngine):
    """Asks a server that speaks OpenAI's chat completions.

    `base_url` and `api_key` are the environment's `OPENAI_BASE_URL` and `OPENAI_API_KEY` when they
    are None; a server that wants no key is given `api_key=""`. `timeout` is in seconds and counts
    until the next bytes come. Failures that may pass are tried again, at most `max_retries` times,
    after a growing pause or the one that the server asks for. `model` is asked for when a request
    names none. Further arguments of a request go to the server as they are.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when the URL or the key cannot be one, or a number is out of
            its range.
    """

    engine_id = "openai"

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 120.0,
        max_retries: int = 2,
        model: str = "",
    ) -> None:
        self._endpoint = Endpoint(
            base_url or environment_base_url() or OPENAI_URL,
            environment_api_key() if api_key is None else api_key,
        )
        if not 0 < timeout <= LONGEST_TIMEOUT:
            raise invalid_request(
                f"The time-out of the engine is {timeout} s; expected more than 0 and at most "
                f"{LONGEST_TIMEOUT:,} s."
            )
        if max_retries < 0:
            raise invalid_request(
                f"The engine's retries are {max_retries}; expected 0 (none) or more."
            )
        self._server = self._endpoint.server
        self._chat = ChatClient(self._endpoint, timeout=timeout, max_retries=max_retries)
        self._model = model

    @classmethod
    def from_settings(cls, settings: EngineSettings) -> Self:
        """Return the engine that the configuration describes."""
        return cls(
            settings.base_url,
            settings.api_key,
            timeout=settings.timeout_seconds,
            max_retries=settings.max_retries,
            model=settings.model,
        )

    def generate(self, messages: Sequence[Message], *, model: str = "", **request: Any) -> Reply:
        asked = _asked(messages, self._server, model=model or self.default_model(), **request)
        return asked.reply(self._chat.complete(asked.body))

    async def agenerate(
        self, messages: Sequence[Message], *, model: str = "", **request: Any
    ) -> Reply:
        model = model or await run_in_worker(self.default_model)
        asked = _asked(messages, self._server, model=model, **request)
        return asked.reply(await self._chat.acomplete(asked.body))

    def chunks(
        self, messages: Sequence[Message], *, model: str = "", **request: Any
    ) -> Iterator[StreamChunk]:
        asked = _asked(messages, self._server, model=model or self.default_model(), **request)
        streamed = _Streamed(asked)
        with closing(self._chat.events(asked.streaming_body())) as events:
            for event in events:
                yield from streamed.take(event)
        yield from streamed.end()

    async def achunks(
        self, messages: Sequence[Message], *, model: str = "", **request: Any
    ) -> AsyncIterator[StreamChunk]:
        model = model or await run_in_worker(self.default_model)
        asked = _asked(messages, self._server, model=model, **request)
        streamed = _Streamed(asked)
        async with aclosing(self._chat.aevents(asked.streaming_body())) as events:
            async for event in events:
                for chunk in streamed.take(event):
                    yield chunk
        for chunk in streamed.end():
            yield chunk

    def default_model(self) -> str:
        """Return the model for requests that name none: the configured one, else the server's.

        A server on this machine is asked for its first model that can chat, another one only when
        it has just one.

        Raises:
            LLMError: `LLM_INVALID_REQUEST` when there is none to choose.
        """
        if not self._model:
            listed = [name for name in self.list_models() if "embed" not in name.lower()]
            if not listed or (len(listed) > 1 and not self._endpoint.is_local):
                known = ", ".join(listed[:SHOWN_MODELS]) or "none"
                raise invalid_request(
                    f"No model is named for {self._server.name}. Name one of those that it offers: "
                    f"{known}{', …' if len(listed) > SHOWN_MODELS else '.'}"
                )
            self._model = listed[0]
        return self._model

    def list_models(self) -> list[str]:
        return self._chat.models()

    def health(self) -> bool:
        return self._chat.is_alive()

    def close(self) -> None:
        self._chat.close()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request for a completion, and what it takes to read the answer."""

    body: dict[str, Any]
    server: Server
    offered: dict[str, list[str]]
    used_ids: frozenset[str]

    def streaming_body(self) -> dict[str, Any]:
        return {**self.body, "stream": True, "stream_options": {"include_usage": True}}

    def reply(self, completion: Any) -> Reply:
        reply = reply_of(
            completion, model=self.body["model"], server=self.server, taken_ids=self.used_ids
        )
        # A text that was cut off ("length") holds no call, even if it seems whole.
        if reply["finish_reason"] == "stop" and self.offered:
            _take_printed_calls(reply, self.offered)
        return reply


def _asked(
    messages: Sequence[Message],
    server: Server,
    *,
    model: str,
    temperature: float | None = 0.7,
    max_tokens: int | None = 1024,
    tools: list[dict[str, Any]] | None = None,
    **kw: Any,
) -> _Asked:
    body = {**kw, "model": model, "messages": to_chat(messages, server=server)}
    optional = {"temperature": temperature, "max_tokens": max_tokens, "tools": tools or None}
    body.update((name, value) for name, value in optional.items() if value is not None)
    used_ids = frozenset(call.id for message in messages for call in message.tool_calls or ())
    return _Asked(body, server, parameters_of(tools or ()), used_ids)


def _take_printed_calls(reply: Reply, offered: dict[str, list[str]]) -> None:
    found = find_text_calls(reply["content"], offered)
    if found is not None:
        reply["content"] = found.text
        reply["finish_reason"] = "tool_calls"
        reply["tool_calls"] = [
            ReplyCall(id=new_call_id(), name=call.name, arguments=call.arguments)
            for call in found.calls
        ]


class _Streamed:
    """A streamed answer: its text as it comes, and at the end the reply."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked
        self._assembly = Assembly(server=asked.server)
        self._gate = TextGate(asked.offered) if asked.offered else None
        self._shown = 0

    def take(self, event: Any) -> Iterator[StreamChunk]:
        text = self._assembly.feed(event)
        if text and self._gate is not None:
            text = self._gate.passed(text)
        if text:
            self._shown += len(text)
            yield StreamChunk(text)

    def end(self) -> Iterator[StreamChunk]:
        reply = self._asked.reply(self._assembly.completion())
        # What was shown is how the content begins; the gate may have held the rest of it.
        rest = reply["content"][self._shown :]
        if rest:
            yield StreamChunk(rest)
        yield StreamChunk(reply=reply)
