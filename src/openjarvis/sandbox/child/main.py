"""The child's life: take the plan, shut the door, then run what comes until nothing comes.

The control channel is file descriptor 0, a socket: requests come in as a letter, a length and the
code, replies go out as a line (`ready`, `done CODE`, `refused WHY`). Running code may ask the
parent: `ask LENGTH` and the question go out, the answer comes in as a request does. Whatever the
code does to the standard streams is put right before the next piece runs.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import select
import sys
from _thread import allocate_lock

# By name, so that code which replaces them in `os` does not cut our line to the parent.
from os import dup2, read, write

from openjarvis.sandbox.child.cell import Cells
from openjarvis.sandbox.child.confine import confine
from openjarvis.sandbox.child.plan import Plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HIGH = 60
_DEFINITIONS = (b"V", b"A")
"""Names that the parent gives to the code: a text, or the function that asks the parent."""


def main() -> None:
    """Serve the parent; returns when it asks for the last piece of code or goes away."""
    control = _Control()
    try:
        plan: Plan = marshal.loads(control.receive()[1])  # noqa: S302 - it is our parent's
        os.chdir(plan["workplace"])
        confine(plan)
    except Exception as error:  # noqa: BLE001 - whatever it is, no code may run after it
        control.send(f"refused {type(error).__name__}: {error}")
        raise SystemExit(70) from None
    _forget_the_way_in(plan["import_paths"])
    control.send("ready")
    raise SystemExit(_serve(control, idle_seconds=plan["idle_seconds"]))


def _serve(control: _Control, *, idle_seconds: float) -> int:
    cells, streams = Cells(), _Streams()
    while control.waits_for_code(idle_seconds):
        kind, source = control.receive()
        if kind in _DEFINITIONS:
            name, _, text = source.decode().partition("\n")
            cells.define(name, text if kind == b"V" else control.ask)
            control.send("done 0")
            continue
        streams.restore()
        code = cells.run(source.decode())
        streams.flush()
        if kind == b"F":
            return code
        control.send(f"done {code}")
    return 0


class _Control:
    """The line to the parent."""

    def __init__(self) -> None:
        self._fd = _move_up(0)
        null = os.open(os.devnull, os.O_RDONLY)
        if null:
            dup2(null, 0)
            os.close(null)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLIN)
        self._one_at_a_time = allocate_lock()

    def waits_for_code(self, seconds: float) -> bool:
        return bool(self._poll.poll(seconds * 1000))

    def receive(self) -> tuple[bytes, bytes]:
        head = self._read(5)
        return head[:1], self._read(int.from_bytes(head[1:], "big"))

    def send(self, line: str) -> None:
        self._write(line.replace("\n", " ").encode()[:1000] + b"\n")

    def ask(self, question: str) -> str:
        """Return what the parent answers."""
        asked = str(question).encode("utf-8", "replace")
        with self._one_at_a_time:
            self._write(b"ask %d\n" % len(asked) + asked)
            return self.receive()[1].decode()

    def _write(self, text: bytes) -> None:
        left = memoryview(text)
        while left:
            left = left[write(self._fd, left) :]

    def _read(self, size: int) -> bytes:
        text = bytearray()
        while len(text) < size:
            part = read(self._fd, size - len(text))
            if not part:
                raise SystemExit(0)  # the parent is gone or has closed this session
            text += part
        return bytes(text)


class _Streams:
    """Standard output and error as they were at the start."""

    def __init__(self) -> None:
        self._kept = {fd: _move_up(fd) for fd in (1, 2)}
        self._out, self._err = _writer(1), _writer(2)

    def restore(self) -> None:
        for fd, kept in self._kept.items():
            dup2(kept, fd)
        if self._out.closed:
            self._out = _writer(1)
        if self._err.closed:
            self._err = _writer(2)
        sys.stdout, sys.stderr = self._out, self._err

    def flush(self) -> None:
        for stream in (sys.stdout, sys.stderr, self._out, self._err):
            try:
                stream.flush()
            except Exception:  # noqa: BLE001, S112 - the code may have put anything there
                continue


def _writer(fd: int) -> Any:
    # Line by line, so that what was printed before a time-out is seen.
    return open(fd, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _move_up(fd: int) -> int:
    """Return a copy of `fd` out of the way of small numbers."""
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)


def _forget_the_way_in(import_paths: list[str]) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "openjarvis"]:
        del sys.modules[name]
    sys.path += import_paths
    sys.argv = [""]
