"""A seccomp filter: which system calls this process may make from now on.

The filter is a program for the kernel's small virtual machine (classic BPF), described in the
kernel's `Documentation/userspace-api/seccomp_filter.rst`. `program` only computes it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from openjarvis.sandbox.child.syscalls import (
    ALLOWED,
    CLONE3,
    CONDITIONAL,
    FIRST_OF_THE_NEW,
    OWN_FILESYSTEM,
    Numbers,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

ARCHITECTURES = {"x86_64": 0, "aarch64": 1}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_NUMBERS = 0x40000000

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_IF_EQUAL, _IF_GREATER, _IF_AT_LEAST = 0x15, 0x25, 0x35
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16

_PR_GET_SECCOMP, _PR_SET_SECCOMP, _MODE_FILTER = 21, 22, 2
_PR_SET_NO_NEW_PRIVS = 38

_WHOLE = 0xFFFFFFFF
_CLONE_FILES, _CLONE_THREAD, _CLONE_NAMESPACES = 0x00000400, 0x00010000, 0x7E020000
_A_THREAD = _CLONE_FILES | _CLONE_THREAD
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE_BITS = 1, 1, 0xF
_FCNTL_COMMANDS = (*range(8), 36, 37, 38, 1030, 1031, 1032)  # duplicate, flags, locks, pipe size
_IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # is it a terminal, FIONREAD …
_PRCTL_OPTIONS = (3, 15, 16, 0x53564D41)  # dumpable?, thread names, names of memory areas


class _Check:
    """Half an argument (`word` counts 32-bit halves) that, masked, must be one of `values`."""

    def __init__(self, word: int, values: Collection[int], mask: int = _WHOLE) -> None:
        self.word = word
        self.values = values
        self.mask = mask


class _SockFprog(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def is_available() -> bool:
    """Tell whether this kernel filters system calls and we know its numbers."""
    if os.uname().machine not in ARCHITECTURES:
        return False
    return int(ctypes.CDLL(None).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0)) >= 0


def restrict(*, own_filesystem: bool) -> None:
    """Install the filter for this thread and all that it starts; it cannot be undone.

    Raises:
        OSError: when the kernel refuses.
    """
    instructions = program(os.uname().machine, pid=os.getpid(), own_filesystem=own_filesystem)
    libc = ctypes.CDLL(None, use_errno=True)
    forever = _SockFprog(len(instructions) // 8, instructions)
    for call in (
        (_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), ctypes.c_ulong(0)),
        (_PR_SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), ctypes.byref(forever)),
    ):
        if libc.prctl(*call, ctypes.c_ulong(0), ctypes.c_ulong(0)) != 0:
            raise OSError(ctypes.get_errno(), "seccomp: " + os.strerror(ctypes.get_errno()))


def program(machine: str, *, pid: int, own_filesystem: bool) -> bytes:
    """Return the filter for a process numbered `pid` on `machine`."""
    column = ARCHITECTURES[machine]
    free = {**ALLOWED, **OWN_FILESYSTEM} if own_filesystem else ALLOWED
    parts = [_instruction(_LOAD, _AT_ARCHITECTURE)]
    parts.append(_instruction(_IF_EQUAL, _AUDIT_ARCH[machine], yes=1))
    parts += [_answer(_KILL_PROCESS), _instruction(_LOAD, _AT_NUMBER)]
    if machine == "x86_64":
        parts += [_instruction(_IF_AT_LEAST, _X32_NUMBERS, no=1), _answer(_KILL_PROCESS)]
    parts += [_allow_range(first, last) for first, last in _ranges(free.values(), column)]
    for name, checks in _conditions(pid).items():
        number = CONDITIONAL[name][column]
        if number is not None:
            parts.append(_allow_if(number, checks))
    parts += [_instruction(_IF_EQUAL, CLONE3[0] or 0, no=1), _answer(_ERRNO | errno.ENOSYS)]
    parts += [_instruction(_IF_AT_LEAST, FIRST_OF_THE_NEW, no=1), _answer(_ERRNO | errno.ENOSYS)]
    return b"".join([*parts, _answer(_ERRNO | errno.EPERM)])


def _conditions(pid: int) -> dict[str, tuple[_Check, ...]]:
    return {
        # A thread of ours, never a process or a namespace, nor open files that we do not see.
        "clone": (_Check(0, (_A_THREAD,), _A_THREAD | _CLONE_NAMESPACES),),
        # asyncio wakes itself through one. A datagram pair could still send to any address.
        "socketpair": (
            _Check(0, (_AF_UNIX,)),
            _Check(2, (_SOCK_STREAM,), _SOCK_TYPE_BITS),
        ),
        "kill": (_Check(0, (pid,)),),
        "tgkill": (_Check(0, (pid,)),),
        # Not F_SETOWN and kin: they make the kernel send a signal to any process of the user's.
        "fcntl": (_Check(2, _FCNTL_COMMANDS),),
        "ioctl": (_Check(2, _IOCTL_REQUESTS),),
        "prctl": (_Check(0, _PRCTL_OPTIONS),),
        # Reading our own limits: no new value may be given.
        "prlimit64": (_Check(0, (0,)), _Check(4, (0,)), _Check(5, (0,))),
    }


def _ranges(numbers: Iterable[Numbers], column: int) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for number in sorted(n for n in (pair[column] for pair in numbers) if n is not None):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


def _allow_range(first: int, last: int) -> bytes:
    if first == last:
        return _instruction(_IF_EQUAL, first, no=1) + _answer(_ALLOW)
    return (
        _instruction(_IF_AT_LEAST, first, no=2)
        + _instruction(_IF_GREATER, last, yes=1)
        + _answer(_ALLOW)
    )


def _allow_if(number: int, checks: Iterable[_Check]) -> bytes:
    block = b"".join(_refuse_unless(check) for check in checks) + _answer(_ALLOW)
    return _instruction(_IF_EQUAL, number, no=len(block) // 8) + block


def _refuse_unless(check: _Check) -> bytes:
    block = _instruction(_LOAD, _AT_ARGUMENTS + 4 * check.word)
    block += _instruction(_AND, check.mask)
    for left, value in zip(range(len(check.values), 0, -1), check.values, strict=True):
        block += _instruction(_IF_EQUAL, value, yes=left)
    return block + _answer(_ERRNO | errno.EPERM)


def _answer(action: int) -> bytes:
    return _instruction(_RETURN, action)


def _instruction(code: int, operand: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, operand)
