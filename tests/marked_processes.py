"""Processes found again among all others by a mark in their environment."""

import os
import uuid
from pathlib import Path

import pytest

from waiting import eventually


def new_mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a mark that every child of the sandbox bears from now on."""
    mark = "OJ" + uuid.uuid4().hex
    monkeypatch.setenv("TZ", mark)
    return mark


def alive(mark: str) -> list[int]:
    """Return the numbers of the processes that bear `mark`, this one left out."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until_gone(mark: str) -> bool:
    """Wait until no process bears `mark`; False when one is still there after 10 seconds."""
    return eventually(lambda: not alive(mark), seconds=10)
