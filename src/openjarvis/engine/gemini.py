"""The engine for Gemini, through Google's own client (extra `gemini`)."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from openjarvis.core.errors import invalid_request
from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message
from openjarvis.engine.adapter import Client, Exchange
from openjarvis.engine.cloud import CloudEngine, CloudExchange, names_by
from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.gemini_client import GeminiClient
from openjarvis.engine.gemini_messages import GeminiReading, to_contents, to_declarations
from openjarvis.engine.google_tools import NAMES_IN_ANSWERS, PROVIDER_TYPES
from openjarvis.engine.messages import used_ids
from openjarvis.engine.settings import GEMINI_URL
from openjarvis.toolkit.provider import ProviderTool

_OLDER = ("gemini-1", "gemini-2")
"""Families that take either kind of tools, and no images within a result."""
_MIXES_WITH_FLAG = ("gemini-3",)


@EngineRegistry.register("gemini")
class GeminiEngine(CloudEngine):
    """Asks Gemini.

    `base_url` and `api_key` are the environment's `GEMINI_BASE_URL` and `GEMINI_API_KEY` (or
    `GOOGLE_API_KEY`) when they are None. `timeout` is in seconds. Failures that may pass are tried
    again, at most `max_retries` times. Further arguments of a request (`thinking_config` …) go into
    Gemini's configuration of the generation.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when the URL or the key cannot be one, or a number is out of
            its range.
    """

    engine_id = "gemini"
    prices_of = "google"
    provider_types: ClassVar[frozenset[str]] = PROVIDER_TYPES
    usual_url = GEMINI_URL
    url_variable = "GEMINI_BASE_URL"
    key_variables = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    argument_names = re.compile("[a-zA-Z_][a-zA-Z0-9_]{0,63}")

    @staticmethod
    def _connected(endpoint: Endpoint, *, timeout: float, max_retries: int) -> Client:
        return GeminiClient(endpoint, timeout=timeout, max_retries=max_retries)

    def _asked(
        self,
        messages: Sequence[Message],
        *,
        model: str,
        temperature: float | None = 0.7,
        max_tokens: int | None = 1024,
        tools: list[dict[str, Any]],
        provider_tools: Sequence[ProviderTool] = (),
        **kw: Any,
    ) -> Exchange:
        family = _family(model)
        system, contents = to_contents(
            messages, self._server, sees_in_results=not family.startswith(_OLDER)
        )
        config = {
            **kw,
            "systemInstruction": system or None,
            "temperature": temperature,
            "maxOutputTokens": max_tokens,
            "tools": _offered(tools, provider_tools) or None,
            "toolConfig": _mixing(family, bool(tools), provider_tools),
        }
        config = {name: value for name, value in config.items() if value is not None}
        names = names_by(NAMES_IN_ANSWERS, provider_tools)
        body = {"model": model, "contents": contents, "config": config}
        return _Asked(body, self._client, self._server, used_ids(messages), names)


def _offered(
    tools: Sequence[dict[str, Any]], provider_tools: Sequence[ProviderTool]
) -> list[dict[str, Any]]:
    own = [{"functionDeclarations": to_declarations(tools)}] if tools else []
    return [
        *own,
        *({NAMES_IN_ANSWERS[tool.provider_type]: tool.options} for tool in provider_tools),
    ]


def _family(model: str) -> str:
    return model.removeprefix("models/")


def _mixing(
    family: str, has_own: bool, provider_tools: Sequence[ProviderTool]
) -> dict[str, Any] | None:
    """Return the tool configuration that own tools beside Google's need, if they need one."""
    if not has_own or not provider_tools:
        return None
    if family.startswith(_OLDER):
        names = ", ".join(tool.name for tool in provider_tools)
        raise invalid_request(
            f"{family} takes either tools that Google runs ({names}) or your own, not both in one "
            "request. Ask a gemini-3 model, or leave one kind out."
        )
    mixes = family.startswith(_MIXES_WITH_FLAG)
    return {"includeServerSideToolInvocations": True} if mixes else None


class _Asked(CloudExchange):
    def streaming_body(self) -> dict[str, Any]:
        return self.body

    def reading(self) -> GeminiReading:
        return GeminiReading(self.server, self.body["model"], self.used_ids, self.names)
