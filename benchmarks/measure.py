"""Rounds of a measured call, and the table that tells them."""

import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 7


@dataclass(frozen=True)
class Cost:
    """What one call costs, the median of the rounds, in microseconds."""

    cpu: float
    wall: float


def cost(call: Callable[[], object], *, times: int, rounds: int = ROUNDS) -> Cost:
    """Return what one of `times` calls of `call` costs; `call` makes one."""

    def repeat() -> None:
        for _ in range(times):
            call()

    return cost_of_all(repeat, times=times, rounds=rounds)


def cost_of_all(batch: Callable[[], object], *, times: int, rounds: int = ROUNDS) -> Cost:
    """Return what one call costs when `batch` makes `times` of them."""
    batch()
    cpu: list[float] = []
    wall: list[float] = []
    for _ in range(rounds):
        wall_before, cpu_before = time.perf_counter(), time.process_time()
        batch()
        cpu.append((time.process_time() - cpu_before) / times * 1e6)
        wall.append((time.perf_counter() - wall_before) / times * 1e6)
    return Cost(statistics.median(cpu), statistics.median(wall))


def bare_call() -> Cost:
    """Return the baseline: `json.loads` and a function call."""

    def add(a: int, b: int = 1) -> int:
        return a + b

    return cost(lambda: add(**json.loads('{"a": 3, "b": 4}')), times=20_000)


def pin_to_one_cpu() -> bool:
    """Keep this process and its threads on one processor; tell whether that could be done.

    Handing work to another thread costs most where that thread wakes up on another, sleeping
    processor; on one it is the cost of the code itself, and repeatable.
    """
    if not hasattr(os, "sched_setaffinity"):
        return False
    one = {min(os.sched_getaffinity(0))}
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), one)
    return True


def row(name: str, value: float, unit: str, budget: float | None = None, note: str = "") -> None:
    """Print one line: what, how much, and whether it is within its budget."""
    verdict = "" if budget is None else ("ok  " if value <= budget else "OVER")
    limit = "" if budget is None else f"<= {budget:g}"
    print(f"{verdict:4} {name:58} {value:10.2f} {unit:9} {limit:10} {note}")
