"""A child process that is certain to end: started in a group of its own, killed with all of it."""

import os
import signal
import socket
import subprocess
from contextlib import suppress
from threading import RLock
from typing import IO

from openjarvis.sandbox import spawner


class Process:
    """A program with an empty environment but `environment`, and `control` as its standard input.

    Raises:
        OSError: when it cannot be started.
    """

    def __init__(
        self, command: list[str], *, control: socket.socket, environment: dict[str, str]
    ) -> None:
        self._owner = os.getpid()
        self._ending = RLock()
        self._popen = spawner.start(
            lambda: subprocess.Popen(  # noqa: S603 - the command is ours
                command,
                stdin=control.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd="/",
                env=environment,
                start_new_session=True,
            )
        )
        self.exit_fd = _exit_fd(self._popen.pid)
        """A descriptor that becomes readable when the process exits, where there are such."""

    @property
    def pid(self) -> int:
        """Its number, or that of the wrapper around it."""
        return self._popen.pid

    @property
    def pipes(self) -> list[IO[bytes]]:
        """Standard output and standard error, to be read."""
        return [pipe for pipe in (self._popen.stdout, self._popen.stderr) if pipe is not None]

    @property
    def is_ours(self) -> bool:
        """Whether it was started by this very process, not by one that this is a fork of."""
        return self._owner == os.getpid()

    @property
    def has_exited(self) -> bool:
        """Whether it is dead; it stays unreaped, so that its number stays taken."""
        if self._popen.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            return self._popen.poll() is not None
        try:
            state = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return state is not None

    def kill(self) -> int:
        """End it and all of its group, now, and return its exit code; twice is fine."""
        if self.is_ours:  # in a fork the lock may be held by a thread that was not copied
            with self._ending:
                self._end()
        return _exit_code(self._popen.returncode)

    def _end(self) -> None:
        if self._popen.returncode is None:
            # Before it is reaped, for until then its number cannot be anybody else's.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.wait()

    def close(self) -> None:
        """End it and let go of its descriptors; twice is fine."""
        self.kill()
        for pipe in self.pipes:
            pipe.close()
        if self.exit_fd is not None:
            os.close(self.exit_fd)
            self.exit_fd = None


def _exit_fd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _exit_code(code: int | None) -> int:
    """Return the code of a dead process; bubblewrap tells a signal as 128 and its number."""
    if code is None or code <= 128:
        return code or 0
    return 128 - code if code - 128 in set(signal.Signals) else code
