"""Run every benchmark, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

NOT_FIGURES = {"__init__", "__main__", "measure", "scheduler_soak"}

for path in sorted(Path(__file__).parent.glob("*.py")):
    if path.stem not in NOT_FIGURES:
        print(f"\n{path.stem}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{path.stem}"], check=True)
