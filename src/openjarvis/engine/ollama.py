"""The engine for a local Ollama, through its own interface (extra `ollama`).

Its OpenAI-compatible interface cuts what does not fit into the default context, in silence; here
the context is made long enough for system text, tools and history.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self

from openjarvis.core.registry import EngineRegistry
from openjarvis.core.types import Message
from openjarvis.core.workers import run_in_worker
from openjarvis.engine.adapter import AdapterEngine, Client, Exchange, check_limits
from openjarvis.engine.endpoint import Endpoint
from openjarvis.engine.errors import Server
from openjarvis.engine.ollama_client import OllamaClient
from openjarvis.engine.ollama_messages import OllamaReading, to_chat, to_tools
from openjarvis.engine.pictures import in_text
from openjarvis.engine.settings import OLLAMA_URL, EngineSettings, environment_ollama_url
from openjarvis.engine.text_calls import parameters_of
from openjarvis.engine.text_protocol import in_words
from openjarvis.engine.wire import items, mapping

SMALLEST_CONTEXT = 4096
BYTES_PER_TOKEN = 3
"""Fewer than a token of most texts has, so that the estimate errs on the long side."""
TOKENS_PER_IMAGE = 1500
"""As many as most models that see make of one."""
BLIND = "this model takes text only"

logger = logging.getLogger("openjarvis.engine")


@dataclass(slots=True)
class _Model:
    """What is known of a model: what it can, and the context that it was asked to have."""

    takes_tools: bool
    sees: bool
    longest: int
    context: int = SMALLEST_CONTEXT


@EngineRegistry.register("ollama")
class OllamaEngine(AdapterEngine):
    """Asks a local Ollama.

    `base_url` is the environment's `OLLAMA_HOST` when it is None, else Ollama's usual address.
    The context is as long as a request needs (it grows, and never shrinks: each change loads the
    model again), at most `context_length` tokens when that is given; a warning is logged where the
    model cannot hold the request. Models without tools are driven by printed calls. `timeout` is in
    seconds and counts until the next bytes come. Further arguments of a request (`think`, `format`,
    `options` …) go to Ollama as they are.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when the URL cannot be one, or a number is out of its range.
    """

    engine_id = "ollama"

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str = "",
        *,
        timeout: float = 120.0,
        max_retries: int = 2,
        model: str = "",
        context_length: int = 0,
    ) -> None:
        check_limits(timeout=timeout, max_retries=max_retries)
        endpoint = Endpoint(base_url or environment_ollama_url() or OLLAMA_URL, api_key)
        self._ollama = OllamaClient(endpoint, timeout=timeout, max_retries=max_retries)
        super().__init__(self._ollama, endpoint.server.name, model=model, is_local=True)
        self._server = endpoint.server
        self._most = context_length
        self._lock = Lock()
        self._known: dict[str, _Model] = {}

    @classmethod
    def from_settings(cls, settings: EngineSettings) -> Self:
        """Return the engine that the configuration describes."""
        return cls(
            settings.ollama_base_url or None,
            timeout=settings.timeout_seconds,
            max_retries=settings.max_retries,
            model=settings.model,
            context_length=settings.context_length,
        )

    def check(self, request: Mapping[str, Any]) -> None:
        to_tools(request.get("tools") or ())

    async def _aexchange(
        self, messages: Sequence[Message], *, model: str = "", **request: Any
    ) -> Exchange:
        # Ollama is asked about a model that is new to us, and that must not block the loop.
        def prepare() -> Exchange:
            return self._exchange(messages, model=model or self.default_model(), **request)

        exchange: Exchange = await run_in_worker(prepare)
        return exchange

    def _exchange(
        self,
        messages: Sequence[Message],
        *,
        model: str,
        temperature: float | None = 0.7,
        max_tokens: int | None = 1024,
        tools: list[dict[str, Any]] | None = None,
        options: Mapping[str, Any] | None = None,
        **kw: Any,
    ) -> Exchange:
        known = self._model_of(model)
        prints = bool(tools) and not known.takes_tools
        if prints or not known.sees:
            messages = in_text(messages, BLIND)
        if prints:
            messages = in_words(messages, tools or ())
        body = {**kw, "model": model, "messages": to_chat(messages, self._server)}
        if tools and not prints:
            body["tools"] = to_tools(tools)
        settings = {"temperature": temperature, "num_predict": max_tokens}
        body["options"] = {
            "num_ctx": self._context(known, model, body, max_tokens or 0),
            **{name: value for name, value in settings.items() if value is not None},
            **(options or {}),
        }
        return _Asked(body, self._client, self._server, parameters_of(tools or ()))

    def _model_of(self, model: str) -> _Model:
        with self._lock:
            known = self._known.get(model)
        if known is None:
            shown = self._ollama.show(model)
            able = shown.get("capabilities")
            lengths = [
                value
                for key, value in mapping(shown.get("modelinfo")).items()
                if key.endswith(".context_length") and type(value) is int
            ]
            # An Ollama that is too old to tell is taken at its word: it may refuse the tools.
            takes_tools, sees = able is None or "tools" in items(able), "vision" in items(able)
            known = _Model(takes_tools, sees, max(lengths, default=0))
            with self._lock:
                known = self._known.setdefault(model, known)
        return known

    def _context(self, known: _Model, name: str, body: dict[str, Any], max_tokens: int) -> int:
        written = json.dumps(body, ensure_ascii=False, default=_in_place_of_image)
        needed = len(written.encode(errors="replace"))
        tokens = needed // BYTES_PER_TOKEN + max_tokens
        most = min(filter(None, (known.longest, self._most)), default=0)
        if most and tokens > most:
            logger.warning(
                "The request needs about %d tokens, and %s holds %d: what is oldest will be cut. "
                "Offer fewer tools, shorten the history, or take a model with a longer context.",
                tokens,
                name,
                most,
            )
        with self._lock:
            while known.context < tokens:
                known.context *= 2
            return min(known.context, most) if most else known.context


def _in_place_of_image(image: Any) -> str:
    """Return a text that takes as many tokens as an image."""
    return " " * (BYTES_PER_TOKEN * TOKENS_PER_IMAGE)


@dataclass(frozen=True)
class _Asked(Exchange):
    body: dict[str, Any]
    client: Client
    server: Server
    offered: dict[str, list[str]]

    def reading(self) -> OllamaReading:
        return OllamaReading(self.server, self.body["model"], self.offered)
