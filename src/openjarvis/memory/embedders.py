"""Embedders over services that speak OpenAI's protocol: OpenAI itself, Ollama and many others."""

from collections.abc import Sequence

import openai

from openjarvis.memory.base import Embedder, MemoryFailed

_TEXTS_AT_ONCE = 64
_RETRIES = 3


def openai_embedder(
    model: str = "text-embedding-3-small",
    *,
    base_url: str | None = None,
    api_key: str | None = None,
) -> Embedder:
    """Return an embedder over `model` at `base_url`, by default OpenAI's.

    Without `api_key` the key is read from `OPENAI_API_KEY`. The embedder raises `MemoryFailed` when
    the service refuses or is not there.

    Raises:
        MemoryFailed: when there is no key.
    """
    try:
        client = openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=_RETRIES)
    except openai.OpenAIError as exc:
        raise MemoryFailed(
            "The embedder has no key: set OPENAI_API_KEY, or name another embedder."
        ) from exc

    def embed(texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            vectors += _asked(client, model, texts[start : start + _TEXTS_AT_ONCE])
        return vectors

    return embed


def ollama_embedder(
    model: str = "nomic-embed-text", *, host: str = "http://localhost:11434"
) -> Embedder:
    """Return an embedder over a model that Ollama serves at `host`."""
    # Ollama wants no key, the client wants one.
    return openai_embedder(model, base_url=f"{host.rstrip('/')}/v1", api_key="ollama")


def _asked(client: openai.OpenAI, model: str, texts: Sequence[str]) -> list[list[float]]:
    # Some models refuse an empty text.
    wanted = [text if text.strip() else "." for text in texts]
    try:
        reply = client.embeddings.create(model=model, input=wanted, encoding_format="float")
    except openai.APIStatusError as exc:
        raise MemoryFailed(
            f"The embedding model {model!r} refused: status {exc.status_code}."
        ) from exc
    except openai.APIError as exc:
        raise MemoryFailed(
            f"The embedding model {model!r} cannot be reached; is its server running?"
        ) from exc
    return [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
