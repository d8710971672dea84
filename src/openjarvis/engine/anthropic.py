"""The engine for Claude, through Anthropic's own client (extra `anthropic`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message
from openjarvis.engine.adapter import AdapterEngine, Client, Exchange, check_limits
from openjarvis.engine.anthropic_messages import AnthropicReading, to_messages, to_tools
from openjarvis.engine.anthropic_tools import NAMES_IN_ANSWERS, PROVIDER_TYPES
from openjarvis.engine.chat_client import ANTHROPIC, ChatClient
from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.errors import Server
from openjarvis.engine.settings import ANTHROPIC_URL, EngineSettings, environment
from openjarvis.toolkit.provider import ProviderTool

MAX_TOKENS = 4096
"""What is asked for when a request names no maximum; Claude insists on one."""


@EngineRegistry.register("anthropic")
class AnthropicEngine(AdapterEngine):
    """Asks Claude.

    `base_url` and `api_key` are the environment's `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY` when
    they are None. `timeout` is in seconds and counts until the next bytes come. Failures that may
    pass are tried again, at most `max_retries` times. Further arguments of a request (`thinking`,
    `tool_choice` …) go to the server as they are.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when the URL or the key cannot be one, or a number is out of
            its range.
    """

    engine_id = "anthropic"
    prices_of = "anthropic"
    provider_types: ClassVar[frozenset[str]] = PROVIDER_TYPES

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = 120.0,
        max_retries: int = 2,
        model: str = "",
    ) -> None:
        check_limits(timeout=timeout, max_retries=max_retries)
        endpoint = Endpoint(
            base_url or environment("ANTHROPIC_BASE_URL") or ANTHROPIC_URL,
            environment("ANTHROPIC_API_KEY") if api_key is None else api_key,
        )
        client = ChatClient(ANTHROPIC, endpoint, timeout=timeout, max_retries=max_retries)
        super().__init__(client, endpoint.server.name, model=model, is_local=endpoint.is_local)
        self._server = endpoint.server

    @classmethod
    def from_settings(cls, settings: EngineSettings) -> Self:
        """Return the engine that the configuration describes."""
        return cls(
            settings.anthropic_base_url or None,
            settings.anthropic_api_key or None,
            timeout=settings.timeout_seconds,
            max_retries=settings.max_retries,
            model=settings.model,
        )

    def _exchange(
        self,
        messages: Sequence[Message],
        *,
        model: str,
        temperature: float | None = 0.7,
        max_tokens: int | None = None,
        tools: list[dict[str, Any]] | None = None,
        provider_tools: Sequence[ProviderTool] = (),
        **kw: Any,
    ) -> Exchange:
        system, turns = to_messages(messages, self._server)
        body = {**kw, "model": model, "max_tokens": max_tokens or MAX_TOKENS, "messages": turns}
        offered = [*to_tools(tools or ()), *(dict(tool.options) for tool in provider_tools)]
        if system:
            body["system"] = system
        if offered:
            body["tools"] = offered
        # Claude takes 0 to 1, and no temperature at all while it thinks.
        if temperature is not None and "thinking" not in kw:
            body["temperature"] = min(temperature, 1.0)
        used_ids = frozenset(call.id for message in messages for call in message.tool_calls or ())
        names = {NAMES_IN_ANSWERS[tool.provider_type]: tool.name for tool in provider_tools}
        return _Asked(body, self._client, self._server, used_ids, names)


@dataclass(frozen=True)
class _Asked(Exchange):
    body: dict[str, Any]
    client: Client
    server: Server
    used_ids: frozenset[str]
    names: dict[str, str]

    def reading(self) -> AnthropicReading:
        return AnthropicReading(self.server, self.body["model"], self.used_ids, self.names)
