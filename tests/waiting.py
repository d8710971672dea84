"""Waiting for what another process or thread brings about."""

import threading
import time
from collections.abc import Callable


def eventually(holds: Callable[[], bool], seconds: float = 15.0) -> bool:
    """Ask again and again whether something holds, until it does or the time is over."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.02)
    return True
