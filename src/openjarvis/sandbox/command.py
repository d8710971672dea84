"""How a sandboxed interpreter is started: its command line, its environment and what it may see."""

import os
import shutil
import site
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol

from openjarvis.sandbox.child.plan import Plan
from openjarvis.sandbox.limits import Limits

BUBBLEWRAP, SANDBOX_EXEC = "bubblewrap", "sandbox-exec"
PROGRAMS: Final = {BUBBLEWRAP: "bwrap", SANDBOX_EXEC: "sandbox-exec"}
"""The program of each wrapper."""

_LIBRARIES: Final = ("/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_SYSTEM_FILES: Final = ("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo")
_KERNEL_FILES: Final = (
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
)
_KEPT_VARIABLES: Final = ("LANG", "LC_ALL", "TZ", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
PRIVATE_WORKPLACE: Final = "/tmp"  # noqa: S108 - a file system of its own
"""Where a program inside bubblewrap works."""


class Walls(Protocol):
    """What of an isolation decides how a child is started."""

    @property
    def landlock(self) -> int: ...
    @property
    def seccomp(self) -> bool: ...
    @property
    def wrapper(self) -> str: ...


_BOOT: Final = """
import sys
home = sys.modules['openjarvis'] = type(sys)('openjarvis')
home.__path__ = [{home!r}]
from openjarvis.sandbox.child.main import main
main()
"""
"""The package's own `__init__` is passed by: it is not for the inside, and takes time to load."""


def python_command(*, workplace: str, wrapper: str, limits: Limits) -> list[str]:
    """Return the command line of a child that waits for its plan on descriptor 0."""
    python = [interpreter(), "-I", "-S", "-X", "utf8", "-c", _BOOT.format(home=_package())]
    return wrap(python, wrapper=wrapper, workplace=workplace, limits=limits)


def wrap(command: list[str], *, wrapper: str, workplace: str, limits: Limits) -> list[str]:
    """Return `command` inside the wrapper, if there is one."""
    if wrapper == BUBBLEWRAP:
        return [*_bubblewrap(limits), *command]
    if wrapper == SANDBOX_EXEC:
        return ["/usr/bin/sandbox-exec", "-p", macos_profile(workplace), *command]
    return command


def environment(workplace: str) -> dict[str, str]:
    """Return the whole environment of a child: nothing of ours but how text and numbers look."""
    return {
        **{name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
        "HOME": workplace,
        "TMPDIR": workplace,
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


def resource_limits(limits: Limits) -> dict[str, int]:
    """Return the bounds that the kernel keeps, by their names in the `resource` module."""
    # macOS has the name of a limit on memory, but does not let it be set.
    memory = {} if sys.platform == "darwin" else {"RLIMIT_AS": limits.memory_bytes}
    return {
        **memory,
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CORE": 0,
    }


def plan(isolation: Walls, *, workplace: str, limits: Limits) -> Plan:
    """Return what the child does to itself before it takes any code."""
    is_wrapped = isolation.wrapper == BUBBLEWRAP
    return Plan(
        parent=0 if is_wrapped else os.getpid(),
        workplace=workplace,
        readable=[*_readable_files(), *_KERNEL_FILES],
        import_paths=_import_paths(),
        landlock=isolation.landlock,
        seccomp=isolation.seccomp,
        own_filesystem=is_wrapped,
        limits=resource_limits(limits),
        idle_seconds=limits.idle_seconds,
    )


@lru_cache(maxsize=1)
def interpreter() -> str:
    """Return the real path of this Python, past virtual environments and links."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def macos_profile(workplace: str) -> str:
    """Return the `sandbox-exec` profile that leaves the interpreter's files and `workplace`."""
    real = os.path.realpath(workplace)
    readable = " ".join(f"(subpath {_quoted(path)})" for path in _macos_readable())
    return "\n".join(
        [
            "(version 1)",
            "(deny default)",
            '(import "system.sb")',
            "(deny network*)",
            "(deny process-fork)",
            f"(allow process-exec (literal {_quoted(interpreter())}))",
            f"(allow file-read* {readable} (subpath {_quoted(real)}))",
            "(allow file-read-metadata)",
            f'(allow file-write* (subpath {_quoted(real)}) (literal "/dev/null"))',
            "(allow signal (target self))",
        ]
    )


def _macos_readable() -> list[str]:
    system = ["/usr/lib", "/System/Library", "/private/var/db/timezone", "/usr/share/zoneinfo"]
    return [*system, *_readable_files(), _package()]


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _bubblewrap(limits: Limits) -> list[str]:
    program = shutil.which(PROGRAMS[BUBBLEWRAP]) or PROGRAMS[BUBBLEWRAP]
    return [
        program,
        *_FIXED_OPTIONS,
        # Before the mounts, which it would cover: the package or Python may lie under it.
        *("--size", str(limits.disk_bytes), "--tmpfs", PRIVATE_WORKPLACE),
        *_mounts(),
        *("--chdir", PRIVATE_WORKPLACE, "--"),
    ]


_FIXED_OPTIONS: Final = (
    *("--unshare-user-try", "--unshare-ipc", "--unshare-pid", "--unshare-net"),
    *("--unshare-uts", "--unshare-cgroup-try", "--die-with-parent"),
    *("--proc", "/proc", "--dev", "/dev"),
)


@lru_cache(maxsize=1)
def _mounts() -> tuple[str, ...]:
    options: list[str] = []
    seen: list[str] = []
    for path in sorted([*_readable_files(), interpreter(), _package()]):
        if Path(path).is_symlink() and Path(path).parent == Path("/"):
            options += ["--symlink", str(Path(path).readlink()), path]
        elif Path(path).exists() and not any(Path(path).is_relative_to(one) for one in seen):
            options += ["--ro-bind", path, path]
            seen.append(path)
    return tuple(options)


@lru_cache(maxsize=1)
def _readable_files() -> list[str]:
    """Return what an interpreter must see: libraries, its own modules and installed packages."""
    own = [str(Path(sys.base_prefix, name)) for name in ("lib", "lib64", "Python")]
    return list(dict.fromkeys([*_LIBRARIES, *_SYSTEM_FILES, *own, *_import_paths()]))


@lru_cache(maxsize=1)
def _import_paths() -> list[str]:
    """Return the folders of installed packages; never the user's own source trees."""
    paths = sysconfig.get_paths()
    installed = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    return [path for path in dict.fromkeys(installed) if Path(path).is_dir()]


@lru_cache(maxsize=1)
def _package() -> str:
    return str(Path(__file__).parents[1])
