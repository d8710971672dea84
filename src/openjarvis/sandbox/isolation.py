"""What this machine can put around a program, found by asking it rather than by its name."""

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from openjarvis.core.errors import ToolError
from openjarvis.sandbox.child import landlock, seccomp
from openjarvis.sandbox.command import BUBBLEWRAP, PROGRAMS, SANDBOX_EXEC, interpreter, wrap
from openjarvis.sandbox.limits import Limits

_EVERYWHERE: Final = ("clean environment", "temporary directory", "resource limits")
_WRAPPERS: Final = {"linux": BUBBLEWRAP, "darwin": SANDBOX_EXEC}
_WHAT_TO_DO: Final = "Use code_interpreter_docker, or set allow_unsandboxed = true."
_NO_BUBBLEWRAP: Final = (
    "bubblewrap: not installed, too old, or not allowed; without it the limit on disk is soft, and "
    "code can tell whether a file exists and how large it is"
)


class SandboxRefused(ToolError):
    """Code that is not run, because a wall is missing; the text says which and what to do."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """The walls around a program.

    `landlock` is the version of its interface, 0 for none; `wrapper` the program that goes around
    the interpreter (`bubblewrap` or `sandbox-exec`), "" for none.
    """

    landlock: int = 0
    seccomp: bool = False
    wrapper: str = ""

    @property
    def isolates_files(self) -> bool:
        """Whether the user's files are out of reach."""
        return bool(self.landlock or self.wrapper)

    @property
    def isolates_network(self) -> bool:
        """Whether every kind of socket is out of reach."""
        return bool(self.seccomp or self.wrapper)

    @property
    def layers(self) -> list[str]:
        """The walls that stand, by name."""
        return [
            *_EVERYWHERE,
            *([f"landlock {self.landlock}"] if self.landlock else []),
            *(["seccomp"] if self.seccomp else []),
            *([self.wrapper] if self.wrapper else []),
        ]

    @property
    def missing(self) -> list[str]:
        """The walls that this system could have and has not, each with what it needs."""
        if sys.platform == "darwin":
            no_wrapper = [] if self.wrapper else ["sandbox-exec: not found in /usr/bin"]
            return [*no_wrapper, "limit on memory: macOS keeps none for a process"]
        if sys.platform != "linux":
            return [f"file and network isolation: openjarvis has none for {sys.platform}"]
        return [
            *([] if self.landlock else ["landlock: needs Linux 5.13 or newer"]),
            *([] if self.seccomp else ["seccomp: needs Linux on x86_64 or aarch64"]),
            *([] if self.wrapper else [_NO_BUBBLEWRAP]),
        ]

    def describe(self) -> dict[str, list[str]]:
        """Return what a result says of its sandbox."""
        return {"layers": self.layers, "missing": self.missing}

    def require(self) -> None:
        """Check that code which nobody has read may run behind these walls.

        Raises:
            SandboxRefused: when files or network are open.
        """
        if not self.isolates_files:
            need = " (Landlock needs Linux 5.13 or newer)" if sys.platform == "linux" else ""
            raise SandboxRefused(
                f"No file isolation on this system{need}: this code could read your files. "
                + _WHAT_TO_DO
            )
        if not self.isolates_network:
            raise SandboxRefused(
                "No network isolation on this system: this code could send out what it reads. "
                + _WHAT_TO_DO
            )


@lru_cache(maxsize=1)
def detect() -> Isolation:
    """Return the walls of this machine; asked once for a process."""
    if sys.platform == "linux":
        found = Isolation(landlock=landlock.abi(), seccomp=seccomp.is_available())
    else:
        found = Isolation()
    wrapper = _WRAPPERS.get(sys.platform, "")
    return replace(found, wrapper=wrapper) if wrapper and _works(wrapper) else found


def _works(wrapper: str) -> bool:
    """Try the wrapper on an interpreter that does nothing: installed is not yet allowed to run."""
    if not shutil.which(PROGRAMS[wrapper]):
        return False
    nothing = [interpreter(), "-I", "-S", "-c", "pass"]
    command = wrap(nothing, wrapper=wrapper, workplace=tempfile.gettempdir(), limits=Limits())
    try:
        done = subprocess.run(  # noqa: S603 - the command is ours
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
