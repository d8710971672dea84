"""Sessions by name: opened when first asked for, the longest unused closed when there are many."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from openjarvis.core.errors import ToolError
from openjarvis.sandbox.outcome import Execution
from openjarvis.sandbox.session import Sandbox, Session


@dataclass(slots=True)
class _Named:
    session: Session
    count: int = 0
    callers: int = 0
    """How many calls are being made or wait for their turn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One call of a session: its result, its number, and whether an earlier session had ended."""

    execution: Execution
    count: int
    is_new_after_end: bool


class Sessions:
    """At most `most` open sessions of one sandbox; any thread may call."""

    def __init__(self, sandbox: Sandbox, *, most: int) -> None:
        if most < 1:
            raise ValueError(f"max_sessions must be 1 or more, got {most}")
        self._sandbox = sandbox
        self._most = most
        self._open: OrderedDict[str, _Named] = OrderedDict()
        self._lock = Lock()

    def run(self, name: str, code: str) -> Turn:
        """Run `code` in the session of this name, which is opened if there is none.

        Raises:
            SandboxRefused: when a session cannot be opened.
            ToolError: when there are `most` already and each is in the middle of a call.
        """
        with self._lock:
            named, is_new_after_end = self._get(name)
            named.callers += 1
        try:
            execution = named.session.run(code)
        finally:
            with self._lock:
                named.callers -= 1
                if self._open.get(name) is named:
                    self._open.move_to_end(name)
        with self._lock:
            named.count += 1
            return Turn(execution, named.count, is_new_after_end)

    def reset(self, name: str) -> None:
        """End the session of this name; one that never was is fine."""
        with self._lock:
            named = self._open.pop(name, None)
        if named is not None:
            named.session.close()

    def close(self) -> None:
        """End them all."""
        for name in list(self._open):
            self.reset(name)

    def _get(self, name: str) -> tuple[_Named, bool]:
        # Called under the lock: two first calls of one name must meet in one session.
        ended = [key for key, named in self._open.items() if not named.session.is_open]
        for key in ended:
            gone = self._open.pop(key)
            if not gone.callers:  # a call that is ending its session tells itself why
                gone.session.close()
        if name in self._open:
            return self._open[name], False
        while len(self._open) >= self._most:
            self._close_longest_idle()
        named = self._open[name] = _Named(self._sandbox.open())
        return named, name in ended

    def _close_longest_idle(self) -> None:
        idle = next((key for key, named in self._open.items() if not named.callers), None)
        if idle is None:
            raise ToolError(
                f"All {self._most} Python sessions are running code, so no other can be opened. "
                "Use one of them, or try again when one is done."
            )
        self._open.pop(idle).session.close()
