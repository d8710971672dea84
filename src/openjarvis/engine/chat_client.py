"""The `openai` client, kept ready: raw completions and stream events, failures as `LLMError`.

The library is imported with the first request, as that takes a third of a second; hence the imports
inside functions.
"""

import json
from collections.abc import AsyncGenerator, Generator
from threading import Lock
from typing import TYPE_CHECKING, Any

from openjarvis.core.errors import LLMError, invalid_request
from openjarvis.engine.dialect import Dialect
from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.errors import llm_error, provider_message
from openjarvis.engine.per_loop import PerLoop

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

CONNECT_TIMEOUT = 5.0
HEALTH_TIMEOUT = 2.0

_COMPLETIONS, _MODELS = "/chat/completions", "/models"
_END = object()
# Without it the client adds the environment's OPENAI_ADMIN_KEY where it finds no other key.
_BEARER_ONLY: Any = {"security": {"bearer_auth": True}}
_LACKS_LISTING = frozenset({404, 405})


class ChatClient:
    """Asks one endpoint. Any thread and any event loop may use it.

    Failures that may pass are tried again by the library, at most `max_retries` times; a field that
    the server refuses is left out from then on (`Dialect`). Every method but `is_alive` raises
    `LLMError` when there is no answer.
    """

    def __init__(self, endpoint: Endpoint, *, timeout: float, max_retries: int) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._max_retries = max_retries
        self._dialect = Dialect()
        self._lock = Lock()
        self._client: OpenAI | None = None
        self._async_clients: PerLoop[AsyncOpenAI] = PerLoop(
            self._new_async_client, lambda client: client.close()
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
            listing = client.get(_MODELS, cast_to=str, options=_BEARER_ONLY)
        except _failures() as error:
            raise self._failure(error) from error
        listed = self._decoded(listing)
        entries = listed.get("data") if isinstance(listed, dict) else None
        return [
            entry["id"]
            for entry in (entries if isinstance(entries, list) else ())
            if isinstance(entry, dict) and isinstance(entry.get("id"), str)
        ]

    def is_alive(self) -> bool:
        """Tell, soon, whether the server answers and accepts the key."""
        import openai

        try:
            client = self._sync_client().with_options(timeout=HEALTH_TIMEOUT, max_retries=0)
            client.get(_MODELS, cast_to=str, options=_BEARER_ONLY)
        except openai.APIStatusError as error:
            return error.status_code in _LACKS_LISTING
        except (openai.OpenAIError, LLMError):
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
        client = self._sync_client()
        from openai import Stream

        while True:
            sent = self._dialect.adapted(body)
            try:
                return client.post(
                    _COMPLETIONS,
                    content=_encoded(sent),
                    cast_to=str,
                    options=_BEARER_ONLY,
                    stream=stream,
                    stream_cls=Stream[object],
                )
            except _failures() as error:
                if not self._taught(error, sent):
                    raise self._failure(error) from error

    async def _apost(self, body: dict[str, Any], *, stream: bool) -> Any:
        client = await self._async_clients.get()
        from openai import AsyncStream

        while True:
            sent = self._dialect.adapted(body)
            try:
                return await client.post(
                    _COMPLETIONS,
                    content=_encoded(sent),
                    cast_to=str,
                    options=_BEARER_ONLY,
                    stream=stream,
                    stream_cls=AsyncStream[object],
                )
            except _failures() as error:
                if not self._taught(error, sent):
                    raise self._failure(error) from error

    def _next(self, stream: Any) -> Any:
        try:
            return next(stream, _END)
        except _failures() as error:
            raise self._failure(error) from error

    async def _anext(self, stream: Any) -> Any:
        try:
            return await anext(stream, _END)
        except _failures() as error:
            raise self._failure(error) from error

    def _decoded(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._failure(error) from error

    def _taught(self, error: Exception, sent: dict[str, Any]) -> bool:
        """Tell whether the failure named a field that the next attempt leaves out."""
        from openai import APIStatusError

        if not isinstance(error, APIStatusError) or error.status_code not in (400, 422):
            return False
        return self._dialect.learns_from(provider_message(error.body) or error.message, sent)

    def _failure(self, error: Exception) -> LLMError:
        return llm_error(error, self._endpoint.server)

    def _sync_client(self) -> "OpenAI":
        import openai

        with self._lock:
            if self._client is None:
                # A proxy of the environment could not reach this machine's own servers.
                http_client = openai.DefaultHttpxClient(trust_env=not self._endpoint.is_local)
                self._client = openai.OpenAI(**self._options(), http_client=http_client)
            return self._client

    def _new_async_client(self) -> "AsyncOpenAI":
        import openai

        http_client = openai.DefaultAsyncHttpxClient(trust_env=not self._endpoint.is_local)
        return openai.AsyncOpenAI(**self._options(), http_client=http_client)

    def _options(self) -> dict[str, Any]:
        import openai

        connect = min(self._timeout, CONNECT_TIMEOUT)
        return {
            "base_url": self._endpoint.base_url,
            "api_key": self._endpoint.usable_key(),
            "timeout": openai.Timeout(self._timeout, connect=connect),
            "max_retries": self._max_retries,
        }


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise invalid_request(f"The request cannot be written as JSON: {error}.") from error
    # Unpaired surrogates (file names, cut emoji) are no characters; no server would take them.
    return text.encode(errors="replace")


def _failures() -> tuple[type[Exception], ...]:
    """Return what the library raises: errors of its own, and the decoder's for a bad event."""
    import openai

    return (openai.OpenAIError, ValueError, RecursionError)
