"""What hostile code tries, against every combination of walls that this machine has.

The same attacks run without walls too, where they must succeed: an attack that fails by a mistake
of its own would prove nothing.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from openjarvis.sandbox import report
from openjarvis.sandbox.attacks import ATTACKS, FILES, NETWORK, PROCESSES, Attack
from openjarvis.sandbox.isolation import Isolation, detect
from openjarvis.sandbox.outcome import Ending
from openjarvis.sandbox.session import Sandbox
from openjarvis.sandbox.targets import Targets

SOURCE = Path(__file__).parents[2] / "src"
KERNEL_ONLY = Isolation(landlock=detect().landlock, seccomp=detect().seccomp)
WRAPPER_ONLY = Isolation(wrapper=detect().wrapper)
NOTHING = Isolation()

SEEN_WITHOUT_BUBBLEWRAP = {"learn whether a file exists"}
CONTAINED_BY_BUBBLEWRAP = {
    # What is started stays inside: the next test but one watches it die.
    "start a process",
    "run a program",
    "leave the process group",
    "make a namespace",
}
STOPPED_EVEN_SO = {
    # Our environment is never passed on, and as root the child gives up its privileges first.
    "read our environment",
    *({"read a process's environment", "read a process's memory"} if os.getuid() == 0 else ()),
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's")
needs_bubblewrap = pytest.mark.skipif(not detect().wrapper, reason="bubblewrap does not run here")


@pytest.fixture(scope="module")
def targets() -> Iterator[Targets]:
    with Targets() as laid_out:
        yield laid_out


def named(attacks: tuple[Attack, ...]) -> list[object]:
    return [pytest.param(attack, id=attack.name) for attack in attacks]


@pytest.mark.parametrize("attack", named(ATTACKS))
def test_all_walls_together_stop_every_attack(attack: Attack, targets: Targets) -> None:
    if not detect().wrapper and attack.name in SEEN_WITHOUT_BUBBLEWRAP:
        pytest.skip("bubblewrap does not run here")

    assert report.holds(detect(), attack, targets)


@pytest.mark.parametrize("attack", named(ATTACKS))
def test_the_kernel_alone_stops_all_but_looking_for_names(attack: Attack, targets: Targets) -> None:
    holds = report.holds(KERNEL_ONLY, attack, targets)

    assert holds is (attack.name not in SEEN_WITHOUT_BUBBLEWRAP)


@pytest.mark.skipif(detect().landlock < 6, reason="Landlock learned it with version 6")
@pytest.mark.parametrize("name", ["signal a process", "reach an abstract socket"])
def test_landlock_alone_keeps_signals_and_abstract_sockets_inside(
    name: str, targets: Targets
) -> None:
    (attack,) = [attack for attack in ATTACKS if attack.name == name]

    assert report.holds(Isolation(landlock=detect().landlock), attack, targets)


@needs_bubblewrap
@pytest.mark.parametrize("attack", named((*FILES, *PROCESSES, *NETWORK)))
def test_bubblewrap_alone_stops_all_that_reaches_outside(attack: Attack, targets: Targets) -> None:
    holds = report.holds(WRAPPER_ONLY, attack, targets)

    assert holds is (attack.name not in CONTAINED_BY_BUBBLEWRAP)


@pytest.mark.parametrize("attack", named((*FILES, *PROCESSES, *NETWORK)))
def test_the_attacks_are_real_without_walls_they_succeed(attack: Attack, targets: Targets) -> None:
    holds = report.holds(NOTHING, attack, targets)

    assert holds is (attack.name in STOPPED_EVEN_SO)


@pytest.mark.parametrize("attack", named(ATTACKS))
def test_a_plain_interpreter_would_let_it_all_happen(
    attack: Attack, targets: Targets, tmp_path: Path
) -> None:
    if attack.name == "take 10 GB of memory":
        pytest.skip("it would take them")

    code = attack.code
    for much, little in {"10_000)": "30)", "range(64)": "range(2)", "(10)": "(0.1)"}.items():
        code = code.replace(much, little)

    done = subprocess.run(
        [sys.executable, "-c", targets.prelude + code],
        capture_output=True,
        cwd=tmp_path,
        timeout=30,
    )

    wrote_much = len(done.stdout) == 30 << 20
    assert wrote_much or b"OPEN" in done.stdout, done.stderr.decode()


PROGRAM_OF_AN_ORDINARY_USER = """
    import json, sys
    sys.dont_write_bytecode = True
    sys.path.insert(0, sys.argv[1])
    from openjarvis.sandbox import report
    from openjarvis.sandbox.isolation import Isolation, detect
    kernel = Isolation(landlock=detect().landlock, seccomp=detect().seccomp)
    rows = report.rows([detect(), kernel, Isolation()])
    print(json.dumps({row.attack: row.held for row in rows}))
"""


def can_be_used_by_anyone(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in (path, *path.parents))


@pytest.mark.skipif(os.getuid() != 0, reason="the tests above ran as an ordinary user already")
def test_it_holds_for_an_ordinary_user_too() -> None:
    setpriv, python = shutil.which("setpriv"), "/usr/bin/python3"
    if setpriv is None or not Path(python).exists() or not can_be_used_by_anyone(SOURCE):
        pytest.skip("needs setpriv, a Python and a source tree that anyone may read")

    done = subprocess.run(
        [
            *(setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"),
            *(python, "-c", textwrap.dedent(PROGRAM_OF_AN_ORDINARY_USER), str(SOURCE)),
        ],
        capture_output=True,
        cwd="/",
        check=True,
        timeout=120,
    )
    held = json.loads(done.stdout)

    assert {name for name, (everything, _, _) in held.items() if not everything} <= (
        set() if detect().wrapper else SEEN_WITHOUT_BUBBLEWRAP
    )
    assert {name for name, (_, kernel, _) in held.items() if not kernel} == SEEN_WITHOUT_BUBBLEWRAP
    stopped = {name for name, (_, _, nothing) in held.items() if nothing}
    assert stopped & {one.name for one in (*FILES, *PROCESSES, *NETWORK)} == {
        "read our environment"
    }


SURVIVOR = """
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for fd in range(3): os.close(fd)
            time.sleep(60)
        os._exit(0)
    print("left one behind", flush=True)
    time.sleep(60)
"""


@needs_bubblewrap
def test_what_was_forked_twice_dies_with_the_namespace(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mark = f"OJ-{tmp_path}"
    monkeypatch.setenv("TZ", mark)

    execution = Sandbox(report.LIMITS, isolation=WRAPPER_ONLY, allow_unsandboxed=True).run(
        textwrap.dedent(SURVIVOR)
    )

    assert execution.stdout == "left one behind\n"
    assert execution.ending is Ending.TIMED_OUT
    # The kernel ends a namespace's processes after its first one, not at the same moment.
    gone = threading.Event()
    assert any(not survivors(mark) or gone.wait(0.05) for _ in range(200))


def survivors(mark: str) -> list[str]:
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in environ.read_bytes() and environ.parent.name != str(os.getpid()):
                found.append((environ.parent / "status").read_text())
        except OSError:
            continue
    return [status for status in found if "zombie" not in status]


MORE_ATTACKS = {
    "datagram pair to a bound socket": "import socket; socket.socketpair(type=socket.SOCK_DGRAM)",
    "netlink": "import socket; socket.socket(16, 3, 0)",
    "raw packets": "import socket; socket.socket(17, 3, 0)",
    "vsock": "import socket; socket.socket(40, 1, 0)",
    "io_uring, which opens sockets by itself": "syscall(425, 8, 0)",
    "a signal by the owner of a file": "import fcntl; fcntl.fcntl(0, fcntl.F_SETOWN, 1)",
    "ptrace": "syscall(101, 16, 1, 0, 0)",
    "memory of another process": "syscall(310, 1, 0, 0, 0, 0, 0)",
    "a file without a name in memory": "syscall(319, 0, 0)",
    "mount": "syscall(165, 0, 0, 0, 0, 0)",
    "a new mount": "syscall(430, 0, 0)",
    "setns": "syscall(308, 0, 0)",
    "chroot": "import os; os.chroot('.')",
    "eBPF": "syscall(321, 0, 0, 0)",
    "the keyring": "syscall(248, 0, 0, 0, 0)",
    "performance counters": "syscall(298, 0, 0, 0, 0)",
    "user faults": "syscall(323, 0)",
    "higher limits": "import resource; resource.setrlimit(resource.RLIMIT_CPU, (9999, 9999))",
    "limits of another process": "import resource; resource.prlimit(1, resource.RLIMIT_CPU)",
    "real-time priority": "import os; os.sched_setscheduler(0, 1, os.sched_param(1))",
    "another process's processors": "import os; os.sched_setaffinity(1, {0})",
    "shared memory": "syscall(29, 0, 4096, 0o1600)",
    "a device": "import os; os.mknod('disk', 0o60600, os.makedev(254, 0))",
    "a socket in the file system": "import os; os.mknod('s', 0o140600)",
    "another root": "open('/proc/1/root/etc/passwd')",
    "the kernel's log": "open('/dev/kmsg')",
    "devices": "import os; os.listdir('/dev/disk')",
    "a process by its handle": "import os; os.pidfd_open(1)",
    "a terminal": "open('/dev/tty')",
    "another user": "import os; os.setuid(1)",
    "privileges back": "syscall(126, 0, 0)",
    "a hard link to a file outside": "import os; os.link('/etc/passwd', 'mine')",
    "the system's files": "open('/etc/passwd')",
    "the folder above": "import os; os.listdir('..')",
    "the source of this project": "import openjarvis.cli",
}

PREAMBLE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)

def syscall(number, *arguments):
    words = [ctypes.c_long(one) for one in (number, *arguments)]
    if libc.syscall(*words) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
@pytest.mark.parametrize("isolation", [detect(), KERNEL_ONLY], ids=["all", "kernel"])
@pytest.mark.parametrize("attack", MORE_ATTACKS)
def test_doors_that_a_program_does_not_need_are_shut(attack: str, isolation: Isolation) -> None:
    sandbox = Sandbox(report.LIMITS, isolation=isolation)

    execution = sandbox.run(f"{PREAMBLE}{MORE_ATTACKS[attack]}\nprint('OPEN')")

    assert "OPEN" not in execution.stdout
    assert "Error" in execution.stderr


@pytest.mark.parametrize("isolation", [detect(), KERNEL_ONLY], ids=["all", "kernel"])
def test_threads_without_end_stay_in_their_memory(isolation: Isolation) -> None:
    execution = Sandbox(report.LIMITS, isolation=isolation).run(
        "import threading\nthreading.stack_size(32768)\nstop = threading.Event()\nstarted = 0\n"
        "try:\n    while started < 100_000:\n"
        "        threading.Thread(target=stop.wait, daemon=True).start()\n        started += 1\n"
        "finally:\n    print(started)"
    )

    assert execution.ending is not None or execution.returncode != 0


def test_links_in_the_workplace_lead_the_cleaner_nowhere(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("still here")

    Sandbox(report.LIMITS, isolation=KERNEL_ONLY).run(
        f"import os\nos.symlink({str(kept)!r}, 'link')\nos.mkdir('closed')\n"
        f"os.symlink({str(kept)!r}, 'closed/link')"
    )

    assert (kept / "file").read_text() == "still here"
