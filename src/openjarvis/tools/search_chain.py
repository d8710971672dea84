"""Providers asked in order until one answers; one that keeps failing is left alone for a while."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

from openjarvis.core.errors import ToolError
from openjarvis.tools.search_providers import Provider, SearchFailed, SearchResult

_FAILURES_THAT_OPEN = 2
_SECONDS_LEFT_ALONE = 60.0
_LEAST_SECONDS = 0.5


@dataclass(slots=True)
class _Breaker:
    """How a provider has done lately."""

    failures: int = 0
    open_until: float = 0.0


class SearchChain:
    """Asks the first provider; the next one when it fails. Any thread may search."""

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        seconds: float = 20.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Give all providers together `seconds` for one search."""
        self._providers = tuple(providers)
        self._seconds = seconds
        self._clock = clock
        self._breakers = {provider.name: _Breaker() for provider in self._providers}
        self._lock = Lock()

    def search(self, query: str, *, most: int) -> tuple[list[SearchResult], str]:
        """Return what was found, `most` at most, and the name of the provider that answered.

        Raises:
            ToolError: when none answers; the text says what each one's matter was.
        """
        ends = self._clock() + self._seconds
        reasons: list[str] = []
        for number, provider in enumerate(self._providers):
            try:
                share = self._share(ends, among=len(self._providers) - number)
                found = self._ask(provider, query, most=most, seconds=share)
            except SearchFailed as failure:
                reasons.append(f"{provider.name}: {failure}")
                continue
            return found[:most], provider.name
        raise ToolError("Search failed. " + "; ".join(reasons) + ".")

    def _share(self, ends: float, *, among: int) -> float:
        """Return the seconds for the next provider, so that those after it have some left."""
        left = ends - self._clock()
        if left < _LEAST_SECONDS:
            raise SearchFailed("the time for the search was over")
        return left if among == 1 else max(_LEAST_SECONDS, left / 2)

    def _ask(
        self, provider: Provider, query: str, *, most: int, seconds: float
    ) -> list[SearchResult]:
        breaker = self._breakers[provider.name]
        if self._clock() < breaker.open_until:
            raise SearchFailed("failed a moment ago and is left alone for a minute")
        try:
            found = provider.search(query, most=most, seconds=seconds)
        except SearchFailed:
            with self._lock:
                breaker.failures += 1
                if breaker.failures >= _FAILURES_THAT_OPEN:
                    breaker.open_until = self._clock() + _SECONDS_LEFT_ALONE
            raise
        breaker.failures = 0
        return found
