"""Web search by whoever can: the engine's provider, else this machine."""

from collections.abc import Callable
from typing import Any

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.core.registry import ToolRegistry
from openjarvis.engine import anthropic_tools, google_tools, openai_tools
from openjarvis.toolkit.provider import ProviderTool
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.toolset import AnyTool
from openjarvis.tools.catalog import build

_MADE_BY: dict[str, Callable[[], ProviderTool]] = {
    google_tools.GOOGLE_SEARCH: google_tools.google_search,
    openai_tools.WEB_SEARCH: openai_tools.web_search,
    anthropic_tools.WEB_SEARCH: anthropic_tools.web_search,
}


def web_search_anywhere(engine: Any, *, services: Services | None = None) -> AnyTool:
    """Return the web search of the engine's provider, or our own where it has none.

    Raises:
        ToolDefinitionError: when there is neither.
    """
    known = getattr(engine, "provider_types", ())
    for provider_type, make in _MADE_BY.items():
        if provider_type in known:
            return make()
    if not ToolRegistry.contains("web_search"):
        raise ToolDefinitionError(
            f"The engine {getattr(engine, 'engine_id', '')!r} has no web search of its provider's, "
            "and no tool 'web_search' is registered here."
        )
    [ours] = build(["web_search"], services or Services(engine=engine))
    return ours
