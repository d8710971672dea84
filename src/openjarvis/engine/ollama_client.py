"""Ollama's own client library kept ready: answers as plain JSON, failures as `LLMError`."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from typing import Any

from openjarvis.core.errors import LLMError
from openjarvis.engine.bounds import async_client_options, client_options
from openjarvis.engine.errors import UNREADABLE, status_error, transport_error
from openjarvis.engine.library import load_library, transport_failures
from openjarvis.engine.library_client import LibraryClient

EXTRA = "ollama"
FIRST_PAUSE = 0.5


class OllamaClient(LibraryClient):
    """Asks one Ollama.

    Failures that may pass are tried again at most `max_retries` times, after a growing pause; a
    stream only before its first piece.
    """

    def complete(self, body: dict[str, Any]) -> Any:
        """Return the whole answer, decoded."""
        return self._tried(lambda: self._sync_client().chat(**body).model_dump())

    async def acomplete(self, body: dict[str, Any]) -> Any:
        """Return the whole answer, decoded."""
        client = await self._async_clients.get()
        for attempt in range(self._max_retries + 1):
            try:
                return (await client.chat(**body)).model_dump()
            except self._failures() as error:
                await asyncio.sleep(self._pause(error, attempt))
        raise AssertionError("the last attempt raises")

    def events(self, body: dict[str, Any]) -> Generator[Any]:
        """Yield the pieces of a streamed answer; closing it closes the connection."""
        stream, first = self._tried(lambda: _begun(self._sync_client().chat(**body)))
        try:
            while first is not None:
                yield first.model_dump()
                first = next(stream, None)
        except self._failures() as error:
            raise self._failure(error) from self._endpoint.server.cause(error)
        finally:
            stream.close()

    async def aevents(self, body: dict[str, Any]) -> AsyncGenerator[Any]:
        """Yield what `events` yields."""
        client = await self._async_clients.get()
        for attempt in range(self._max_retries + 1):
            has_begun = False
            try:
                async with aclosing(await client.chat(**body)) as stream:
                    async for piece in stream:
                        has_begun = True
                        yield piece.model_dump()
                return
            except self._failures() as error:
                if has_begun:
                    raise self._failure(error) from self._endpoint.server.cause(error)
                await asyncio.sleep(self._pause(error, attempt))

    def show(self, model: str) -> dict[str, Any]:
        """Return what Ollama knows of a model."""
        found: dict[str, Any] = self._tried(lambda: self._sync_client().show(model).model_dump())
        return found

    def models(self) -> list[str]:
        """Return the names of the models that are installed."""
        listed = self._tried(lambda: self._sync_client().list())
        return [model.model for model in listed.models if model.model]

    def _tried(self, call: Callable[[], Any]) -> Any:
        for attempt in range(self._max_retries + 1):
            try:
                return call()
            except self._failures() as error:
                time.sleep(self._pause(error, attempt))
        raise AssertionError("the last attempt raises")

    def _pause(self, error: Exception, attempt: int) -> float:
        """Return how long to wait before the next attempt, or raise when there is none."""
        failure = self._failure(error)
        if attempt >= self._max_retries or not failure.retryable:
            raise failure from self._endpoint.server.cause(error)
        return FIRST_PAUSE * float(2**attempt)

    def _failures(self) -> tuple[type[Exception], ...]:
        ollama = load_library("ollama", extra=EXTRA)
        return (ollama.ResponseError, *UNREADABLE, *transport_failures())

    def _failure(self, error: Exception) -> LLMError:
        ollama = load_library("ollama", extra=EXTRA)
        server = self._endpoint.server
        if isinstance(error, ollama.ResponseError):
            # An error inside a stream has no status of its own.
            status = error.status_code if error.status_code >= 400 else 502
            return status_error(status, str(error.error), server)
        return transport_error(error, server)

    def _new_client(self) -> Any:
        return self._made("Client", client_options(self._endpoint))

    def _new_async_client(self) -> Any:
        return self._made("AsyncClient", async_client_options(self._endpoint))

    async def _release(self, client: Any) -> None:
        await client.close()

    def _made(self, kind: str, options: dict[str, Any]) -> Any:
        ollama = load_library("ollama", extra=EXTRA)
        return getattr(ollama, kind)(self._endpoint.base_url, timeout=self._timeout, **options)


def _begun(stream: Any) -> tuple[Any, Any]:
    """Return a stream with its first piece: only now is the request sent."""
    return stream, next(stream, None)
