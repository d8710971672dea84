"""The tool that searches the web."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Self
from urllib.parse import urlsplit

from openjarvis.core.errors import ConfigError, ToolError
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.safety.fetch import Fetcher
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool
from openjarvis.tools.search_chain import SearchChain
from openjarvis.tools.search_providers import (
    Brave,
    DuckDuckGo,
    Provider,
    SearchResult,
    SearXNG,
    Tavily,
)
from openjarvis.tools.settings import settings_of

_MOST_RESULTS = 20
_PORTS = {"http": 80, "https": 443}
_LONGEST_QUERY = 400


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """`[tools.web_search]`; the environment's keys stand in for those that are not set."""

    tavily_api_key: str = ""
    brave_api_key: str = ""
    searxng_url: str = ""


@ToolRegistry.register("web_search")
class WebSearchTool(TypedTool):
    """Search the web and return titles, addresses and short excerpts of the pages found.

    Call it for facts that are recent, local or not generally known, or when the user asks to look
    something up.
    """

    name = "web_search"
    category = "search"
    read_only = True
    open_world = True
    required = ("query",)
    examples = (
        ("Search the web for the latest Python release", {"query": "latest Python release"}),
        "Look up who won the match yesterday",
    )

    def __init__(
        self,
        api_key: str | None = None,
        max_results: int = 5,
        *,
        providers: Sequence[Provider] | None = None,
    ) -> None:
        """Ask `providers`; by default Tavily (`api_key`), then what the environment has keys for.

        Without any key DuckDuckGo answers.
        """
        if providers is None:
            providers = providers_of(SearchSettings(tavily_api_key=api_key or ""))
        self._chain = SearchChain(providers)
        self._max_results = max_results

    @classmethod
    def build(cls, services: Services) -> Self:
        return cls(providers=providers_of(settings_of(services, cls.name, SearchSettings)))

    def run(
        self,
        query: Annotated[str, "What to search for"] = "",
        max_results: Annotated[int | None, f"How many results, 1 to {_MOST_RESULTS}"] = None,
    ) -> ToolResult:
        wanted = " ".join(query.split())
        if not wanted:
            raise ToolError("No query: say what to search for.")
        if len(wanted) > _LONGEST_QUERY:
            raise ToolError(f"The query is longer than {_LONGEST_QUERY} characters; shorten it.")
        most = self._max_results if max_results is None else max_results
        if not 1 <= most <= _MOST_RESULTS:
            raise ToolError(f"max_results must be from 1 to {_MOST_RESULTS}, got {most}.")
        found, provider = self._chain.search(wanted, most=most)
        return ToolResult(
            self.name,
            _listed(found) or f"No results for {wanted!r}.",
            metadata={"num_results": len(found), "provider": provider},
        )


def providers_of(settings: SearchSettings) -> list[Provider]:
    """Return who is asked, in order: those with a key or an address, then DuckDuckGo.

    Raises:
        ConfigError: when the address of SearXNG is no address.
    """
    providers: list[Provider] = []
    tavily = settings.tavily_api_key or os.environ.get("TAVILY_API_KEY", "")
    brave = settings.brave_api_key or os.environ.get("BRAVE_API_KEY", "")
    searxng = settings.searxng_url or os.environ.get("SEARXNG_URL", "")
    if tavily:
        providers.append(Tavily(tavily))
    if brave:
        providers.append(Brave(brave))
    if searxng:
        providers.append(_searxng(searxng))
    return [*providers, DuckDuckGo()]


def _searxng(url: str) -> SearXNG:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        host = port = None
    if not host or not port:
        raise ConfigError(f"[tools.web_search] searxng_url: {url!r} is not a http or https URL.")
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    # The user's own service: it may be on this machine or in its network.
    return SearXNG(url, Fetcher(allowed=(place,)))


def _listed(found: Sequence[SearchResult]) -> str:
    return "\n\n".join(
        f"{number}. {result.title or result.url}\n   {result.url}\n   {result.snippet}".rstrip()
        for number, result in enumerate(found, 1)
    )
