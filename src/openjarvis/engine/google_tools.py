"""Tools that Google runs for Gemini: search grounding, reading of pages, code execution.

```python
from openjarvis.engine.google_tools import google_search, url_context

tools = [google_search(), url_context()]
```
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from openjarvis.core.errors import invalid_request
from openjarvis.toolkit.provider import ProviderTool

GOOGLE_SEARCH, URL_CONTEXT = "google.google_search", "google.url_context"
CODE_EXECUTION = "google.code_execution"
NAMES_IN_ANSWERS = {
    GOOGLE_SEARCH: "google_search",
    URL_CONTEXT: "url_context",
    CODE_EXECUTION: "code_execution",
}
"""What Gemini's interface calls each tool."""
PROVIDER_TYPES = frozenset(NAMES_IN_ANSWERS)


def google_search(*, exclude_domains: Sequence[str] = ()) -> ProviderTool:
    """Return Google Search grounding; its sources arrive in `response.sources`."""
    return _search({"excludeDomains": list(exclude_domains)} if exclude_domains else {})


def google_search_web_only() -> ProviderTool:
    """Return Google Search grounding that looks for pages only, never for images."""
    return _search({"searchTypes": {"webSearch": {}}})


def google_search_since(start: str, end: str) -> ProviderTool:
    """Return Google Search grounding in what was published from `start` to `end`.

    Both are RFC 3339 with a time zone, e.g. `2026-01-31T00:00:00Z`.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when one is no such time, or the end is not after the start.
    """
    if _moment("start", start) >= _moment("end", end):
        raise invalid_request(f"end={end!r} is not after start={start!r}.")
    return _search({"timeRangeFilter": {"startTime": start, "endTime": end}})


def url_context() -> ProviderTool:
    """Return Google's reader of the pages whose URLs stand in the conversation."""
    return ProviderTool("url_context", URL_CONTEXT)


def code_execution() -> ProviderTool:
    """Return Google's sandbox, in which Gemini runs Python."""
    return ProviderTool("code_execution", CODE_EXECUTION)


def _search(options: dict[str, Any]) -> ProviderTool:
    return ProviderTool("google_search", GOOGLE_SEARCH, options)


def _moment(name: str, value: str) -> datetime:
    example = "expected RFC 3339 with a time zone, e.g. '2026-01-31T00:00:00Z'."
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise invalid_request(f"{name}={value!r}: {example}") from error
    if moment.tzinfo is None or "T" not in value.upper():
        raise invalid_request(f"{name}={value!r}: {example}")
    return moment
