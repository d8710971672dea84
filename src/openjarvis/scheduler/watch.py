"""Who is alive: signs of life of others, timed by this process's own steady clock.

A time in the database says when somebody last gave a sign, in somebody else's clock, and perhaps
before this process slept or lost its connection. How long a sign has stayed the same before our own
eyes needs no clock but ours.
"""

import time
from collections.abc import Hashable, Mapping
from typing import TypeVar

Who = TypeVar("Who", bound=Hashable)


class Watch:
    """The signs of life that were seen; for one thread."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, tuple[object, float]] = {}

    def unchanged_for(self, signs: Mapping[Who, object]) -> dict[Who, float]:
        """Return for how many seconds each of these signs has been the same, as seen from here.

        Whoever is not among them any more is forgotten.
        """
        now = time.monotonic()
        self._seen = {
            who: self._seen[who] if self._seen.get(who, (None,))[0] == sign else (sign, now)
            for who, sign in signs.items()
        }
        return {who: now - self._seen[who][1] for who in signs}
