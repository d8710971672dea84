"""Landlock: the kernel's rules on what a process may open and where it may connect.

The interface is documented in the kernel's `Documentation/userspace-api/landlock.rst`. The numbers
of the three system calls are the same on every architecture.
"""

from __future__ import annotations

import ctypes
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_RULE_PATH_BENEATH = 1

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_SOCK, _MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 11
_TRUNCATE = 1 << 14

_READ = _READ_FILE | _READ_DIR
_FILE_ONLY = _READ_FILE | _WRITE_FILE | _TRUNCATE
_NOT_EVEN_IN_THE_WORKPLACE = 1 << 0 | _MAKE_CHAR | _MAKE_SOCK | _MAKE_BLOCK | 1 << 15

_FILE_RIGHTS_SINCE = {1: (1 << 13) - 1, 2: 1 << 13, 3: _TRUNCATE, 5: 1 << 15}
_NETWORK_SINCE, _BIND_AND_CONNECT_TCP = 4, 0b11
_SCOPES_SINCE, _UNIX_SOCKETS_AND_SIGNALS = 6, 0b11


class _RulesetAttr(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def abi() -> int:
    """Return the version of Landlock that this kernel offers; 0 when it has none."""
    try:
        return max(0, _syscall(_CREATE_RULESET, None, 0, _VERSION))
    except OSError:
        return 0


def restrict(*, readable: Iterable[str], writable: str, version: int) -> None:
    """Close everything to this thread but reading `readable` and working in `writable`.

    Paths that do not exist are passed over. TCP is closed too where the version can, and so are
    abstract sockets and signals to processes outside. Needs no privilege, only that "no new
    privileges" is set; it cannot be undone.

    Raises:
        OSError: when the kernel refuses a step.
    """
    handled = sum(rights for since, rights in _FILE_RIGHTS_SINCE.items() if version >= since)
    ruleset = _ruleset(handled, version)
    try:
        for path in readable:
            _allow(ruleset, path, _READ)
        _allow(ruleset, writable, handled & ~_NOT_EVEN_IN_THE_WORKPLACE)
        # A discarded write is no danger, and programs expect to be able to make one.
        _allow(ruleset, os.devnull, _READ_FILE | _WRITE_FILE)
        _syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _ruleset(handled: int, version: int) -> int:
    attributes = _RulesetAttr(handled, 0, 0)
    size = 8
    if version >= _NETWORK_SINCE:
        attributes.handled_access_net = _BIND_AND_CONNECT_TCP
        size = 16
    if version >= _SCOPES_SINCE:
        attributes.scoped = _UNIX_SOCKETS_AND_SIGNALS
        size = 24
    return _syscall(_CREATE_RULESET, ctypes.byref(attributes), size, 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(beneath).st_mode):
            rights &= _FILE_ONLY
        rule = _PathBeneathAttr(rights, beneath)
        _syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(beneath)


def _syscall(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    result = int(libc.syscall(ctypes.c_long(number), *(_word(one) for one in arguments)))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"Landlock: {os.strerror(error)}")
    return result


def _word(argument: object) -> object:
    # A variadic C function takes an int in 32 bits unless it is told otherwise.
    return ctypes.c_long(argument) if isinstance(argument, int) else argument
