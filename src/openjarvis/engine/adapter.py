"""What the engines that ask a server have in common: four ways to ask, written once.

An adapter says how a request reads (`Exchange`), how its answer is read (`Reading`), and which
client carries both; everything else is here.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from typing import Any, Protocol

from openjarvis.core.errors import LLMError, invalid_request
from openjarvis.core.types import Message
from openjarvis.core.workers import run_in_worker
from openjarvis.engine.base import InferenceEngine, Reply, StreamChunk
from openjarvis.engine.pictures import without_refused
from openjarvis.safety.terminal import plain

SHOWN_MODELS = 10
SHOWN_NAME = 100
LONGEST_TIMEOUT = 86_400


class Client(Protocol):
    """Carries requests to a server; every method but `is_alive` raises `LLMError`."""

    def complete(self, body: dict[str, Any]) -> Any:
        """Return the whole answer, decoded."""

    async def acomplete(self, body: dict[str, Any]) -> Any:
        """Return the whole answer, decoded."""

    def events(self, body: dict[str, Any]) -> Generator[Any]:
        """Yield the events of a streamed answer; closing it closes the connection."""

    def aevents(self, body: dict[str, Any]) -> AsyncGenerator[Any]:
        """Yield what `events` yields."""

    def models(self) -> list[str]:
        """Return the names of the models that there are."""

    def is_alive(self) -> bool:
        """Tell, soon, whether the server answers and accepts the key."""

    def close(self) -> None:
        """Close the connections."""


class Reading(ABC):
    """An answer as it comes in."""

    @abstractmethod
    def feed(self, event: Any) -> str:
        """Take the next event, or the whole answer; return the text that may be shown now."""

    @abstractmethod
    def reply(self) -> Reply:
        """Return the reply, once everything has been fed.

        Raises:
            LLMError: `LLM_UNAVAILABLE` when the answer is none or broke off.
        """


class Exchange(ABC):
    """One request, and what it takes to read its answer."""

    body: dict[str, Any]
    client: Client

    def streaming_body(self) -> dict[str, Any]:
        """Return the request for a streamed answer."""
        return {**self.body, "stream": True}

    @abstractmethod
    def reading(self) -> Reading:
        """Return a reading of an answer that begins now."""

    def reply(self, answer: Any) -> Reply:
        """Return what a whole answer says."""
        reading = self.reading()
        reading.feed(answer)
        return reading.reply()


class AdapterEngine(InferenceEngine):
    """An engine over a `Client`; `model` is asked for when a request names none.

    A request whose images are refused is made once more without them.
    """

    def __init__(self, client: Client, name: str, *, model: str = "", is_local: bool = False):
        self._client = client
        self._name = name
        self._model = model
        self._is_local = is_local

    @abstractmethod
    def _exchange(self, messages: Sequence[Message], *, model: str, **request: Any) -> Exchange:
        """Return the request, checked; nothing is sent yet."""

    def generate(self, messages: Sequence[Message], **request: Any) -> Reply:
        try:
            return self._generate(messages, **request)
        except LLMError as error:
            messages = without_refused(messages, error)
        return self._generate(messages, **request)

    async def agenerate(self, messages: Sequence[Message], **request: Any) -> Reply:
        try:
            return await self._agenerate(messages, **request)
        except LLMError as error:
            messages = without_refused(messages, error)
        return await self._agenerate(messages, **request)

    def chunks(self, messages: Sequence[Message], **request: Any) -> Iterator[StreamChunk]:
        has_begun = False
        try:
            with closing(self._chunks(messages, **request)) as chunks:
                for chunk in chunks:
                    has_begun = True
                    yield chunk
            return
        except LLMError as error:
            if has_begun:
                raise
            messages = without_refused(messages, error)
        yield from self._chunks(messages, **request)

    async def achunks(
        self, messages: Sequence[Message], **request: Any
    ) -> AsyncIterator[StreamChunk]:
        has_begun = False
        try:
            async with aclosing(self._achunks(messages, **request)) as chunks:
                async for chunk in chunks:
                    has_begun = True
                    yield chunk
            return
        except LLMError as error:
            if has_begun:
                raise
            messages = without_refused(messages, error)
        async with aclosing(self._achunks(messages, **request)) as chunks:
            async for chunk in chunks:
                yield chunk

    def _generate(self, messages: Sequence[Message], *, model: str = "", **request: Any) -> Reply:
        exchange = self._exchange(messages, model=model or self.default_model(), **request)
        return exchange.reply(exchange.client.complete(exchange.body))

    async def _agenerate(
        self, messages: Sequence[Message], *, model: str = "", **request: Any
    ) -> Reply:
        exchange = await self._aexchange(messages, model=model, **request)
        return exchange.reply(await exchange.client.acomplete(exchange.body))

    def _chunks(
        self, messages: Sequence[Message], *, model: str = "", **request: Any
    ) -> Generator[StreamChunk]:
        exchange = self._exchange(messages, model=model or self.default_model(), **request)
        shown = _Shown(exchange.reading())
        with closing(exchange.client.events(exchange.streaming_body())) as events:
            for event in events:
                yield from shown.take(event)
        yield from shown.end()

    async def _achunks(
        self, messages: Sequence[Message], *, model: str = "", **request: Any
    ) -> AsyncGenerator[StreamChunk]:
        exchange = await self._aexchange(messages, model=model, **request)
        shown = _Shown(exchange.reading())
        async with aclosing(exchange.client.aevents(exchange.streaming_body())) as events:
            async for event in events:
                for chunk in shown.take(event):
                    yield chunk
        for chunk in shown.end():
            yield chunk

    async def _aexchange(
        self, messages: Sequence[Message], *, model: str = "", **request: Any
    ) -> Exchange:
        model = model or await run_in_worker(self.default_model)
        return self._exchange(messages, model=model, **request)

    def default_model(self) -> str:
        """Return the model for requests that name none: the configured one, else the server's.

        A server on this machine is asked for its first model that can chat, another one only when
        it has just one.

        Raises:
            LLMError: `LLM_INVALID_REQUEST` when there is none to choose.
        """
        if not self._model:
            listed = [name for name in self.list_models() if "embed" not in name.lower()]
            if not listed or (len(listed) > 1 and not self._is_local):
                known = plain(", ".join(name[:SHOWN_NAME] for name in listed[:SHOWN_MODELS]))
                raise invalid_request(
                    f"No model is named for {self._name}. Name one of those that it offers: "
                    f"{known or 'none'}{', …' if len(listed) > SHOWN_MODELS else '.'}"
                )
            self._model = listed[0]
        return self._model

    def check(self, request: Mapping[str, Any]) -> None:
        self._exchange((), **request)

    def list_models(self) -> list[str]:
        return self._client.models()

    def health(self) -> bool:
        return self._client.is_alive()

    def close(self) -> None:
        self._client.close()


def check_limits(*, timeout: float, max_retries: int) -> None:
    """Refuse numbers that no client could keep.

    Raises:
        LLMError: `LLM_INVALID_REQUEST`, naming the number.
    """
    if not 0 < timeout <= LONGEST_TIMEOUT:
        raise invalid_request(
            f"The time-out of the engine is {timeout} s; expected more than 0 and at most "
            f"{LONGEST_TIMEOUT:,} s."
        )
    if max_retries < 0:
        raise invalid_request(f"The engine's retries are {max_retries}; expected 0 (none) or more.")


class _Shown:
    """A streamed answer as chunks: its text as it comes, and at the end the reply."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._length = 0

    def take(self, event: Any) -> Iterator[StreamChunk]:
        text = self._reading.feed(event)
        if text:
            self._length += len(text)
            yield StreamChunk(text)

    def end(self) -> Iterator[StreamChunk]:
        reply = self._reading.reply()
        # What was shown is how the content begins; some of the rest may have been held back.
        rest = reply["content"][self._length :]
        if rest:
            yield StreamChunk(rest)
        yield StreamChunk(reply=reply)
