import subprocess
import sys
from pathlib import Path


def test_of_processes_that_are_killed_at_random_none_loses_a_slot_or_runs_it_twice() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scheduler_soak", "--seconds", "8"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-2].split()[-3:] == ["0", "0", "0"]
