"""Google's client library kept ready: answers as the JSON of Gemini's interface.

The library is imported with the first request, as that takes two seconds.
"""

import json
import warnings
from collections.abc import AsyncGenerator, Generator, Iterable
from dataclasses import dataclass
from typing import Any

from openjarvis.core.errors import LLMError, invalid_request
from openjarvis.engine.bounds import async_client_options, client_options
from openjarvis.engine.errors import (
    UNREADABLE,
    seconds_to_wait,
    status_error,
    transport_error,
    usable_wait,
)
from openjarvis.engine.library import load_library, transport_failures
from openjarvis.engine.library_client import LibraryClient
from openjarvis.engine.wire import items, mapping, text

EXTRA = "gemini"


@dataclass(frozen=True, slots=True)
class _Connected:
    """Google's client, and the HTTP client under it, which it leaves to us to close."""

    google: Any
    http: Any

    def close(self) -> None:
        self.google.close()
        self.http.close()

    async def aclose(self) -> None:
        await self.google.aio.aclose()
        await self.http.aclose()


class GeminiClient(LibraryClient):
    """Asks Gemini.

    A body has `model`, `contents` and `config`, all JSON. Failures that may pass are tried again by
    the library, at most `max_retries` times.
    """

    def complete(self, body: dict[str, Any]) -> Any:
        """Return the whole answer, decoded."""
        asked, client = self._asked(body), self._sync_client()
        try:
            return _plain(client.google.models.generate_content(**asked))
        except self._failures() as error:
            raise self._failure(error) from self._endpoint.server.cause(error)

    async def acomplete(self, body: dict[str, Any]) -> Any:
        """Return the whole answer, decoded."""
        asked, client = self._asked(body), await self._async_clients.get()
        try:
            return _plain(await client.google.aio.models.generate_content(**asked))
        except self._failures() as error:
            raise self._failure(error) from self._endpoint.server.cause(error)

    def events(self, body: dict[str, Any]) -> Generator[Any]:
        """Yield the pieces of a streamed answer; closing it closes the connection."""
        asked, client = self._asked(body), self._sync_client()
        try:
            stream = client.google.models.generate_content_stream(**asked)
            try:
                for piece in stream:
                    yield _plain(piece)
            finally:
                stream.close()
        except self._failures() as error:
            raise self._failure(error) from self._endpoint.server.cause(error)

    async def aevents(self, body: dict[str, Any]) -> AsyncGenerator[Any]:
        """Yield what `events` yields."""
        asked, client = self._asked(body), await self._async_clients.get()
        try:
            stream = await client.google.aio.models.generate_content_stream(**asked)
            try:
                async for piece in stream:
                    yield _plain(piece)
            finally:
                await stream.aclose()
        except self._failures() as error:
            raise self._failure(error) from self._endpoint.server.cause(error)

    def models(self) -> list[str]:
        """Return the names of the models that can be asked for content."""
        client = self._sync_client()
        try:
            return _names(client.google.models.list())
        except self._failures() as error:
            raise self._failure(error) from self._endpoint.server.cause(error)

    def _asked(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a body as the library wants it.

        JSON, as only there bytes (signatures) may be given in base64.
        """
        types = load_library("google.genai.types", extra=EXTRA)
        try:
            config = types.GenerateContentConfig.model_validate_json(json.dumps(body["config"]))
            contents = [
                types.Content.model_validate_json(json.dumps(content))
                for content in body["contents"]
            ]
        except (TypeError, ValueError) as error:
            said = " ".join(str(error).split())[:500]
            raise invalid_request(f"Gemini cannot be asked for this: {said}") from error
        return {"model": body["model"], "contents": contents, "config": config}

    def _new_client(self) -> Any:
        httpx2 = load_library("httpx2", extra=EXTRA)
        http = httpx2.Client(**client_options(self._endpoint), follow_redirects=True)
        return _Connected(self._made(httpx_client=http), http)

    def _new_async_client(self) -> Any:
        httpx2 = load_library("httpx2", extra=EXTRA)
        http = httpx2.AsyncClient(**async_client_options(self._endpoint), follow_redirects=True)
        return _Connected(self._made(httpx_async_client=http), http)

    def _made(self, **http_client: Any) -> Any:
        genai = load_library("google.genai", extra=EXTRA)
        # It warns of each finish reason that is new to it, in the server's own characters.
        warnings.filterwarnings("ignore", category=UserWarning, module=r"google\.genai\._common")
        options = genai.types.HttpOptions(
            base_url=self._endpoint.base_url,
            timeout=round(self._timeout * 1000),
            retry_options=genai.types.HttpRetryOptions(
                attempts=self._max_retries + 1, initial_delay=0.5
            ),
            **http_client,
        )
        key = self._endpoint.usable_key()
        return genai.Client(api_key=key, enterprise=False, http_options=options)

    async def _release(self, client: Any) -> None:
        await client.aclose()

    def _failures(self) -> tuple[type[Exception], ...]:
        errors = load_library("google.genai.errors", extra=EXTRA)
        return (errors.APIError, *UNREADABLE, *transport_failures())

    def _failure(self, error: Exception) -> LLMError:
        errors = load_library("google.genai.errors", extra=EXTRA)
        server = self._endpoint.server
        if isinstance(error, errors.APIError):
            status = error.code if isinstance(error.code, int) else 502
            said = error.message or error.status or "no reason was given"
            wait = seconds_to_wait(getattr(error.response, "headers", None) or {})
            wait = _retry_delay(error.details) if wait is None else wait
            return status_error(status, str(said), server, retry_after=wait)
        if isinstance(error, ValueError) and "not supported in" in str(error):
            return invalid_request(f"Gemini cannot be asked for this: {error}")
        return transport_error(error, server)


def _plain(answer: Any) -> Any:
    """Return an answer as the JSON it came as."""
    return answer.model_dump(mode="json", by_alias=True, exclude_none=True)


def _names(models: Iterable[Any]) -> list[str]:
    return [
        model.name.removeprefix("models/")
        for model in models
        if model.name and "generateContent" in (model.supported_actions or ["generateContent"])
    ]


def _retry_delay(details: Any) -> float | None:
    """Return the seconds of a `RetryInfo` in an error's details."""
    for detail in items(mapping(mapping(details).get("error")).get("details")):
        delay = text(mapping(detail).get("retryDelay")).removesuffix("s")
        if delay.replace(".", "", 1).isdecimal():
            return usable_wait(float(delay))
    return None
