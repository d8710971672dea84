"""Shuts this process in, step by step; what cannot be done is an error, never a shrug."""

import ctypes
import os
import resource
import sys

from openjarvis.sandbox.child import landlock, seccomp
from openjarvis.sandbox.child.plan import Plan

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_SIGKILL = 9
_CAPABILITY_VERSION_3 = 0x20080522


def confine(plan: Plan) -> None:
    """Give up, for good, what the plan takes away.

    Raises:
        OSError: when the kernel refuses a step.
    """
    _limit_resources(plan["limits"])
    if sys.platform == "linux":
        _die_with(plan["parent"])
        _give_up_privileges()
        if plan["landlock"]:
            landlock.restrict(
                readable=plan["readable"],
                writable=plan["workplace"],
                version=plan["landlock"],
            )
        if plan["seccomp"]:
            seccomp.restrict(own_filesystem=plan["own_filesystem"])


def _limit_resources(limits: dict[str, int]) -> None:
    for name, bound in limits.items():
        kind = getattr(resource, name)
        _, ceiling = resource.getrlimit(kind)
        if ceiling != resource.RLIM_INFINITY:
            bound = min(bound, ceiling)
        resource.setrlimit(kind, (bound, bound))


def _die_with(parent: int) -> None:
    if not parent:
        return
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os.kill(os.getpid(), _SIGKILL)


def _give_up_privileges() -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    none_at_all = (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capset(ctypes.byref(header), ctypes.byref(none_at_all)) != 0:
        raise OSError(ctypes.get_errno(), "capset: " + os.strerror(ctypes.get_errno()))


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero) != 0:
        raise OSError(ctypes.get_errno(), "prctl: " + os.strerror(ctypes.get_errno()))
