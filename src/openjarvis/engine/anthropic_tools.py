"""Tools that Anthropic runs for Claude: web search, fetching of pages, code execution.

```python
from openjarvis.engine.anthropic_tools import web_search

tools = [web_search(max_uses=3, allowed_domains=["who.int"])]
```
"""

from collections.abc import Sequence
from typing import Any

from openjarvis.core.errors import invalid_request
from openjarvis.toolkit.provider import ProviderTool

WEB_SEARCH, WEB_FETCH = "anthropic.web_search", "anthropic.web_fetch"
CODE_EXECUTION = "anthropic.code_execution"
NAMES_IN_ANSWERS = {
    WEB_SEARCH: "web_search",
    WEB_FETCH: "web_fetch",
    CODE_EXECUTION: "code_execution",
}
"""What Claude's answers call each tool."""
PROVIDER_TYPES = frozenset(NAMES_IN_ANSWERS)


def web_search(
    *,
    max_uses: int | None = None,
    allowed_domains: Sequence[str] = (),
    blocked_domains: Sequence[str] = (),
    country: str | None = None,
    city: str | None = None,
    timezone: str | None = None,
) -> ProviderTool:
    """Return Anthropic's web search; its sources arrive in `response.sources`.

    `country` is a two-letter code, `timezone` an IANA name: both say where the user is.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` when domains are both allowed and blocked, or `max_uses` is
            less than 1.
    """
    place = {"country": country, "city": city, "timezone": timezone}
    location = {key: value for key, value in place.items() if value}
    options = _limits(max_uses, allowed_domains, blocked_domains)
    if location:
        options["user_location"] = {"type": "approximate", **location}
    return _tool("web_search", WEB_SEARCH, "web_search_20250305", options)


def web_fetch(
    *,
    max_uses: int | None = None,
    allowed_domains: Sequence[str] = (),
    blocked_domains: Sequence[str] = (),
    citations: bool = True,
) -> ProviderTool:
    """Return Anthropic's reader of web pages and PDFs whose URLs stand in the conversation.

    Raises:
        LLMError: `LLM_INVALID_REQUEST` as for `web_search`.
    """
    options = _limits(max_uses, allowed_domains, blocked_domains)
    options["citations"] = {"enabled": citations}
    return _tool("web_fetch", WEB_FETCH, "web_fetch_20250910", options)


def code_execution() -> ProviderTool:
    """Return Anthropic's sandbox, in which Claude runs commands and edits files."""
    return _tool("code_execution", CODE_EXECUTION, "code_execution_20250825", {})


def _tool(name: str, provider_type: str, version: str, options: dict[str, Any]) -> ProviderTool:
    return ProviderTool(name, provider_type, {"type": version, "name": name, **options})


def _limits(max_uses: int | None, allowed: Sequence[str], blocked: Sequence[str]) -> dict[str, Any]:
    if allowed and blocked:
        raise invalid_request("allowed_domains and blocked_domains exclude each other; give one.")
    if max_uses is not None and (type(max_uses) is not int or max_uses < 1):
        raise invalid_request(f"max_uses={max_uses!r}: expected a whole number from 1, or None.")
    options: dict[str, Any] = {} if max_uses is None else {"max_uses": max_uses}
    for key, domains in (("allowed_domains", allowed), ("blocked_domains", blocked)):
        if domains:
            options[key] = list(domains)
    return options
