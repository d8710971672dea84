"""A worker process for the tests of many machines: `python durable_worker.py DSN JOURNAL`.

A prompt is a name and turns: `A one=0.1 two=0.2,three=5` has the model call the tool `step` for
`one`, then for `two` and `three` at once, then answer; the numbers are the seconds that a call
takes. Every engine request and every tool call leaves a line in JOURNAL, so that a test can count
what really ran.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Annotated, Any

from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.scheduler.distributed import distributed_scheduler
from openjarvis.scheduler.durable import DurableEngine, DurableTool
from openjarvis.toolkit.typed import TypedTool

LEASE_SECONDS = 2.0


class Journal:
    """A file to which several processes append whole lines."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + f" {os.getpid()}\n").encode())


class StepTool(TypedTool):
    """Take a while, and tell the journal before and after. Call it for every step."""

    name = "step"

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def run(
        self,
        run: Annotated[str, "Whose step it is"],
        step: Annotated[str, "Its name"],
        seconds: Annotated[float, "How long it takes"],
    ) -> str:
        self.journal.write("begin", run, step)
        time.sleep(seconds)
        self.journal.write("end", run, step)
        return step


class StepEngine:
    """Asks for one turn of the prompt after another, then gives the answer."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def generate(self, messages: list[str], **request: Any) -> dict[str, Any]:
        run, *turns = messages[0].split()
        done = len(messages) - 1
        self.journal.write("model", run, done)
        if done == len(turns):
            return {"content": " ".join(messages[1:])}
        return {"tool_calls": [_call(run, *part.split("=")) for part in turns[done].split(",")]}


def _call(run: str, step: str, seconds: str) -> dict[str, str]:
    arguments = {"run": run, "step": step, "seconds": float(seconds)}
    return {"id": "", "name": "step", "arguments": json.dumps(arguments)}


class StepSystem:
    """The least of a system: a model that calls a tool until it has its answer."""

    def __init__(self, journal: Journal) -> None:
        self.engine = DurableEngine(StepEngine(journal))
        self.tool = DurableTool(StepTool(journal))

    def ask_full(self, prompt: str, **request: Any) -> dict[str, Any]:
        messages, executor = [prompt], ToolExecutor([self.tool])
        while asked := self.engine.generate(messages).get("tool_calls"):
            calls = [ToolCall(**call) for call in asked]
            messages.append("+".join(r.content for r in executor.execute_all(calls)))
        return {"content": " ".join(messages[1:])}


def main() -> None:
    dsn, journal = sys.argv[1:]
    system = StepSystem(Journal(Path(journal)))
    scheduler = distributed_scheduler(dsn, system, lease_seconds=LEASE_SECONDS)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    scheduler.start()
    print("ready", flush=True)
    stopping.wait()
    scheduler.stop(60)
    print("stopped", flush=True)


if __name__ == "__main__":
    main()
