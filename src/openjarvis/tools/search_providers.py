"""Where web search results come from: each provider turns a query into results or says why not."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from math import ceil
from typing import Any, ClassVar, NamedTuple, Protocol
from urllib.parse import urlencode

from openjarvis.core.errors import ToolError
from openjarvis.core.extras import how_to_install
from openjarvis.safety.fetch import Fetcher

_TAGS = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")


class SearchResult(NamedTuple):
    """One page that was found."""

    title: str
    url: str
    snippet: str


class SearchFailed(Exception):
    """A provider that gave no answer; the text says why, without its key or address."""


class Provider(Protocol):
    """Somebody who can search."""

    name: ClassVar[str]

    def search(self, query: str, *, most: int, seconds: float) -> list[SearchResult]:
        """Return what was found; nothing found is an empty list.

        Raises:
            SearchFailed: when there is no answer.
        """


@dataclass(frozen=True, slots=True)
class Tavily:
    """Tavily's search API, with a key."""

    name: ClassVar[str] = "Tavily"
    key: str = field(repr=False)
    fetcher: Fetcher = field(default_factory=Fetcher)
    base_url: str = "https://api.tavily.com"

    def search(self, query: str, *, most: int, seconds: float) -> list[SearchResult]:
        answer = _ask(
            self.fetcher,
            f"{self.base_url}/search",
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
            body=json.dumps({"query": query, "max_results": most}).encode(),
            seconds=seconds,
        )
        return _results(answer, snippet="content")


@dataclass(frozen=True, slots=True)
class Brave:
    """Brave's search API, with a key."""

    name: ClassVar[str] = "Brave"
    key: str = field(repr=False)
    fetcher: Fetcher = field(default_factory=Fetcher)
    base_url: str = "https://api.search.brave.com"

    def search(self, query: str, *, most: int, seconds: float) -> list[SearchResult]:
        answer = _ask(
            self.fetcher,
            f"{self.base_url}/res/v1/web/search?{urlencode({'q': query, 'count': most})}",
            headers={"X-Subscription-Token": self.key, "Accept": "application/json"},
            seconds=seconds,
        )
        # Brave leaves "web" out when it found nothing.
        found = answer.get("web") or {"results": []}
        return _results(found, snippet="description")


@dataclass(frozen=True, slots=True)
class SearXNG:
    """A SearXNG of the user's own, at `base_url`, which may be a private address."""

    name: ClassVar[str] = "SearXNG"
    base_url: str
    fetcher: Fetcher

    def search(self, query: str, *, most: int, seconds: float) -> list[SearchResult]:
        answer = _ask(
            self.fetcher,
            f"{self.base_url.rstrip('/')}/search?{urlencode({'q': query, 'format': 'json'})}",
            headers={"Accept": "application/json"},
            seconds=seconds,
        )
        return _results(answer, snippet="content")


@dataclass(frozen=True, slots=True)
class DuckDuckGo:
    """DuckDuckGo, without a key, by the package `ddgs`."""

    name: ClassVar[str] = "DuckDuckGo"

    def search(self, query: str, *, most: int, seconds: float) -> list[SearchResult]:
        try:
            from ddgs import DDGS
        except ImportError as error:
            raise SearchFailed(f"needs a package: {how_to_install('web')}") from error
        client = DDGS(timeout=ceil(seconds))
        try:
            found = client.text(query, max_results=most, backend="duckduckgo")
        except Exception as error:  # foreign code that scrapes pages may raise anything
            if "No results" in str(error):
                return []
            raise SearchFailed(f"gave no answer ({type(error).__name__})") from error
        return _results({"results": found}, snippet="body", url="href")


def _ask(
    fetcher: Fetcher,
    url: str,
    *,
    headers: Mapping[str, str],
    seconds: float,
    body: bytes | None = None,
) -> dict[str, Any]:
    method = "GET" if body is None else "POST"
    try:
        fetched = fetcher.fetch(url, method=method, headers=headers, body=body, seconds=seconds)
    except ToolError as error:
        raise SearchFailed(str(error).rstrip(".")) from error
    if fetched.status in (401, 403):
        raise SearchFailed(f"refused the key or the request (HTTP {fetched.status})")
    if fetched.status != 200:
        raise SearchFailed(f"answered HTTP {fetched.status}")
    try:
        answer = json.loads(fetched.body)
    except (ValueError, RecursionError) as error:
        raise SearchFailed("answered with something that is no JSON") from error
    if not isinstance(answer, dict):
        raise SearchFailed("answered with JSON of another form")
    return answer


def _results(answer: Any, *, snippet: str, url: str = "url") -> list[SearchResult]:
    entries = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        raise SearchFailed("answered with JSON of another form")
    return [
        SearchResult(_plain(entry.get("title")), entry[url], _plain(entry.get(snippet)))
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get(url), str)
    ]


def _plain(text: object) -> str:
    if not isinstance(text, str):
        return ""
    return " ".join(unescape(_TAGS.sub("", text)).split())
