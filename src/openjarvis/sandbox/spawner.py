"""Starts processes from one thread that lives as long as this process.

A child asks the kernel to be killed with its parent, and to the kernel the parent is the *thread*
that started it: a session started from a worker thread would die when that worker goes home.
"""

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread

_Make = Callable[[], "subprocess.Popen[bytes]"]
_Order = tuple[_Make, "Future[subprocess.Popen[bytes]]"]

_lock = Lock()
_orders: SimpleQueue[_Order] | None = None


def start(make: _Make) -> "subprocess.Popen[bytes]":
    """Return the process that `make` gives when the lasting thread calls it.

    Raises:
        OSError: when `make` does, because the program cannot be started.
    """
    started: Future[subprocess.Popen[bytes]] = Future()
    _queue().put((make, started))
    return started.result()


def _queue() -> SimpleQueue[_Order]:
    global _orders
    with _lock:
        if _orders is None:
            _orders = SimpleQueue()
            Thread(target=_work, args=(_orders,), name="sandbox-spawner", daemon=True).start()
        return _orders


def _begin_anew() -> None:
    """Forget, in a forked copy of this process, the thread that was not copied."""
    global _lock, _orders
    _lock, _orders = Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def _work(orders: SimpleQueue[_Order]) -> None:
    while True:
        make, started = orders.get()
        try:
            started.set_result(make())
        except BaseException as error:  # noqa: BLE001 - it belongs to the one who asked
            started.set_exception(error)
