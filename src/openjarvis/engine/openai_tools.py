"""Tools that OpenAI runs for its models: web search and code execution.

They need OpenAI's Responses interface, which the engine uses as soon as one of them is offered.

```python
from openjarvis.engine.openai_tools import web_search

tools = [web_search(allowed_domains=["who.int"])]
```
"""

from collections.abc import Sequence
from typing import Any, Literal

from openjarvis.toolkit.provider import ProviderTool

WEB_SEARCH, CODE_INTERPRETER = "openai.web_search", "openai.code_interpreter"
NAMES_IN_ANSWERS = {WEB_SEARCH: "web_search_call", CODE_INTERPRETER: "code_interpreter_call"}
"""What answers call the items of each tool."""
PROVIDER_TYPES = frozenset(NAMES_IN_ANSWERS)


def web_search(
    *,
    allowed_domains: Sequence[str] = (),
    context_size: Literal["low", "medium", "high"] | None = None,
    country: str | None = None,
    city: str | None = None,
    timezone: str | None = None,
) -> ProviderTool:
    """Return OpenAI's web search; its sources arrive in `response.sources`.

    `country` is a two-letter code, `timezone` an IANA name: both say where the user is.
    """
    options: dict[str, Any] = {"type": "web_search"}
    place = {"country": country, "city": city, "timezone": timezone}
    location = {key: value for key, value in place.items() if value}
    if allowed_domains:
        options["filters"] = {"allowed_domains": list(allowed_domains)}
    if context_size:
        options["search_context_size"] = context_size
    if location:
        options["user_location"] = {"type": "approximate", **location}
    return ProviderTool("web_search", WEB_SEARCH, options)


def code_execution() -> ProviderTool:
    """Return OpenAI's sandbox, in which a model runs Python."""
    options = {"type": "code_interpreter", "container": {"type": "auto"}}
    return ProviderTool("code_execution", CODE_INTERPRETER, options)
