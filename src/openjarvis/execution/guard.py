"""A model that asks for the same thing again and again is told so instead of served again."""

from collections import OrderedDict
from typing import Any

MAX_REPEATS = 3
"""The same call with the same result may run this often in one run."""

_REMEMBERED = 1_024


class RepeatGuard:
    """Counts, for one run, how often a call gave the same result.

    Calls that run in parallel may use it at the same time; the count is then a lower bound.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()

    def allows(self, key: tuple[str, str]) -> bool:
        """Tell whether the call may run once more."""
        seen = self._seen.get(key)
        return seen is None or seen[1] < MAX_REPEATS

    def saw(self, key: tuple[str, str], result: str) -> None:
        """Note what the call gave; another result than before starts the count anew."""
        digest = hash(result)
        seen = self._seen.get(key)
        count = seen[1] + 1 if seen is not None and seen[0] == digest else 1
        self._seen[key] = (digest, count)
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)


def call_key(name: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """Return what makes two calls the same: tool and arguments, whatever their order."""
    if len(arguments) < 2:
        return name, repr(arguments)
    return name, repr(sorted(arguments.items()))


def repeated_text(name: str) -> str:
    """Return what the model is told instead of the result."""
    return (
        f"Not run: {name} was called {MAX_REPEATS} times with these arguments and gave the same "
        "result each time. Use that result, or call with other arguments."
    )
