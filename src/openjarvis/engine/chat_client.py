"""A client library kept ready: raw completions and stream events, failures as `LLMError`.

The library is imported with the first request, as that takes a third of a second or more.
"""

import json
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Self

from openjarvis.core.errors import LLMError, invalid_request
from openjarvis.engine.bounds import async_client_options, client_options
from openjarvis.engine.dialect import Dialect
from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.errors import llm_error, provider_message
from openjarvis.engine.library import load_library, transport_failures
from openjarvis.engine.per_loop import PerLoop

CONNECT_TIMEOUT = 5.0
HEALTH_TIMEOUT = 2.0

_END = object()
_LACKS_LISTING = frozenset({404, 405})
_REFUSALS = frozenset({400, 404, 422, 500, 501})
"""The statuses with which servers say that they do not know a field, or take no images."""


@dataclass(frozen=True, slots=True)
class Library:
    """A client library, its names and its paths. OpenAI's and Anthropic's are built alike."""

    module: str
    client: str
    extra: str
    completions: str
    models: str
    options: dict[str, Any] = field(default_factory=dict)
    usual_base: str = ""
    """How the path of a base URL usually ends."""

    def load(self) -> Any:
        """Return the module, imported.

        Raises:
            LLMError: `LLM_INVALID_REQUEST` when it is not installed, saying how to.
        """
        return load_library(self.module, extra=self.extra)

    def failures(self) -> tuple[type[Exception], ...]:
        """Return what it raises: errors of its own, of the connection, and of a bad event."""
        own = getattr(self.load(), f"{self.client}Error")
        return (own, ValueError, RecursionError, *transport_failures())


OPENAI = Library(
    "openai",
    "OpenAI",
    "",
    "/chat/completions",
    "/models",
    # Without it the client adds the environment's OPENAI_ADMIN_KEY where it finds no other key.
    {"security": {"bearer_auth": True}},
    usual_base="/v1",
)
ANTHROPIC = Library("anthropic", "Anthropic", "anthropic", "/v1/messages", "/v1/models")


class ChatClient:
    """Asks one endpoint through one library. Any thread and any event loop may use it.

    Failures that may pass are tried again by the library, at most `max_retries` times; a field that
    the server refuses is left out from then on (`Dialect`). Every method but `is_alive` raises
    `LLMError` when there is no answer.
    """

    def __init__(
        self, library: Library, endpoint: Endpoint, *, timeout: float, max_retries: int
    ) -> None:
        self._library = library
        self._endpoint = endpoint
        self._timeout = timeout
        self._max_retries = max_retries
        self._dialect = Dialect()
        self._lock = Lock()
        self._client: Any = None
        self._async_clients: PerLoop[Any] = PerLoop(
            self._new_async_client, lambda client: client.close()
        )

    def at(self, path: str) -> Self:
        """Return a client for another path of the same endpoint."""
        library = replace(self._library, completions=path)
        return type(self)(
            library, self._endpoint, timeout=self._timeout, max_retries=self._max_retries
        )

    def complete(self, body: dict[str, Any]) -> Any:
        """Return the server's answer, decoded."""
        return self._decoded(self._post(body, stream=False))

    async def acomplete(self, body: dict[str, Any]) -> Any:
        """Return the server's answer, decoded."""
        return self._decoded(await self._apost(body, stream=False))

    def events(self, body: dict[str, Any]) -> Generator[Any]:
        """Yield the events of a streamed answer, decoded; closing it closes the connection."""
        stream = self._post(body, stream=True)
        try:
            while (event := self._next(stream)) is not _END:
                yield event
        finally:
            stream.close()

    async def aevents(self, body: dict[str, Any]) -> AsyncGenerator[Any]:
        """Yield what `events` yields."""
        stream = await self._apost(body, stream=True)
        try:
            while (event := await self._anext(stream)) is not _END:
                yield event
        finally:
            await stream.close()

    def models(self) -> list[str]:
        """Return the names of the models that the server lists."""
        client = self._sync_client()
        try:
            listing = client.get(self._library.models, cast_to=str, options=self._library.options)
        except self._library.failures() as error:
            raise self._failure(error) from self._endpoint.server.cause(error)
        listed = self._decoded(listing)
        entries = listed.get("data") if isinstance(listed, dict) else None
        return [
            entry["id"]
            for entry in (entries if isinstance(entries, list) else ())
            if isinstance(entry, dict) and isinstance(entry.get("id"), str)
        ]

    def is_alive(self) -> bool:
        """Tell, soon, whether the server answers and accepts the key."""
        unreachable: tuple[type[Exception], ...] = (*self._library.failures(), LLMError)
        library = self._library.load()
        try:
            client = self._sync_client().with_options(timeout=HEALTH_TIMEOUT, max_retries=0)
            client.get(self._library.models, cast_to=str, options=self._library.options)
        except library.APIStatusError as error:
            return error.status_code in _LACKS_LISTING
        except unreachable:
            return False
        return True

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()
        self._async_clients.forget()

    def _post(self, body: dict[str, Any], *, stream: bool) -> Any:
        library, client = self._library.load(), self._sync_client()
        while True:
            sent = self._dialect.adapted(body)
            try:
                return client.post(
                    self._library.completions,
                    content=_encoded(sent),
                    cast_to=str,
                    options=self._library.options,
                    stream=stream,
                    stream_cls=library.Stream[object],
                )
            except self._library.failures() as error:
                if not self._taught(error, sent):
                    raise self._failure(error) from self._endpoint.server.cause(error)

    async def _apost(self, body: dict[str, Any], *, stream: bool) -> Any:
        library, client = self._library.load(), await self._async_clients.get()
        while True:
            sent = self._dialect.adapted(body)
            try:
                return await client.post(
                    self._library.completions,
                    content=_encoded(sent),
                    cast_to=str,
                    options=self._library.options,
                    stream=stream,
                    stream_cls=library.AsyncStream[object],
                )
            except self._library.failures() as error:
                if not self._taught(error, sent):
                    raise self._failure(error) from self._endpoint.server.cause(error)

    def _next(self, stream: Any) -> Any:
        try:
            return next(stream, _END)
        except self._library.failures() as error:
            raise self._failure(error) from self._endpoint.server.cause(error)

    async def _anext(self, stream: Any) -> Any:
        try:
            return await anext(stream, _END)
        except self._library.failures() as error:
            raise self._failure(error) from self._endpoint.server.cause(error)

    def _decoded(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._failure(error) from self._endpoint.server.cause(error)

    def _taught(self, error: Exception, sent: dict[str, Any]) -> bool:
        """Tell whether the failure named a field that the next attempt leaves out."""
        if getattr(error, "status_code", None) not in _REFUSALS:
            return False
        return self._dialect.learns_from(
            provider_message(getattr(error, "body", "")) or str(error), sent
        )

    def _failure(self, error: Exception) -> LLMError:
        failure = llm_error(error, self._endpoint.server, self._library.load())
        if failure.status == 404:
            failure.message += self._doubt()
        return failure

    def _doubt(self) -> str:
        """Return what is to be said of a base URL that leads nowhere and looks wrong, or ""."""
        path, usual = self._endpoint.path, self._library.usual_base
        if not usual or (path and not path.endswith(self._library.completions)):
            return ""
        asked = f"{self._endpoint.server.name}{path}{self._library.completions}"
        return f" Asked was {asked}; most base URLs end in {usual}, with nothing after it."

    def _sync_client(self) -> Any:
        library = self._library.load()
        with self._lock:
            if self._client is None:
                http_client = library.DefaultHttpxClient(**client_options(self._endpoint))
                made = getattr(library, self._library.client)
                self._client = made(**self._options(), http_client=http_client)
            return self._client

    def _new_async_client(self) -> Any:
        library = self._library.load()
        http_client = library.DefaultAsyncHttpxClient(**async_client_options(self._endpoint))
        made = getattr(library, f"Async{self._library.client}")
        return made(**self._options(), http_client=http_client)

    def _options(self) -> dict[str, Any]:
        connect = min(self._timeout, CONNECT_TIMEOUT)
        return {
            "base_url": self._endpoint.base_url,
            "api_key": self._endpoint.usable_key(),
            "timeout": self._library.load().Timeout(self._timeout, connect=connect),
            "max_retries": self._max_retries,
        }


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise invalid_request(f"The request cannot be written as JSON: {error}.") from error
    # Unpaired surrogates (file names, cut emoji) are no characters; no server would take them.
    return text.encode(errors="replace")
