"""The engine for Claude, through Anthropic's own client (extra `anthropic`)."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message
from openjarvis.engine.adapter import Client, Exchange
from openjarvis.engine.anthropic_messages import AnthropicReading, to_messages, to_tools
from openjarvis.engine.anthropic_tools import NAMES_IN_ANSWERS, PROVIDER_TYPES
from openjarvis.engine.chat_client import ANTHROPIC, ChatClient
from openjarvis.engine.cloud import CloudEngine, CloudExchange, names_by
from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.messages import used_ids
from openjarvis.engine.settings import ANTHROPIC_URL
from openjarvis.toolkit.provider import ProviderTool

MAX_TOKENS = 4096
"""What is asked for when a request names no maximum; Claude insists on one."""


@EngineRegistry.register("anthropic")
class AnthropicEngine(CloudEngine):
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
    usual_url = ANTHROPIC_URL
    url_variable = "ANTHROPIC_BASE_URL"
    key_variables = ("ANTHROPIC_API_KEY",)
    argument_names = re.compile("[a-zA-Z0-9_.-]{1,64}")

    @staticmethod
    def _connected(endpoint: Endpoint, *, timeout: float, max_retries: int) -> Client:
        return ChatClient(ANTHROPIC, endpoint, timeout=timeout, max_retries=max_retries)

    def _asked(
        self,
        messages: Sequence[Message],
        *,
        model: str,
        temperature: float | None = 0.7,
        max_tokens: int | None = None,
        tools: list[dict[str, Any]],
        provider_tools: Sequence[ProviderTool] = (),
        **kw: Any,
    ) -> Exchange:
        system, turns = to_messages(messages, self._server)
        body = {**kw, "model": model, "max_tokens": max_tokens or MAX_TOKENS, "messages": turns}
        offered = [*to_tools(tools), *(dict(tool.options) for tool in provider_tools)]
        if system:
            body["system"] = system
        if offered:
            body["tools"] = offered
        # Claude takes 0 to 1, and no temperature at all while it thinks.
        if temperature is not None and "thinking" not in kw:
            body["temperature"] = min(temperature, 1.0)
        names = names_by(NAMES_IN_ANSWERS, provider_tools)
        return _Asked(body, self._client, self._server, used_ids(messages), names)


class _Asked(CloudExchange):
    def reading(self) -> AnthropicReading:
        return AnthropicReading(self.server, self.body["model"], self.used_ids, self.names)
