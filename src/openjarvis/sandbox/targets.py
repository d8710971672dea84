"""What the attacks go for: files, a variable and listeners of our own, laid out and taken away."""

import os
import socket
import sys
import tempfile
import uuid
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from openjarvis.sandbox.command import interpreter


class Targets:
    """A context in which the targets exist; `prelude` is the line that tells an attack of them."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._found: dict[str, object] = {}

    @property
    def prelude(self) -> str:
        """The Python line that gives an attack its `T`."""
        return f"T = {self._found!r}\n"

    def __enter__(self) -> Self:
        name = f"OPENJARVIS_{uuid.uuid4().hex}_TOKEN"
        folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="oj-target-")))
        (folder / "diary.txt").write_text("a secret", encoding="utf-8")
        os.environ[name] = "a secret"
        self._open.callback(os.environ.pop, name, None)
        self._found = {
            "file": str(folder / "diary.txt"),
            "folder": str(folder),
            "variable": name,
            "pid": os.getpid(),
            "python": interpreter(),
            "tcp4": self._listen(socket.AF_INET, ("127.0.0.1", 0)),
            "tcp6": self._listen(socket.AF_INET6, ("::1", 0)),
            "udp4": self._listen(socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM),
            "unix": self._listen(socket.AF_UNIX, str(folder / "socket")),
            "abstract": self._abstract(),
        }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def _abstract(self) -> object:
        if sys.platform != "linux":
            return ""
        return self._listen(socket.AF_UNIX, "\0oj-" + uuid.uuid4().hex)

    def _listen(self, family: int, address: object, kind: int = socket.SOCK_STREAM) -> object:
        listener = self._open.enter_context(socket.socket(family, kind))
        try:
            listener.bind(address)  # type: ignore[arg-type]  # its type is the family's
        except OSError:  # a machine without IPv6
            return address
        if kind == socket.SOCK_STREAM:
            listener.listen()
        name: object = listener.getsockname()
        return name.decode() if isinstance(name, bytes) else name
