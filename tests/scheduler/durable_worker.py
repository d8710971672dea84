"""A worker process for the tests of many machines: `python durable_worker.py DSN LOG NAME`.

Every engine request and every tool call leaves a line in LOG, so that a test can count what really
ran. A prompt holds `NAME=SECONDS` pairs: the tools to call one after another, and how long each
takes.
"""

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from openjarvis.core.types import ToolResult
from openjarvis.scheduler.distributed import distributed_scheduler
from openjarvis.scheduler.durable import DurableEngine, DurableTool
from openjarvis.toolkit.base import BaseTool, ToolSpec
from openjarvis.toolkit.context import ToolContext


class Journal:
    """A file to which several processes append whole lines."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


class StepTool(BaseTool):
    """Waits a while, and says so in the journal before and after."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec("step", "Do a step.")

    def execute(self, **params: Any) -> ToolResult:
        self.journal.write("begin", params["run"], params["step"], os.getpid())
        time.sleep(float(params["seconds"]))
        self.journal.write("end", params["run"], params["step"], os.getpid())
        return ToolResult("step", f"{params['step']} by {os.getpid()}")


class StepEngine:
    """Asks for the prompt's steps one after another, then for nothing more."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal

    def generate(self, messages: list[str], **request: Any) -> dict[str, Any]:
        run, *steps = messages[0].split()
        done = len(messages) - 1
        self.journal.write("model", run, done, os.getpid())
        if done == len(steps):
            return {"content": "; ".join(messages[1:])}
        name, seconds = steps[done].split("=")
        arguments = {"run": run, "step": name, "seconds": seconds}
        return {"tool_calls": [{"id": f"call-{name}", "name": "step", "arguments": arguments}]}


class StepSystem:
    """The least of a system: a model that calls a tool until it has its answer."""

    def __init__(self, journal: Journal) -> None:
        self.engine = DurableEngine(StepEngine(journal))
        self.tool = DurableTool(StepTool(journal))

    def ask_full(self, prompt: str, **request: Any) -> dict[str, Any]:
        messages = [prompt]
        while calls := self.engine.generate(messages).get("tool_calls"):
            for call in calls:
                result = self.tool.invoke(call["arguments"], ToolContext(call_id=call["id"]))
                messages.append(result.content)
        return {"content": "; ".join(messages[1:])}


def main() -> None:
    dsn, log = sys.argv[1:3]
    scheduler = distributed_scheduler(dsn, StepSystem(Journal(Path(log))), lease_seconds=2)
    scheduler.start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
