"""A sandboxed interpreter as its parent sees it: started, given code, read from, and ended.

Nothing that it says or does is trusted here: every wait has a deadline, every read a bound, and its
end never depends on its good will.
"""

import logging
import marshal
import os
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Final

from openjarvis.core.cancellation import ended_when_cancelled
from openjarvis.sandbox import command
from openjarvis.sandbox.capture import Capture
from openjarvis.sandbox.child.plan import Plan
from openjarvis.sandbox.isolation import Isolation, SandboxRefused
from openjarvis.sandbox.limits import Limits
from openjarvis.sandbox.outcome import Ending, Execution
from openjarvis.sandbox.process import Process
from openjarvis.sandbox.workplace import Workplace

_log = logging.getLogger("openjarvis.sandbox")

_LOOK_AROUND_SECONDS: Final = 0.1
_START_SECONDS: Final = 20.0
_CHUNK: Final = 64 * 1024
_LONGEST_REPLY: Final = 2000
_LONGEST_QUESTION: Final = 16 << 20

Answer = Callable[[str], str]
"""Answers what running code asks; its time is not the code's. What it raises ends the process."""


class _Ended(Exception):
    def __init__(self, ending: Ending) -> None:
        super().__init__(ending)
        self.ending = ending


class Interpreter:
    """A Python inside the walls of `isolation`, ready for code.

    Raises:
        SandboxRefused: when it does not start, or cannot shut itself in.
    """

    def __init__(self, *, isolation: Isolation, limits: Limits) -> None:
        self._limits = limits
        self.answer: Answer | None = None
        self._said = bytearray()
        try:
            # Bubblewrap brings a file system of its own, with a size.
            has_own = isolation.wrapper == command.BUBBLEWRAP
            self._workplace = None if has_own else Workplace()
        except OSError as error:
            raise _not_started(error) from error
        folder = self._workplace.path if self._workplace else command.PRIVATE_WORKPLACE
        line = command.python_command(workplace=folder, wrapper=isolation.wrapper, limits=limits)
        try:
            self._control, theirs = socket.socketpair()
            with theirs:
                self._control.setblocking(False)
                environment = command.environment(folder)
                self._process = Process(line, control=theirs, environment=environment)
        except OSError as error:
            self._remove_workplace()
            raise _not_started(error) from error
        self._listen()
        self._await_ready(command.plan(isolation, workplace=folder, limits=limits))

    @property
    def is_running(self) -> bool:
        """Whether the process is still there."""
        return not self._process.has_exited

    @property
    def bounds_disk(self) -> bool:
        """Whether the bound on its files is ours to keep, by looking, and not the file system's."""
        return self._workplace is not None

    @property
    def is_over_disk(self) -> bool:
        """Whether its files pass their bound now; where the file system keeps it, they cannot."""
        return self._workplace is not None and self._workplace.is_over(
            most_bytes=self._limits.disk_bytes,
            most_entries=self._limits.disk_entries,
            pid=self._process.pid,
        )

    def run(self, source: bytes, *, is_last: bool) -> Execution:
        """Return what `source` gave; with `is_last` the process ends with it, as a program does.

        A process that does not answer in time, floods or fills the disk is killed; so is one whose
        call is given up.
        """
        return self._do(b"F" if is_last else b"R", source, is_last=is_last)

    def define(self, name: str, text: bytes | None) -> Execution:
        """Give the code a text by a name; without one, a function that `answer` answers."""
        kind = b"A" if text is None else b"V"
        return self._do(kind, name.encode() + b"\n" + (text or b""), is_last=False)

    def _do(self, kind: bytes, source: bytes, *, is_last: bool) -> Execution:
        deadline = time.monotonic() + self._limits.timeout_seconds
        try:
            with ended_when_cancelled(self.kill):
                self._send(kind, source, deadline=deadline)
                reply = self._reply(deadline)
            if reply is not None and not is_last:
                self._check_disk()
                return self._result(_code_of(reply), None)
        except _Ended as ended:
            return self._result(self._process.kill(), ended.ending)
        except BaseException:  # interrupted: the code must not go on behind our back
            self._process.kill()
            raise
        code = self._process.kill()
        if code < 0:
            return self._result(code, Ending.CRASHED)
        return self._result(code, None if is_last else Ending.EXITED)

    def kill(self) -> None:
        """End the process; a call that waits for it returns. Any thread may do it, at any time."""
        self._process.kill()

    @property
    def is_ours(self) -> bool:
        """Whether this very process started it, not one that this is a fork of."""
        return self._process.is_ours

    def close(self) -> None:
        """End the process and remove what it left behind; twice is fine.

        Not during a call, for the call reads from what is closed here: see `kill`. A forked copy of
        the process that started it only lets go of its descriptors.
        """
        self._process.close()
        self._selector.close()
        self._control.close()
        if self._process.is_ours:
            self._remove_workplace()

    def _listen(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._streams = [self._captured(pipe) for pipe in self._process.pipes]
        self._selector.register(self._control, selectors.EVENT_READ, self._hear)
        if self._process.exit_fd is not None:
            self._selector.register(self._process.exit_fd, selectors.EVENT_READ, None)

    def _captured(self, pipe: IO[bytes]) -> Capture:
        capture = Capture(pipe, keep=self._limits.output_bytes)
        self._selector.register(pipe, selectors.EVENT_READ, self._reader(pipe, capture))
        return capture

    def _reader(self, pipe: IO[bytes], capture: Capture) -> Callable[[], None]:
        def read() -> None:
            capture.read()
            if not capture.is_open:
                self._selector.unregister(pipe)

        return read

    def _await_ready(self, plan: Plan) -> None:
        deadline = time.monotonic() + _START_SECONDS
        try:
            self._send(b"P", marshal.dumps(dict(plan)), deadline=deadline)
            reply = self._reply(deadline)
        except _Ended:
            reply = None
        except BaseException:  # interrupted: nobody else knows of the process yet
            self.close()
            raise
        if reply == b"ready":
            return
        stderr = self._streams[1].take()[0]
        self.close()
        _log.warning("A sandboxed Python did not start: %r %s", reply, stderr[-2000:])
        # Nobody's code ran yet: what was written is of the wrapper, of Python or of ours.
        last_line = stderr.strip().rpartition("\n")[2]
        said = (reply or b"").decode(errors="replace").removeprefix("refused ") or last_line
        why = said.rstrip(".")[:200] or "it ended at once or did not answer in time"
        raise SandboxRefused(
            f"The sandbox could not be set up, so no code was run: {why}. "
            "'jarvis doctor --sandbox' shows which walls stand here."
        )

    def _send(self, kind: bytes, text: bytes, *, deadline: float) -> None:
        self._hear()
        if self._said:  # it speaks unasked: whatever it is up to, it is not our protocol
            raise _Ended(Ending.CRASHED)
        self._control.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            self._control.sendall(kind + len(text).to_bytes(4, "big") + text)
        except TimeoutError:
            raise _Ended(Ending.TIMED_OUT) from None
        except OSError:
            raise _Ended(Ending.CRASHED) from None

    def _reply(self, deadline: float) -> bytes | None:
        """Return its next line, or None when it exited; all output is read by then."""
        while True:
            self._listen_until(deadline)
            line, found, rest = self._said.partition(b"\n")
            if found and line.startswith(b"ask "):
                deadline = self._consult(line, rest, deadline)
                continue
            if found or self._process.has_exited:
                self._said = rest
                return bytes(line) if found else None
            self._check_bounds()

    def _consult(self, line: bytearray, begun: bytearray, deadline: float) -> float:
        """Answer a question of the code; return the deadline, later by the time that took."""
        size = line.removeprefix(b"ask ")
        if self.answer is None or not size.isdigit() or len(size) > len(str(_LONGEST_QUESTION)):
            raise _Ended(Ending.CRASHED)
        if int(size) > _LONGEST_QUESTION:
            raise _Ended(Ending.FLOODED)
        self._said = begun
        while len(self._said) < int(size):
            if self._process.has_exited:
                raise _Ended(Ending.CRASHED)
            self._listen_until(deadline)
        question, self._said = self._said[: int(size)], self._said[int(size) :]
        asked = time.monotonic()
        answer = self.answer(question.decode(errors="replace")).encode("utf-8", "replace")
        deadline += time.monotonic() - asked
        self._send(b"A", answer, deadline=deadline)
        return deadline

    def _listen_until(self, deadline: float) -> None:
        """Wait a little for anything that it says or writes, and take it."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise _Ended(Ending.TIMED_OUT)
        for key, _ in self._selector.select(min(left, _LOOK_AROUND_SECONDS)):
            if key.data is not None:
                key.data()

    def _check_bounds(self) -> None:
        if any(stream.total > self._limits.flood_bytes for stream in self._streams):
            raise _Ended(Ending.FLOODED)
        if len(self._said) > _LONGEST_REPLY:
            raise _Ended(Ending.CRASHED)
        self._check_disk()

    def _check_disk(self) -> None:
        if self.is_over_disk:
            raise _Ended(Ending.DISK_FULL)

    def _hear(self) -> None:
        try:
            # Not `recv`: it would wait out the time-out that `_send` has set.
            part = os.read(self._control.fileno(), _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            with suppress(KeyError, ValueError):
                self._selector.unregister(self._control)
        self._said += part

    def _result(self, code: int, ending: Ending | None) -> Execution:
        for stream in self._streams:
            stream.drain()
        (out, out_cut), (err, err_cut) = (stream.take() for stream in self._streams)
        return Execution(out, err, code, ending, out_cut or err_cut)

    def _remove_workplace(self) -> None:
        if self._workplace is not None:
            self._workplace.remove()


def _not_started(error: OSError) -> SandboxRefused:
    return SandboxRefused(f"The sandbox did not start: {error.strerror or type(error).__name__}.")


def _code_of(reply: bytes) -> int:
    word, _, number = reply.partition(b" ")
    if word != b"done" or not number.isdigit() or len(number) > 3:
        raise _Ended(Ending.CRASHED)
    return int(number)
