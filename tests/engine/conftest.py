from collections.abc import Callable, Iterator
from typing import Any

import pytest

from openai_server import OpenAIServer
from openjarvis.engine.openai import OpenAIEngine

Serve = Callable[..., tuple[OpenAIServer, OpenAIEngine]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Give a function that starts a server with a script, and an engine that asks it."""
    opened: list[tuple[OpenAIServer, OpenAIEngine]] = []

    def start(*answers: Any, **options: Any) -> tuple[OpenAIServer, OpenAIEngine]:
        server = OpenAIServer(*answers, models=options.pop("models", ("test-model",)))
        options = {"api_key": "test-key-123456", "timeout": 10.0, **options}
        engine = OpenAIEngine(server.__enter__().base_url, **options)
        opened.append((server, engine))
        return server, engine

    yield start
    for server, engine in opened:
        engine.close()
        server.__exit__()
