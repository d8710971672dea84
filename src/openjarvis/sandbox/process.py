"""A sandboxed interpreter as its parent sees it: started, spoken to, read from, and ended.

Nothing that the child says or does is trusted here: every wait has a deadline, every read a bound,
and the end of the process never depends on the child's good will.
"""

import logging
import marshal
import os
import selectors
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, Final

from openjarvis.sandbox import command, disk, spawner
from openjarvis.sandbox.capture import Capture
from openjarvis.sandbox.isolation import Isolation, SandboxRefused
from openjarvis.sandbox.limits import Limits

_log = logging.getLogger("openjarvis.sandbox")

_LOOK_AROUND_SECONDS: Final = 0.1
_START_SECONDS: Final = 20.0
_CHUNK: Final = 64 * 1024
_LONGEST_REPLY: Final = 2000
_LONGEST_QUESTION: Final = 16 << 20

Answer = Callable[[str], str]
"""Answers what running code asks; its time is not the code's. What it raises ends the process."""


class Ending(StrEnum):
    """Why a process is no more, when it did not end as a program does."""

    TIMED_OUT = "timed out"
    FLOODED = "wrote too much output"
    DISK_FULL = "wrote too much to disk"
    CRASHED = "crashed"
    EXITED = "ended itself"


@dataclass(frozen=True, slots=True)
class Execution:
    """What running a piece of code gave.

    `returncode` is 0 when all went well, 1 after an exception, negative after a signal; `ending` is
    None unless the process was ended or crashed. `is_cut` says that output was let go.
    """

    stdout: str
    stderr: str
    returncode: int
    ending: Ending | None = None
    is_cut: bool = False


class _Ended(Exception):
    def __init__(self, ending: Ending) -> None:
        super().__init__(ending)
        self.ending = ending


class Child:
    """One interpreter inside the walls of `isolation`, ready for code when this returns.

    Raises:
        SandboxRefused: when it does not start, or cannot shut itself in.
    """

    def __init__(self, *, isolation: Isolation, limits: Limits) -> None:
        self._limits = limits
        self.answer: Answer | None = None
        self._owner = os.getpid()
        self._has_own_disk = isolation.wrapper == command.BUBBLEWRAP
        self._workplace = "" if self._has_own_disk else tempfile.mkdtemp(prefix="openjarvis-")
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        try:
            self._process = _spawn(theirs, isolation, limits, self._workplace)
        except OSError as error:
            self._control.close()
            self._remove_workplace()
            raise SandboxRefused(f"The sandbox did not start: {error.strerror}.") from error
        finally:
            theirs.close()
        self._said = bytearray()
        self._selector = selectors.DefaultSelector()
        self._pipes = [pipe for pipe in (self._process.stdout, self._process.stderr) if pipe]
        self._streams = [self._listen(pipe) for pipe in self._pipes]
        self._selector.register(self._control, selectors.EVENT_READ, self._hear)
        self._exit_fd = _exit_fd(self._process.pid)
        if self._exit_fd is not None:
            self._selector.register(self._exit_fd, selectors.EVENT_READ, None)
        self._await_ready(isolation)

    @property
    def is_running(self) -> bool:
        """Whether the process is still there."""
        return self._process.returncode is None and not _has_exited(self._process)

    def run(self, source: bytes, *, is_last: bool) -> Execution:
        """Return what `source` gave; with `is_last` the process ends with it, as a program does.

        A process that does not answer in time, floods or fills the disk is killed.
        """
        return self._do(b"F" if is_last else b"R", source, is_last=is_last)

    def define(self, name: str, text: bytes | None) -> Execution:
        """Give the code a text by a name; without one, a function that `answer` answers."""
        kind = b"A" if text is None else b"V"
        return self._do(kind, name.encode() + b"\n" + (text or b""), is_last=False)

    def _do(self, kind: bytes, source: bytes, *, is_last: bool) -> Execution:
        deadline = time.monotonic() + self._limits.timeout_seconds
        try:
            self._send(kind, source, deadline=deadline)
            reply = self._reply(deadline)
            if reply is not None and not is_last:
                return self._result(_code_of(reply), None)
        except _Ended as ended:
            self.kill()
            return self._result(_exit_code(self._process), ended.ending)
        except BaseException:  # interrupted: the code must not go on behind our back
            self.kill()
            raise
        self.kill()
        code = _exit_code(self._process)
        if code < 0:
            return self._result(code, Ending.CRASHED)
        return self._result(code, None if is_last else Ending.EXITED)

    def kill(self) -> None:
        """End the process and all of its group, now; twice is fine."""
        if self._process.returncode is None and self._owner == os.getpid():
            # Before it is reaped, for until then its number cannot be anybody else's.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def close(self) -> None:
        """End the process and remove what it left behind; twice is fine.

        A forked copy of the process that started this one only lets go of its descriptors.
        """
        self.kill()
        self._selector.close()
        self._control.close()
        for pipe in self._pipes:
            pipe.close()
        if self._exit_fd is not None:
            os.close(self._exit_fd)
            self._exit_fd = None
        self._remove_workplace()

    def _await_ready(self, isolation: Isolation) -> None:
        plan = command.plan(
            workplace=self._workplace,
            landlock=isolation.landlock,
            seccomp=isolation.seccomp,
            wrapper=isolation.wrapper,
            limits=self._limits,
        )
        deadline = time.monotonic() + _START_SECONDS
        try:
            orders = marshal.dumps(dict(plan))
            self._send(b"P", orders, deadline=deadline)
            reply = self._reply(deadline)
        except _Ended:
            reply = None
        if reply == b"ready":
            return
        stderr = self._streams[1].take()[0]
        self.close()
        _log.warning("A sandboxed Python did not start: %r %s", reply, stderr[-2000:])
        why = (reply or b"").decode(errors="replace").removeprefix("refused ")
        raise SandboxRefused(f"The sandbox could not be set up, so no code was run. {why}".strip())

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
        """Return the child's next line, or None when it exited; all output is read by then."""
        while True:
            self._listen_until(deadline)
            line, found, rest = self._said.partition(b"\n")
            if found and line.startswith(b"ask "):
                deadline = self._consult(line, rest, deadline)
                continue
            if found or _has_exited(self._process):
                for stream in self._streams:
                    stream.drain()
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
            if _has_exited(self._process):
                raise _Ended(Ending.CRASHED)
            self._listen_until(deadline)
        question, self._said = self._said[: int(size)], self._said[int(size) :]
        asked = time.monotonic()
        answer = self.answer(question.decode(errors="replace")).encode("utf-8", "replace")
        deadline += time.monotonic() - asked
        self._send(b"A", answer, deadline=deadline)
        return deadline

    def _check_bounds(self) -> None:
        if any(stream.total > self._limits.flood_bytes for stream in self._streams):
            raise _Ended(Ending.FLOODED)
        if len(self._said) > _LONGEST_REPLY:
            raise _Ended(Ending.CRASHED)
        if not self._has_own_disk and disk.is_over(
            self._workplace,
            most_bytes=self._limits.disk_bytes,
            most_entries=self._limits.disk_entries,
        ):
            raise _Ended(Ending.DISK_FULL)

    def _listen(self, stream: IO[bytes]) -> Capture:
        capture = Capture(stream.fileno(), keep=self._limits.output_bytes)
        self._selector.register(stream, selectors.EVENT_READ, self._reader(stream, capture))
        return capture

    def _reader(self, stream: IO[bytes], capture: Capture) -> Callable[[], None]:
        def read() -> None:
            capture.read()
            if not capture.is_open:
                self._selector.unregister(stream)

        return read

    def _listen_until(self, deadline: float) -> None:
        """Wait a little for anything that the child says or writes, and take it."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise _Ended(Ending.TIMED_OUT)
        for key, _ in self._selector.select(min(left, _LOOK_AROUND_SECONDS)):
            if key.data is not None:
                key.data()

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
        if self._workplace and self._owner == os.getpid():
            disk.remove(self._workplace)


def _spawn(
    control: socket.socket, isolation: Isolation, limits: Limits, workplace: str
) -> "subprocess.Popen[bytes]":
    inside = command.workplace_inside(workplace, wrapper=isolation.wrapper)
    python = command.python_command(workplace=workplace, wrapper=isolation.wrapper, limits=limits)
    return spawner.start(
        lambda: subprocess.Popen(  # noqa: S603 - the command is ours
            python,
            stdin=control.fileno(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd="/",
            env=command.environment(inside),
            start_new_session=True,
        )
    )


def _exit_fd(pid: int) -> int | None:
    """Return a descriptor that becomes readable when the process exits, where there are such."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _has_exited(process: "subprocess.Popen[bytes]") -> bool:
    """Tell whether the process is dead, leaving it unreaped so that its number stays taken."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        state = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return state is not None


def _exit_code(process: "subprocess.Popen[bytes]") -> int:
    """Return the code of a dead process; bubblewrap tells a signal as 128 and its number."""
    code = process.returncode
    if code is None or code <= 128:
        return code or 0
    return 128 - code if code - 128 in set(signal.Signals) else code


def _code_of(reply: bytes) -> int:
    word, _, number = reply.partition(b" ")
    if word != b"done" or not number.isdigit() or len(number) > 3:
        raise _Ended(Ending.CRASHED)
    return int(number)
