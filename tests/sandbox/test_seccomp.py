"""The filter is computed here for both architectures and followed instruction by instruction."""

import errno
import struct

import pytest

from openjarvis.sandbox.child.seccomp import ARCHITECTURES, program
from openjarvis.sandbox.child.syscalls import ALLOWED, CLONE3, CONDITIONAL, OWN_FILESYSTEM

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
PID = 4321

NEVER = {
    "x86_64": {
        "socket": 41,
        "connect": 42,
        "accept": 43,
        "bind": 49,
        "listen": 50,
        "fork": 57,
        "vfork": 58,
        "execve": 59,
        "ptrace": 101,
        "setpgid": 109,
        "setsid": 112,
        "mount": 165,
        "init_module": 175,
        "unshare": 272,
        "setns": 308,
        "process_vm_readv": 310,
        "memfd_create": 319,
        "bpf": 321,
        "execveat": 322,
        "shmget": 29,
        "setrlimit": 160,
        "tkill": 200,
        "rt_sigqueueinfo": 129,
    },
    "aarch64": {
        "socket": 198,
        "bind": 200,
        "listen": 201,
        "accept": 202,
        "connect": 203,
        "execve": 221,
        "ptrace": 117,
        "setpgid": 154,
        "setsid": 157,
        "mount": 40,
        "init_module": 105,
        "unshare": 97,
        "setns": 268,
        "process_vm_readv": 270,
        "memfd_create": 279,
        "bpf": 280,
        "execveat": 281,
        "shmget": 194,
        "setrlimit": 164,
        "tkill": 130,
        "rt_sigqueueinfo": 138,
    },
}
NEW_AND_SHUT = {"io_uring_setup": 425, "pidfd_open": 434, "clone3": 435, "memfd_secret": 447}

by_machine = pytest.mark.parametrize("machine", ARCHITECTURES)


def judge(code: bytes, *, number: int, arguments: tuple[int, ...] = (), audit: int) -> int:
    """Follow the program as the kernel does and return its answer."""
    words = [0] * 6
    words[: len(arguments)] = arguments
    call = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, audit, 0, *words)
    held = at = 0
    while True:
        operation, yes, no, operand = struct.unpack_from("=HBBI", code, at * 8)
        at += 1
        match operation:
            case 0x20:
                (held,) = struct.unpack_from("=I", call, operand)
            case 0x54:
                held &= operand
            case 0x06:
                return operand
            case 0x15:
                at += yes if held == operand else no
            case 0x25:
                at += yes if held > operand else no
            case 0x35:
                at += yes if held >= operand else no
            case _:
                raise AssertionError(f"no such operation: {operation:#x}")


def answer(machine: str, number: int, *arguments: int, own_filesystem: bool = False) -> int:
    code = program(machine, pid=PID, own_filesystem=own_filesystem)
    return judge(code, number=number, arguments=arguments, audit=AUDIT[machine])


@by_machine
def test_every_listed_call_is_allowed_and_every_other_is_not(machine: str) -> None:
    code = program(machine, pid=PID, own_filesystem=False)
    column = ARCHITECTURES[machine]
    listed = {pair[column] for pair in ALLOWED.values()}

    answers = {
        number: judge(code, number=number, arguments=(9, 9, 9, 9, 9, 9), audit=AUDIT[machine])
        for number in range(600)
    }

    assert {number for number, one in answers.items() if one == ALLOW} == listed - {None}
    assert set(answers.values()) == {ALLOW, EPERM, ENOSYS}


@by_machine
def test_the_dangerous_ones_are_refused_by_their_own_numbers(machine: str) -> None:
    assert {answer(machine, number) for number in NEVER[machine].values()} == {EPERM}
    assert {answer(machine, number) for number in NEW_AND_SHUT.values()} == {ENOSYS}
    assert CLONE3[ARCHITECTURES[machine]] == NEW_AND_SHUT["clone3"]


@by_machine
def test_another_architecture_and_the_x32_numbers_are_killed(machine: str) -> None:
    code = program(machine, pid=PID, own_filesystem=False)

    assert judge(code, number=0, audit=0x40000003) == KILL  # 32-bit x86
    assert judge(code, number=0x40000000, audit=AUDIT["x86_64"]) == KILL


CHECKED = {
    "clone": [
        ((0x003D0F00,), ALLOW),  # what the C library asks for a thread
        ((0x01200011,), EPERM),  # what it asks for a fork
        ((0x003D0B00,), EPERM),  # a thread with open files of its own
        ((0x00004111,), EPERM),  # a vfork
        ((0x10010000,), EPERM),  # a thread with a user namespace
        ((17,), EPERM),
    ],
    "socketpair": [((1, 1), ALLOW), ((1, 0x80801), ALLOW), ((1, 2), EPERM), ((2, 1), EPERM)],
    "kill": [((PID, 9), ALLOW), ((1, 9), EPERM), ((0, 9), EPERM), ((2**32 - 1, 9), EPERM)],
    "tgkill": [((PID, 77, 6), ALLOW), ((1, 1, 6), EPERM)],
    "fcntl": [((3, 1), ALLOW), ((3, 1030), ALLOW), ((3, 8), EPERM), ((3, 15), EPERM)],
    "ioctl": [((1, 0x5401), ALLOW), ((0, 0x5412), EPERM), ((0, 0x541C), EPERM)],
    "prctl": [((15,), ALLOW), ((22,), EPERM), ((36,), EPERM), ((4,), EPERM)],
    "prlimit64": [
        ((0, 7, 0, 4096), ALLOW),
        ((0, 7, 4096), EPERM),
        ((0, 7, 1 << 40), EPERM),
        ((1, 7, 0, 4096), EPERM),
    ],
}


@by_machine
@pytest.mark.parametrize("name", CONDITIONAL)
def test_arguments_decide_where_the_call_alone_does_not(machine: str, name: str) -> None:
    number = CONDITIONAL[name][ARCHITECTURES[machine]]
    assert number is not None

    for arguments, expected in CHECKED[name]:
        assert answer(machine, number, *arguments) == expected, arguments


@by_machine
def test_a_file_is_changed_by_its_path_only_on_a_file_system_of_its_own(machine: str) -> None:
    numbers = [pair[ARCHITECTURES[machine]] for pair in OWN_FILESYSTEM.values()]

    for number in filter(None, numbers):
        assert answer(machine, number) == EPERM
        assert answer(machine, number, own_filesystem=True) == ALLOW


@by_machine
def test_it_fits_into_what_the_kernel_takes(machine: str) -> None:
    assert len(program(machine, pid=PID, own_filesystem=True)) // 8 < 4096
