"""The engine for every server that speaks OpenAI's chat completions.

OpenAI itself, OpenRouter, Groq, DeepSeek …, and on this machine Ollama, LM Studio, llama.cpp and
vLLM. Below it: `chat_client` sends, `messages` and `assembly` translate, `text_calls` reads what
small models print.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Self

from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message
from openjarvis.engine.adapter import AdapterEngine, Client, Exchange, Reading, check_limits
from openjarvis.engine.assembly import Assembly
from openjarvis.engine.base import Reply
from openjarvis.engine.chat_client import OPENAI, ChatClient
from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.errors import Server
from openjarvis.engine.messages import reply_of, take_printed_calls, to_chat, used_ids
from openjarvis.engine.openai_tools import PROVIDER_TYPES
from openjarvis.engine.responses import PATH, responses_exchange
from openjarvis.engine.settings import (
    OPENAI_URL,
    EngineSettings,
    environment_api_key,
    environment_base_url,
)
from openjarvis.engine.strictness import strict_where_it_can_be
from openjarvis.engine.text_calls import parameters_of
from openjarvis.engine.text_gate import TextGate
from openjarvis.engine.written_calls import Offered
from openjarvis.toolkit.provider import ProviderTool

OPENAI_HOST = "api.openai.com"


@EngineRegistry.register("openai")
class OpenAIEngine(AdapterEngine):
    """Asks a server that speaks OpenAI's chat completions.

    `base_url` and `api_key` are the environment's `OPENAI_BASE_URL` and `OPENAI_API_KEY` when they
    are None; a server that wants no key is given `api_key=""`. `timeout` is in seconds and counts
    until the next bytes come. Failures that may pass are tried again, at most `max_retries` times,
    after a growing pause or the one that the server asks for. `model` is asked for when a request
    names none. `responses` tells whether the server has OpenAI's Responses interface, on which the
    tools of `openai_tools` run, and `strict` whether it holds a model to a tool's schema word for
    word; by default only OpenAI itself does either. Further arguments of a request go to the server
    as they are.

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
        responses: bool | None = None,
        strict: bool | None = None,
    ) -> None:
        check_limits(timeout=timeout, max_retries=max_retries)
        endpoint = Endpoint(
            base_url or environment_base_url() or OPENAI_URL,
            environment_api_key() if api_key is None else api_key,
        )
        chat = ChatClient(OPENAI, endpoint, timeout=timeout, max_retries=max_retries)
        super().__init__(chat, endpoint.server.name, model=model, is_local=endpoint.is_local)
        self._server = endpoint.server
        self.prices_of = endpoint.base_url
        self._responses = chat.at(PATH)
        is_openai = endpoint.host == OPENAI_HOST
        self._is_strict = is_openai if strict is None else strict
        if is_openai if responses is None else responses:
            self.provider_types = PROVIDER_TYPES  # type: ignore[misc]

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

    def close(self) -> None:
        super().close()
        self._responses.close()

    def _exchange(
        self,
        messages: Sequence[Message],
        *,
        model: str,
        tools: Sequence[dict[str, Any]] | None = None,
        provider_tools: Sequence[ProviderTool] = (),
        **request: Any,
    ) -> Exchange:
        offered = strict_where_it_can_be(tools or ()) if self._is_strict else list(tools or ())
        if provider_tools:
            return responses_exchange(
                messages,
                self._server,
                self._responses,
                provider_tools=provider_tools,
                model=model,
                tools=offered,
                **request,
            )
        return _asked(messages, self._server, self._client, model=model, tools=offered, **request)


@dataclass(frozen=True)
class _Asked(Exchange):
    body: dict[str, Any]
    client: Client
    server: Server
    offered: dict[str, list[str]]
    used_ids: frozenset[str]

    def streaming_body(self) -> dict[str, Any]:
        return {**self.body, "stream": True, "stream_options": {"include_usage": True}}

    def reading(self) -> "ChatReading":
        return ChatReading(self.server, self.body["model"], self.offered, self.used_ids)

    def reply(self, answer: Any) -> Reply:
        return self.reading().read(answer)


def _asked(
    messages: Sequence[Message],
    server: Server,
    client: Client,
    *,
    model: str,
    temperature: float | None = 0.7,
    max_tokens: int | None = 1024,
    tools: list[dict[str, Any]],
    **kw: Any,
) -> _Asked:
    body = {**kw, "model": model, "messages": to_chat(messages, server=server)}
    optional = {"temperature": temperature, "max_tokens": max_tokens, "tools": tools or None}
    body.update((name, value) for name, value in optional.items() if value is not None)
    return _Asked(body, client, server, parameters_of(tools), used_ids(messages))


class ChatReading(Reading):
    """A chat completion, streamed; text that may be a printed call is held back."""

    def __init__(
        self, server: Server, model: str, offered: Offered, taken_ids: Collection[str]
    ) -> None:
        self._server = server
        self._model = model
        self._offered = offered
        self._taken_ids = taken_ids
        self._assembly = Assembly(server=server)
        self._gate = TextGate(offered) if offered else None

    def feed(self, event: Any) -> str:
        text = self._assembly.feed(event)
        return self._gate.passed(text) if text and self._gate is not None else text

    def reply(self) -> Reply:
        return self.read(self._assembly.completion())

    def read(self, completion: Any) -> Reply:
        """Return what a whole completion says."""
        reply = reply_of(
            completion, model=self._model, server=self._server, taken_ids=self._taken_ids
        )
        if reply["finish_reason"] in ("stop", "length") and "tool_calls" not in reply:
            take_printed_calls(reply, self._offered)
        return reply
