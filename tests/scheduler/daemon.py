"""`jarvis schedule run` as a process of its own."""

import subprocess
import sys


def start_daemon(*words: str) -> "subprocess.Popen[str]":
    """Start `jarvis schedule run …` and wait until it runs tasks."""
    process = subprocess.Popen(
        [sys.executable, "-m", "openjarvis", "schedule", "run", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "Running" not in (line := process.stderr.readline()):
        assert line, "it ended before it was ready"
    return process
