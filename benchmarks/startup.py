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


def milliseconds(command: list[str]) -> float:
    """Return the median wall time of a process."""
    taken = []
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "OPENJARVIS_HOME": home}
        for _ in range(ROUNDS):
            before = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            taken.append((time.perf_counter() - before) * 1e3)
    return statistics.median(taken)


if __name__ == "__main__":
    bare = milliseconds([sys.executable, "-c", "pass"])
    row("bare Python", bare, "ms")
    for statement, budget in (
        ("import openjarvis", 30),
        ("from openjarvis import Jarvis, llm", 150),
    ):
        taken = milliseconds([sys.executable, "-c", statement]) - bare
        row(f"{statement}, over bare Python", taken, "ms", budget)
    question = ["ask", "--agent", "orchestrator", "--tools", "calculator", "What is 15% of 340?"]
    for arguments, budget in ((["--version"], 120), (["--help"], 200), (question, 500)):
        taken = milliseconds([JARVIS, *arguments])
        row(f"jarvis {' '.join(arguments)[:48]}", taken, "ms", budget, f"{taken / bare:.1f}x bare")
