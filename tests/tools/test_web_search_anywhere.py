from typing import Any

import pytest

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.core.registry import ToolRegistry
from openjarvis.engine.anthropic import AnthropicEngine
from openjarvis.engine.gemini import GeminiEngine
from openjarvis.engine.openai import OpenAIEngine
from openjarvis.testing import ScriptedEngine
from openjarvis.toolkit.provider import ProviderTool
from openjarvis.tools.web_search_anywhere import web_search_anywhere

KEY = "test-key-123456"


@pytest.mark.parametrize(
    ("engine", "provider_type"),
    [
        (GeminiEngine("http://127.0.0.1:9", KEY), "google.google_search"),
        (AnthropicEngine("http://127.0.0.1:9", KEY), "anthropic.web_search"),
        (OpenAIEngine("https://api.openai.com/v1", KEY), "openai.web_search"),
    ],
)
def test_a_provider_that_searches_is_taken(engine: Any, provider_type: str) -> None:
    tool = web_search_anywhere(engine)

    assert isinstance(tool, ProviderTool)
    assert tool.provider_type == provider_type


@pytest.mark.parametrize("engine", [ScriptedEngine([]), OpenAIEngine("http://127.0.0.1:9/v1", "")])
def test_else_it_is_our_own(engine: Any) -> None:
    tool = web_search_anywhere(engine)

    assert not isinstance(tool, ProviderTool)
    assert tool.spec.name == "web_search"


def test_neither_is_told() -> None:
    with ToolRegistry.isolated():
        ToolRegistry.clear()

        with pytest.raises(ToolDefinitionError, match="'scripted' has no web search"):
            web_search_anywhere(ScriptedEngine([]))
