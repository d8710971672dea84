"""What hostile code would try, written so that anyone can watch it fail on their machine.

Each attack is a snippet that prints `OPEN` when it got what it wanted. They are harmless where they
succeed: they touch only what `targets.Targets` has laid out for them.
"""

from dataclasses import dataclass
from textwrap import dedent
from typing import Final


@dataclass(frozen=True, slots=True)
class Attack:
    """A snippet and what it is after; `T` in it holds the targets by name."""

    name: str
    code: str


def _attack(name: str, code: str) -> Attack:
    return Attack(name, dedent(code).strip() + "\n")


def _connect(name: str, family: str, kind: str, target: str) -> Attack:
    return _attack(
        name,
        f"""
        import socket, time
        s = socket.socket(socket.{family}, socket.{kind})
        s.settimeout(2)
        s.connect(T[{target!r}])
        s.send(b"a secret")
        time.sleep(0.05)  # the answer "nobody is here" comes back in this time
        s.send(b"a secret")
        print("OPEN")
        """,
    )


FILES: Final = (
    _attack("read a file of the user's", "print(open(T['file']).read() and 'OPEN')"),
    _attack("list a folder of the user's", "import os; print(os.listdir(T['folder']) and 'OPEN')"),
    _attack(
        "learn whether a file exists",
        "import os; print('OPEN' if os.path.exists(T['file']) else 'not seen')",
    ),
    _attack(
        "read a file through a link",
        "import os; os.symlink(T['file'], 'link'); print(open('link').read() and 'OPEN')",
    ),
    _attack("write outside", "open(T['folder'] + '/new', 'w').write('x'); print('OPEN')"),
    _attack("change a file's mode", "import os; os.chmod(T['file'], 0o600); print('OPEN')"),
)

PROCESSES: Final = (
    _attack(
        "read our environment",
        "import os; print('OPEN' if T['variable'] in os.environ else 'not seen')",
    ),
    _attack(
        "read a process's environment",
        "print(open(f\"/proc/{T['pid']}/environ\", 'rb').read() and 'OPEN')",
    ),
    _attack("read a process's memory", "open(f\"/proc/{T['pid']}/mem\", 'rb'); print('OPEN')"),
    _attack(
        "read a process's command line",
        "print(open(f\"/proc/{T['pid']}/cmdline\", 'rb').read() and 'OPEN')",
    ),
    _attack("signal a process", "import os; os.kill(T['pid'], 0); print('OPEN')"),
    _attack(
        "start a process",
        """
        import os
        if os.fork() == 0:
            os._exit(0)
        print("OPEN")
        """,
    ),
    _attack(
        "run a program",
        """
        import subprocess
        subprocess.run([T["python"], "-I", "-S", "-c", ""], check=True)
        print("OPEN")
        """,
    ),
    _attack(
        "leave the process group",
        """
        import os
        if os.fork() == 0:
            os.setsid()
            print("OPEN", flush=True)
            os._exit(0)
        os.wait()
        """,
    ),
    _attack(
        "make a namespace",
        "import ctypes; print('OPEN' if ctypes.CDLL(None).unshare(0x10000000) == 0 else 'no')",
    ),
)

NETWORK: Final = (
    _connect("reach IPv4", "AF_INET", "SOCK_STREAM", "tcp4"),
    _connect("reach IPv6", "AF_INET6", "SOCK_STREAM", "tcp6"),
    _connect("send UDP, as DNS does", "AF_INET", "SOCK_DGRAM", "udp4"),
    _connect("reach a unix socket", "AF_UNIX", "SOCK_STREAM", "unix"),
    _connect("reach an abstract socket", "AF_UNIX", "SOCK_STREAM", "abstract"),
)

RESOURCES: Final = (
    _attack("take 10 GB of memory", "kept = bytearray(10 << 30); print('OPEN')"),
    _attack(
        "fill the disk",
        """
        import time
        for n in range(64):
            with open(f"f{n}", "wb") as file:
                for _ in range(8):
                    file.write(bytes(1 << 20))
        time.sleep(0.5)
        print("OPEN")
        """,
    ),
    _attack(
        "write 10 GB of output",
        """
        import os
        for _ in range(10_000):
            os.write(1, bytes(1 << 20))
        """,
    ),
    _attack(
        "ignore the time-out",
        """
        import signal, time
        for number in range(1, 30):
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError:
                pass
        time.sleep(10)
        print("OPEN")
        """,
    ),
)

ATTACKS: Final = (*FILES, *PROCESSES, *NETWORK, *RESOURCES)
"""In the order of the table in `docs/security.md`."""
