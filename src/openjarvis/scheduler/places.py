"""The places in which runs are carried out at once: so many, and no more."""

from threading import Condition


class Places:
    """A bounded set of runs that are going on; any thread may call any method."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._taken: set[int] = set()
        self._changed = Condition()

    def take(self, run_id: int) -> None:
        """Give a run its place; taking more than there are is allowed, and leaves none free."""
        with self._changed:
            self._taken.add(run_id)

    def leave(self, run_id: int) -> None:
        """Free the place of a run; one that has none is fine."""
        with self._changed:
            self._taken.discard(run_id)
            self._changed.notify_all()

    @property
    def free(self) -> int:
        """How many more runs may begin."""
        with self._changed:
            return max(self._count - len(self._taken), 0)

    @property
    def is_idle(self) -> bool:
        """Whether no run is going on."""
        with self._changed:
            return not self._taken

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Wait until no run is going on; False when `timeout` seconds were not enough."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._taken, timeout)
