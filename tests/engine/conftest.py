from collections.abc import Callable, Iterator
from typing import Any

import pytest

from openai_server import OpenAIServer, Opened
from openjarvis.engine.openai import OpenAIEngine

Serve = Callable[..., tuple[OpenAIServer, OpenAIEngine]]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Give a function that starts a server with a script, and an engine of a kind that asks it."""
    ended: list[tuple[OpenAIServer, Any]] = []

    def start(
        kind: Callable[..., Any], *answers: Any, path: str = "", **options: Any
    ) -> tuple[OpenAIServer, Any]:
        server = OpenAIServer(*answers, models=options.pop("models", ("test-model",)))
        url = server.__enter__().base_url.removesuffix("/v1") + path
        engine = kind(url, **{"api_key": "test-key-123456", "timeout": 10.0, **options})
        ended.append((server, engine))
        return server, engine

    yield start
    for server, engine in ended:
        engine.close()
        server.__exit__()


@pytest.fixture
def serve(opened: Opened) -> Serve:
    """Give a function that starts a server with a script, and an engine that asks it."""
    return lambda *answers, **options: opened(OpenAIEngine, *answers, path="/v1", **options)
