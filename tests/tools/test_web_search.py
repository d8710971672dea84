import json
import sys
import types
from collections.abc import Iterator

import pytest

from loopback import Loopback, answer, serving
from openjarvis.config import JarvisConfig, ToolsConfig
from openjarvis.core.errors import ConfigError, ToolError
from openjarvis.safety.fetch import Fetcher
from openjarvis.toolkit.services import Services
from openjarvis.tools.search_chain import SearchChain
from openjarvis.tools.search_providers import (
    Brave,
    DuckDuckGo,
    SearchFailed,
    SearchResult,
    SearXNG,
    Tavily,
)
from openjarvis.tools.web_search import WebSearchTool

TAVILY = {
    "query": "q",
    "answer": None,
    "results": [
        {"title": "First", "url": "https://a.example/", "content": "About a.", "score": 0.9},
        {"title": "Second", "url": "https://b.example/", "content": "About b.", "score": 0.8},
    ],
}
BRAVE = {
    "type": "search",
    "web": {
        "results": [
            {
                "title": "Tom &amp; <strong>Jerry</strong>",
                "url": "https://c.example/",
                "description": "A <strong>cat</strong> with 1 < 2 mice.",
            }
        ]
    },
}
SEARXNG = {"results": [{"title": "Own", "url": "https://d.example/", "content": "From here."}]}


def as_json(value: object, status: str = "200 OK") -> bytes:
    return answer(
        json.dumps(value).encode(), status=status, headers={"Content-Type": "application/json"}
    )


@pytest.fixture
def web() -> Iterator[Loopback]:
    with serving(
        {
            "/search": as_json(TAVILY),
            "/res/v1/web/search": as_json(BRAVE),
            "/own/search": as_json(SEARXNG),
        }
    ) as server:
        yield server


def tavily(web: Loopback) -> Tavily:
    return Tavily("tvly-s3cret", Fetcher(allowed=[web.place]), web.url(""))


def brave(web: Loopback) -> Brave:
    return Brave("brave-s3cret", Fetcher(allowed=[web.place]), web.url(""))


def searxng(web: Loopback) -> SearXNG:
    return SearXNG(web.url("/own/"), Fetcher(allowed=[web.place]))


def test_results_are_a_list_of_titles_addresses_and_excerpts(web: Loopback) -> None:
    result = WebSearchTool(providers=[tavily(web)]).execute(query="  what \n is a ")

    assert result.content == (
        "1. First\n   https://a.example/\n   About a.\n\n"
        "2. Second\n   https://b.example/\n   About b."
    )
    assert result.metadata == {"num_results": 2, "provider": "Tavily"}
    request = web.requests[-1]
    assert b"Authorization: Bearer tvly-s3cret" in request
    assert json.loads(request.partition(b"\r\n\r\n")[2])["query"] == "what is a"


def test_brave_is_asked_as_it_wants_to_be(web: Loopback) -> None:
    (found,) = brave(web).search("tom & jerry", most=3, seconds=5)

    assert found == SearchResult("Tom & Jerry", "https://c.example/", "A cat with 1 < 2 mice.")
    assert web.requests[-1].startswith(b"GET /res/v1/web/search?q=tom+%26+jerry&count=3 ")
    assert b"X-Subscription-Token: brave-s3cret" in web.requests[-1]


def test_brave_that_found_nothing_leaves_the_web_out(web: Loopback) -> None:
    web.answers["/res/v1/web/search"] = as_json({"type": "search"})

    assert brave(web).search("q", most=3, seconds=5) == []


def test_a_searxng_of_the_users_own_may_be_inside(
    web: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TAVILY_API_KEY", "BRAVE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    sections = {"web_search": {"searxng_url": web.url("/own")}}
    services = Services(config=JarvisConfig(tools=ToolsConfig(sections=sections)))

    result = WebSearchTool.build(services).execute(query="q")

    assert "https://d.example/" in result.content
    assert result.metadata["provider"] == "SearXNG"


@pytest.mark.parametrize("url", ["localhost:8080", "http://", "ftp://x.example", "http://x:y/"])
def test_an_address_of_searxng_that_is_none_is_named(url: str) -> None:
    sections = {"web_search": {"searxng_url": url}}

    with pytest.raises(ConfigError, match="searxng_url"):
        WebSearchTool.build(Services(config=JarvisConfig(tools=ToolsConfig(sections=sections))))


def fake_ddgs(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    class DDGS:
        def __init__(self, timeout: int) -> None: ...

        def text(self, query: str, **_: object) -> object:
            if isinstance(answer, Exception):
                raise answer
            return answer

    module = types.ModuleType("ddgs")
    module.DDGS = DDGS  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ddgs", module)


def test_without_any_key_duckduckgo_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TAVILY_API_KEY", "BRAVE_API_KEY", "SEARXNG_URL"):
        monkeypatch.delenv(name, raising=False)
    fake_ddgs(monkeypatch, [{"title": "Duck", "href": "https://e.example/", "body": "Quack."}])

    result = WebSearchTool().execute(query="q")

    assert result.content == "1. Duck\n   https://e.example/\n   Quack."


def test_finding_nothing_is_a_success_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_ddgs(monkeypatch, RuntimeError("No results found."))

    result = WebSearchTool(providers=[DuckDuckGo()]).execute(query="qqq")

    assert (result.success, result.content) == (True, "No results for 'qqq'.")
    assert result.metadata["num_results"] == 0


def test_failing_is_not_finding_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_ddgs(monkeypatch, RuntimeError("secret-proxy:3128 refused"))

    result = WebSearchTool(providers=[DuckDuckGo()]).execute(query="q")

    assert not result.success
    assert result.content == "Search failed. DuckDuckGo: gave no answer (RuntimeError)."


def test_without_its_package_duckduckgo_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)

    result = WebSearchTool(providers=[DuckDuckGo()]).execute(query="q")

    assert "pip install '.[web]'" in result.content


@pytest.mark.parametrize(
    "broken",
    [
        as_json({"detail": "Unauthorized"}, "401 Unauthorized"),
        as_json({}, "429 Too Many Requests"),
        as_json({}, "500 Internal Server Error"),
        as_json([1, 2]),
        as_json({"results": None}),
        as_json({"hits": []}),
        answer(b"<html>captcha</html>"),
        answer(b"[" * 100_000),
        b"",
    ],
)
def test_a_provider_that_fails_is_passed_over(web: Loopback, broken: bytes) -> None:
    web.answers["/search"] = broken

    result = WebSearchTool(providers=[tavily(web), brave(web)]).execute(query="q")

    assert result.success
    assert result.metadata["provider"] == "Brave"


def test_when_all_fail_each_ones_matter_is_told_and_no_key(web: Loopback) -> None:
    web.answers["/search"] = as_json({}, "401 Unauthorized")
    web.answers["/res/v1/web/search"] = as_json({}, "429 Too Many Requests")

    result = WebSearchTool(providers=[tavily(web), brave(web)]).execute(query="q")

    assert not result.success
    assert result.content == (
        "Search failed. Tavily: refused the key or the request (HTTP 401); "
        "Brave: answered HTTP 429."
    )
    assert "s3cret" not in repr([tavily(web), brave(web)])


def test_odd_entries_are_left_out(web: Loopback) -> None:
    web.answers["/search"] = as_json(
        {"results": [3, {"title": "no url"}, {"url": 5}, {"url": "https://f.example/", "title": 7}]}
    )

    assert tavily(web).search("q", most=5, seconds=5) == [
        SearchResult("", "https://f.example/", "")
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "No query"),
        ({"query": " \n"}, "No query"),
        ({"query": "x" * 401}, "longer than 400"),
        ({"query": "q", "max_results": 0}, "from 1 to 20"),
        ({"query": "q", "max_results": 21}, "from 1 to 20"),
    ],
)
def test_a_query_that_is_none_is_refused(arguments: dict[str, object], message: str) -> None:
    result = WebSearchTool(providers=[]).execute(**arguments)

    assert not result.success
    assert message in result.content


class Scripted:
    """A provider that does what its list says, and a clock that moves as it takes time."""

    def __init__(self, name: str, *answers: object, takes: float = 0) -> None:
        self.name = name
        self.asked: list[float] = []
        self.now = 0.0
        self._answers = list(answers)
        self._takes = takes

    def search(self, query: str, *, most: int, seconds: float) -> list[SearchResult]:
        self.asked.append(seconds)
        self.now += self._takes
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [SearchResult("t", "https://x.example/", "s")] * 9


def test_one_that_keeps_failing_is_left_alone_for_a_minute() -> None:
    failing = Scripted("A", *[SearchFailed("down")] * 3, "up again")
    other = Scripted("B", *["ok"] * 9)
    now = 0.0
    chain = SearchChain([failing, other], clock=lambda: now)  # type: ignore[list-item]

    for _ in range(5):
        assert chain.search("q", most=3)[1] == "B"
    assert len(failing.asked) == 2

    now = 61.0
    chain.search("q", most=3)
    assert len(failing.asked) == 3

    now = 200.0
    assert chain.search("q", most=3)[1] == "A"


def test_all_share_one_budget_of_time_and_the_later_ones_get_some() -> None:
    slow = Scripted("A", SearchFailed("slow"), takes=10)
    last = Scripted("B", "ok")
    chain = SearchChain([slow, last], seconds=16, clock=lambda: slow.now)  # type: ignore[list-item]

    found, provider = chain.search("q", most=4)

    assert (len(found), provider) == (4, "B")
    assert (slow.asked, last.asked) == ([8], [6])


def test_when_the_time_is_over_the_rest_is_not_asked() -> None:
    slow, last = Scripted("A", SearchFailed("slow"), takes=99), Scripted("B", "ok")
    chain = SearchChain([slow, last], seconds=16, clock=lambda: slow.now)  # type: ignore[list-item]

    with pytest.raises(ToolError, match="B: the time for the search was over"):
        chain.search("q", most=4)

    assert last.asked == []
