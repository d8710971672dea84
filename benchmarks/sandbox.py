"""Code in the sandbox: a snippet from nothing, a call of a session, and what each wall costs."""

import statistics
import subprocess
import time
from collections.abc import Callable

from benchmarks.measure import row
from openjarvis.sandbox.command import interpreter
from openjarvis.sandbox.isolation import Isolation, detect
from openjarvis.sandbox.session import Sandbox
from openjarvis.tools.code_interpreter import CodeInterpreterTool
from openjarvis.tools.repl import ReplTool

ROUNDS, CALLS = 25, 300


def milliseconds(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median wall time of a call."""
    taken = []
    for _ in range(rounds):
        before = time.perf_counter()
        call()
        taken.append((time.perf_counter() - before) * 1e3)
    return statistics.median(taken)


def bare() -> None:
    subprocess.run([interpreter(), "-I", "-c", "1 + 1"], check=True, capture_output=True)


if __name__ == "__main__":
    whole = detect()
    kernel = Isolation(landlock=whole.landlock, seccomp=whole.seccomp)
    walls = {"limits only": Isolation(), "landlock + seccomp": kernel, "all": whole}
    baseline = milliseconds(bare)
    row("bare python -I", baseline, "ms")
    for name, isolation in walls.items():
        sandbox = Sandbox(isolation=isolation, allow_unsandboxed=True)
        taken = milliseconds(lambda one=sandbox: one.run("1 + 1"))
        row(f"a snippet, {name}", taken, "ms", None, f"{taken / baseline:.1f}x bare")
    tool = CodeInterpreterTool()
    taken = milliseconds(lambda: tool.execute(code="1 + 1"))
    row("code_interpreter, from nothing", taken, "ms", 45, f"{taken / baseline:.1f}x bare")
    repl = ReplTool()
    repl.execute(code="x = 1")
    taken = milliseconds(lambda: repl.execute(code="x + 1"), CALLS)
    row("repl, a call of an open session", taken, "ms", 1, f"{taken / baseline:.3f}x bare")
