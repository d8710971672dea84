"""Imports and commands as processes, against a bare Python in the same run."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import row

JARVIS = str(Path(sys.executable).with_name("jarvis"))
ROUNDS = 15


def milliseconds(command: list[str]) -> tuple[float, float]:
    """Return the median CPU and wall time of a process."""
    cpu, wall = [], []
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "OPENJARVIS_HOME": home}
        for _ in range(ROUNDS):
            cpu_before, wall_before = children_cpu(), time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            wall.append((time.perf_counter() - wall_before) * 1e3)
            cpu.append((children_cpu() - cpu_before) * 1e3)
    return statistics.median(cpu), statistics.median(wall)


def children_cpu() -> float:
    """Return the CPU seconds of the processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def told(name: str, budget: float, taken: tuple[float, float], bare: tuple[float, float]) -> None:
    """Print the wall time against its budget, and the CPU time, which other load changes less."""
    cpu, wall = taken
    row(name, wall, "ms", budget, f"CPU {cpu:.0f} ms, {cpu / bare[0]:.1f}x bare")


if __name__ == "__main__":
    bare = milliseconds([sys.executable, "-c", "pass"])
    row("bare Python", bare[1], "ms", None, f"CPU {bare[0]:.0f} ms")
    for statement, budget in (
        ("import openjarvis", 30),
        ("from openjarvis import Jarvis, llm", 150),
    ):
        cpu, wall = milliseconds([sys.executable, "-c", statement])
        told(f"{statement}, over bare", budget, (cpu - bare[0], wall - bare[1]), bare)
    question = ["ask", "--agent", "orchestrator", "--tools", "calculator", "What is 15% of 340?"]
    for arguments, budget in ((["--version"], 120), (["--help"], 200), (question, 500)):
        told(f"jarvis {' '.join(arguments)[:48]}", budget, milliseconds([JARVIS, *arguments]), bare)
