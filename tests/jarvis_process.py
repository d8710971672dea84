"""`jarvis` as a process, for what only a process does; and the tool files that it is given."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

JARVIS = str(Path(sys.executable).with_name("jarvis"))

TOOLS = """\
import os
import subprocess
import sys
import threading
import time

from agent.tools import BaseTool, ToolManifest, ToolResult, tool

print("printed while the file was loaded")
subprocess.run([sys.executable, "-c", "print('printed by a child of the file')"])


@tool("chatty", "Say a text. Use it when the user wants it said.", examples=["say hello"])
def chatty(text: str = "hello") -> str:
    print("printed by the tool")
    os.write(1, b"written by the tool\\n")
    subprocess.run([sys.executable, "-c", "print('printed by a child')"])
    return "said: " + text


@tool("painted", "Paint a thing. Use it when the user wants paint.", examples=["paint it"])
def painted() -> str:
    return "\\x1b[31mred\\x1b[0m \\u202egnp.exe \\x9b2J"


@tool("erase", "Erase. Use it to erase.", requires_confirmation=True, examples=["erase it all"])
def erase() -> str:
    return "erased"


@tool("slow", "Sleep. Use it when the user wants sleep.", examples=["sleep now"])
def slow() -> str:
    print("asleep")
    threading.Event().wait()


@tool("late", "Print for ever. Use it to print.", examples=["print for ever"], timeout_seconds=0.2)
def late() -> str:
    while True:
        print("printed late")
        time.sleep(0.0005)


class Unavailable(BaseTool):
    def manifest(self):
        return ToolManifest(name="gone", description="Gone.", parameters={})

    def execute(self, params):
        return ToolResult(success=True, data="")

    def is_available(self):
        return False
"""


def write_tools(folder: Path) -> Path:
    """Write a tool folder with `TOOLS` and a file that cannot be loaded; return the folder."""
    folder.mkdir(parents=True)
    (folder / "various.py").write_text(TOOLS)
    (folder / "broken.py").write_text("\nraise ValueError('broken on purpose')\n")
    return folder


def run_jarvis(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Return what `jarvis` did with these arguments; it has no terminal."""
    environment = {**os.environ, **options.pop("env", {})}
    options = {"stdin": subprocess.DEVNULL, **options} if "input" not in options else options
    return subprocess.run(
        [JARVIS, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        env=environment,
        **options,
    )
