"""What every engine is: messages in, a reply out, whole or in pieces."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

from openjarvis.core.types import Message, ToolCall
from openjarvis.core.workers import run_in_worker


class Usage(TypedDict, total=False):
    """Tokens of one request, as the provider counted them."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int
    """Of the prompt: what the provider had read before."""


class ReplyCall(TypedDict):
    """A tool call of a reply; `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


class ProviderCall(TypedDict):
    """A call of a tool that the provider ran; `output` is what was told of its result.

    Without a name it is only the result of a call that an earlier turn told of.
    """

    id: str
    name: str
    arguments: str
    output: str


class Reply(TypedDict, total=False):
    """What `generate` returns.

    `finish_reason` is `stop`, `tool_calls`, `length`, `content_filter`, or `pause`: the provider
    has interrupted its own tools, and goes on when the reply comes back as the last message.
    `sources` are `{"title", "url"}` of what the answer rests on. `provider_calls` are calls that
    the provider made and answered by itself, `cost_usd` the price where the provider tells it.
    `metadata` holds opaque provider parts that go back unchanged with the next request, as the
    assistant message's `metadata`.
    """

    content: str
    usage: Usage
    model: str
    finish_reason: str
    tool_calls: list[ReplyCall]
    sources: list[dict[str, str]]
    provider_calls: list[ProviderCall]
    cost_usd: float
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StreamChunk:
    """A piece of a streamed reply: some text, or at the very end the whole `reply`."""

    text: str = ""
    reply: Reply | None = None


class InferenceEngine(ABC):
    """One way to reach a model.

    Only `generate` must be written; the other forms fall back on it. Engines that stream override
    `chunks` and `achunks`. All methods may be called from several threads at once.
    """

    engine_id: str = ""
    provider_types: ClassVar[frozenset[str]] = frozenset()
    """The `ProviderTool.provider_type`s that this engine can ask its provider to run."""
    prices_of: str = ""
    """Whose prices hold: a provider's id or the URL of its interface; "" where none are known."""
    takes_specs: ClassVar[bool] = False
    """Whether `generate` wants `specs=[ToolSpec, …]` beside the tools' definitions."""
    follows_prompts: ClassVar[bool] = True
    """Whether a system text can tell it how to answer; without a model there is nobody to tell."""

    @abstractmethod
    def generate(
        self,
        messages: Sequence[Message],
        *,
        model: str,
        temperature: float = 0.7,
        max_tokens: int = 1024,
        tools: list[dict[str, Any]] | None = None,
        **kw: Any,
    ) -> Reply:
        """Return the model's reply to `messages`.

        `tools` are OpenAI function definitions and are given only when there are any.

        Raises:
            LLMError: when there is no reply; its code says why.
        """

    async def agenerate(self, messages: Sequence[Message], **request: Any) -> Reply:
        """Return what `generate` returns, without blocking the event loop."""
        reply: Reply = await run_in_worker(lambda: self.generate(messages, **request))
        return reply

    def chunks(self, messages: Sequence[Message], **request: Any) -> Iterator[StreamChunk]:
        """Yield the reply's text in pieces, then the whole reply; closing it ends the request."""
        yield from whole(self.generate(messages, **request))

    async def achunks(
        self, messages: Sequence[Message], **request: Any
    ) -> AsyncIterator[StreamChunk]:
        """Yield what `chunks` yields, without blocking the event loop."""
        for chunk in whole(await self.agenerate(messages, **request)):
            yield chunk

    async def stream(self, messages: Sequence[Message], **request: Any) -> AsyncIterator[str]:
        """Yield the text of the reply in pieces."""
        async for chunk in self.achunks(messages, **request):
            if chunk.text:
                yield chunk.text

    def default_model(self) -> str:
        """Return the model to ask for when none is named, "" where there is only one to ask.

        Raises:
            LLMError: when there are several and none is the obvious one.
        """
        return next(iter(self.list_models()), "")

    def list_models(self) -> list[str]:
        """Return the names of the models that can be asked for."""
        return []

    def check(self, request: Mapping[str, Any]) -> None:
        """Refuse a request that cannot be made, before anything is sent.

        `request` holds the keywords of `generate`. Engines without such rules accept all.

        Raises:
            LLMError: `LLM_INVALID_REQUEST`, saying what cannot be asked.
        """

    def health(self) -> bool:
        """Tell whether a request would find somebody to answer it."""
        return True

    def close(self) -> None:
        """Release connections; a closed engine is not used again."""


def whole(reply: Any) -> Iterator[StreamChunk]:
    """Yield a finished reply as a stream of one piece; one that is none is passed on as it is."""
    content = reply.get("content") if isinstance(reply, dict) else None
    if content and isinstance(content, str):
        yield StreamChunk(text=content)
    yield StreamChunk(reply=reply)


def usage_of(prompt: int, completion: int, *, total: int = 0, cached: int = 0) -> Usage:
    """Return counted tokens as a reply holds them."""
    usage: Usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": total or prompt + completion,
    }
    if cached:
        usage["cached_tokens"] = cached
    return usage


def reply_calls(calls: Sequence[ToolCall]) -> list[ReplyCall]:
    """Return tool calls as a reply holds them."""
    return [ReplyCall(id=call.id, name=call.name, arguments=call.arguments) for call in calls]
