"""What running a piece of code gives, wherever it ran."""

from dataclasses import dataclass
from enum import StrEnum


class Ending(StrEnum):
    """Why a process is no more, when it did not end as a program does."""

    TIMED_OUT = "timed out"
    FLOODED = "wrote too much output"
    DISK_FULL = "wrote too much to disk"
    CRASHED = "crashed"
    EXITED = "ended itself"
    CLOSED = "was closed"


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
