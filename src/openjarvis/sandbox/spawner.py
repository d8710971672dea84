"""Starts processes from one thread that lives as long as this process.

A child asks the kernel to be killed with its parent, and to the kernel the parent is the *thread*
that started it: a session started from a worker thread would die when that worker goes home.
"""

import os
import subprocess
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

_Order = tuple[list[str], dict[str, Any], "Future[subprocess.Popen[bytes]]"]

_lock = Lock()
_orders: SimpleQueue[_Order] | None = None
_owner = 0


def start(command: list[str], **options: Any) -> "subprocess.Popen[bytes]":
    """Return `subprocess.Popen(command, **options)`, made by the lasting thread.

    Raises:
        OSError: when the program cannot be started.
    """
    started: Future[subprocess.Popen[bytes]] = Future()
    _queue().put((command, options, started))
    return started.result()


def _queue() -> SimpleQueue[_Order]:
    global _orders, _owner
    with _lock:
        # A forked copy of this process has the queue but not the thread.
        if _orders is None or _owner != os.getpid():
            _orders, _owner = SimpleQueue(), os.getpid()
            Thread(target=_work, args=(_orders,), name="sandbox-spawner", daemon=True).start()
        return _orders


def _work(orders: SimpleQueue[_Order]) -> None:
    while True:
        command, options, started = orders.get()
        try:
            process: subprocess.Popen[bytes] = subprocess.Popen(command, **options)  # noqa: S603
            started.set_result(process)
        except BaseException as error:  # noqa: BLE001 - it belongs to the one who asked
            started.set_exception(error)
