"""The doorway of the sandbox: run one snippet, or keep a session whose state lives on."""

import sys
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from threading import RLock, Thread
from typing import Final

from openjarvis.core.errors import ToolError
from openjarvis.sandbox.interpreter import Answer, Interpreter
from openjarvis.sandbox.isolation import Isolation, SandboxRefused, detect
from openjarvis.sandbox.limits import Limits
from openjarvis.sandbox.outcome import Ending, Execution

_WATCH_SECONDS: Final = 0.5


class Sandbox:
    """Runs Python that nobody has read, behind the walls that this machine has.

    Without walls around files and network it refuses, unless `allow_unsandboxed` says that the user
    has decided otherwise.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        isolation: Isolation | None = None,
        allow_unsandboxed: bool = False,
    ) -> None:
        self.limits = limits or Limits()
        self._given = isolation
        self._allow_unsandboxed = allow_unsandboxed

    @property
    def isolation(self) -> Isolation:
        """The walls that code of this sandbox runs behind."""
        return self._given if self._given is not None else detect()

    def run(self, code: str) -> Execution:
        """Return what `code` gave as a program of its own.

        Raises:
            SandboxRefused: when a wall is missing or could not be put up.
            ToolError: when `code` is no text that Python could read.
        """
        source = _encoded(code)
        interpreter = self._start()
        try:
            return interpreter.run(source, is_last=True)
        finally:
            interpreter.close()

    def open(self) -> "Session":
        """Return a new session; it ends with `close`, with this process, or when it is dropped.

        Raises:
            SandboxRefused: when a wall is missing or could not be put up.
        """
        return Session(self._start())

    def _start(self) -> Interpreter:
        if sys.platform == "win32":
            raise SandboxRefused("Python code is not run on Windows. Use code_interpreter_docker.")
        isolation = self.isolation
        if not self._allow_unsandboxed:
            isolation.require()
        return Interpreter(isolation=isolation, limits=self.limits)


class Session:
    """An interpreter that keeps its state between calls; calls from several threads take turns."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._turn = RLock()
        self._was_closed = False
        self._end = weakref.finalize(self, _end, interpreter, self._turn)
        if interpreter.bounds_disk:
            Thread(
                target=_watch, args=(weakref.ref(self),), name="sandbox-watch", daemon=True
            ).start()

    @property
    def is_open(self) -> bool:
        """Whether another call can be made."""
        return self._end.alive and self._interpreter.is_running

    def run(self, code: str) -> Execution:
        """Return what `code` gave; one that had to be ended, or crashed, ends the session.

        Raises:
            ToolError: when `code` is no text that Python could read.
        """
        source = _encoded(code)
        return self._in_turn(lambda: self._interpreter.run(source, is_last=False))

    def define(self, name: str, text: str) -> Execution:
        """Make `text` a variable of the session; it is not compiled, so it may be long.

        Raises:
            ToolError: when `text` is no text that Python could read.
        """
        source = _encoded(text)
        return self._in_turn(lambda: self._interpreter.define(name, source))

    def connect(self, name: str, answer: Answer) -> Execution:
        """Give the session a function `name(text)` that returns what `answer(text)` returns here.

        `answer` is called in the thread that called `run`; its time does not count as the code's.
        What it raises ends the session. A session has one such function.
        """
        self._interpreter.answer = answer
        return self._in_turn(lambda: self._interpreter.define(name, None))

    def _in_turn(self, step: Callable[[], Execution]) -> Execution:
        with self._turn:
            if not self.is_open:
                return Execution("", "", 1, Ending.CLOSED if self._was_closed else Ending.EXITED)
            execution = step()
            if execution.ending is None:
                return execution
            self._end()
            return replace(execution, ending=Ending.CLOSED) if self._was_closed else execution

    def close(self) -> None:
        """End the interpreter, also in the middle of a call of another thread; twice is fine."""
        self._was_closed = True
        self._end()

    def end_if_over(self) -> bool:
        """End it when its files pass their bound between two calls; tell whether it goes on."""
        if not self._turn.acquire(blocking=False):
            return True  # a call looks for itself
        try:
            if self.is_open and self._interpreter.is_over_disk:
                self._end()
            return self.is_open
        finally:
            self._turn.release()


def _watch(session_of: "weakref.ref[Session]") -> None:
    """Look at a session between its calls: a thread that the code started may go on writing."""
    while True:
        time.sleep(_WATCH_SECONDS)
        session = session_of()
        if session is None or not session.end_if_over():
            return
        del session  # or it could not end by being dropped


def _end(interpreter: Interpreter, turn: RLock) -> None:
    interpreter.kill()
    if not interpreter.is_ours:  # in a fork the turn may be a thread's that was not copied
        interpreter.close()
        return
    # A call that is being made still reads; what it reads from is closed when it has returned.
    with turn:
        interpreter.close()


def _encoded(code: str) -> bytes:
    try:
        return code.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"The code is not valid text: character {error.start} is half of a surrogate pair."
        ) from error
