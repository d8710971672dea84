"""What the engines of providers with one interface of their own have in common."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from openjarvis.core.types import Message
from openjarvis.engine.adapter import AdapterEngine, Client, Exchange, check_limits
from openjarvis.engine.argument_names import ArgumentNames
from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.errors import Server
from openjarvis.engine.settings import EngineSettings, environment
from openjarvis.toolkit.provider import ProviderTool


class CloudEngine(AdapterEngine):
    """Asks a provider at its usual address, or at the one that `base_url` or the environment names.

    `base_url` and `api_key` are the environment's when they are None. `timeout` is in seconds.
    Failures that may pass are tried again, at most `max_retries` times.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when the URL or the key cannot be one, or a number is out of
            its range.
    """

    usual_url: ClassVar[str]
    url_variable: ClassVar[str]
    """The variable of the environment that names another address."""
    key_variables: ClassVar[tuple[str, ...]]
    """The variables of the environment that may hold the key."""
    argument_names: ClassVar[re.Pattern[str]]
    """The names of arguments that the provider takes."""

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
            base_url or environment(self.url_variable) or self.usual_url,
            environment(*self.key_variables) if api_key is None else api_key,
        )
        client = self._connected(endpoint, timeout=timeout, max_retries=max_retries)
        super().__init__(client, endpoint.server.name, model=model, is_local=endpoint.is_local)
        self._server = endpoint.server

    @classmethod
    def from_settings(cls, settings: EngineSettings) -> Self:
        """Return the engine that the configuration describes."""
        return cls(
            getattr(settings, f"{cls.engine_id}_base_url") or None,
            getattr(settings, f"{cls.engine_id}_api_key") or None,
            timeout=settings.timeout_seconds,
            max_retries=settings.max_retries,
            model=settings.model,
        )

    @staticmethod
    @abstractmethod
    def _connected(endpoint: Endpoint, *, timeout: float, max_retries: int) -> Client:
        """Return the client that asks `endpoint`."""

    def _exchange(
        self,
        messages: Sequence[Message],
        *,
        model: str,
        tools: Sequence[dict[str, Any]] | None = None,
        **request: Any,
    ) -> Exchange:
        names = ArgumentNames(tools or (), self.argument_names)
        asked = self._asked(names.sent(messages), model=model, tools=names.offered, **request)
        return names.around(asked)

    @abstractmethod
    def _asked(
        self,
        messages: Sequence[Message],
        *,
        model: str,
        tools: list[dict[str, Any]],
        **request: Any,
    ) -> Exchange:
        """Return the request, in which all names of arguments are the provider's."""


@dataclass(frozen=True)
class CloudExchange(Exchange):
    """A request to a provider that may run tools of its own.

    `used_ids` are those of the history's calls, `names` the user's names of the provider's tools
    by the provider's own.
    """

    body: dict[str, Any]
    client: Client
    server: Server
    used_ids: frozenset[str]
    names: dict[str, str]


def names_by(
    names_in_answers: dict[str, str], provider_tools: Sequence[ProviderTool]
) -> dict[str, str]:
    """Return the user's names of the provider's tools by those that answers call them."""
    return {names_in_answers[tool.provider_type]: tool.name for tool in provider_tools}
