"""Tool files as people write them, by file name; `_` files are their siblings."""

import os
from collections.abc import Mapping
from pathlib import Path

WEATHER = '''\
"""Weather tool."""
import json
import logging

from agent.tools import BaseTool, ToolManifest, ToolResult

logger = logging.getLogger(__name__)

FAKE = {"London": "rain", "Bangkok": "sun"}


class WeatherTool(BaseTool):
    """Looks the weather up."""

    def __init__(self, config: dict):
        self.config = config

    def manifest(self) -> ToolManifest:
        return ToolManifest(
            name="weather",
            description="Get the weather of a city. Use it when the user asks about rain or sun.",
            parameters={"city": "the city's name"},
            examples=["Is it raining in London?", "What's the weather in Bangkok?"],
        )

    def execute(self, params: dict) -> ToolResult:
        try:
            sky = FAKE[params["city"]]
        except KeyError as e:
            return ToolResult(success=False, data="", error=f"unknown city {e}")
        return ToolResult(success=True, data=json.dumps({"sky": sky}))

    def is_available(self) -> bool:
        return self.config.get("tools", {}).get("weather", {}).get("enabled", True)
'''

CURRENCY = """\
from agent.tools import BaseTool, ToolManifest, ToolResult
from agent.tools._rates import RATES, convert


class CurrencyTool(BaseTool):
    def __init__(self):
        self.calls = 0

    def manifest(self):
        return ToolManifest(
            name="convert_currency",
            description="Convert an amount of money. Use it when prices are asked for.",
            parameters={
                "amount": {"type": "number", "description": "how much"},
                "source": {"type": "string", "enum": sorted(RATES), "description": "from"},
                "target": {"type": "string", "enum": sorted(RATES), "description": "to",
                           "default": "EUR"},
                "digits": {"type": "integer", "description": "decimals", "required": False},
            },
            examples=[("How much is 10 USD?", {"amount": 10, "source": "USD"}), "100 THB in EUR"],
        )

    def execute(self, params):
        self.calls += 1
        value = convert(params["amount"], params["source"], params["target"])
        return ToolResult(True, {"value": round(value, params.get("digits", 2)),
                                 "currency": params["target"]})
"""

RATES = """\
RATES = {"EUR": 1.0, "USD": 1.25, "THB": 40.0}


def convert(amount, source, target):
    return amount / RATES[source] * RATES[target]
"""

NOTES = '''\
"""Two tools that share a store and a base."""
from abc import abstractmethod
from openjarvis.dropins import BaseTool, ToolManifest, ToolResult, ToolError

_STORE = {}


class NoteBase(BaseTool):
    """Not a tool itself: `manifest` is for the subclasses."""

    def title(self, params):
        title = params["title"].strip()
        if not title:
            raise ToolError("A note needs a title.")
        return title


class AddNote(NoteBase):
    def manifest(self):
        return ToolManifest("add_note", "Keep a note. Call it when the user says: remember.",
                            {"title": "short title", "text": "what to keep"}, ["Remember the milk"])

    def execute(self, params):
        _STORE[self.title(params)] = params["text"]
        return ToolResult(success=True, data="kept")


class ReadNote(NoteBase):
    def manifest(self):
        return ToolManifest("read_note", "Read a note back. Call it when the user asks for a note.",
                            {"title": "its title"})

    def execute(self, params):
        title = self.title(params)
        if title not in _STORE:
            return ToolResult(success=False, error=f"no note {title!r}")
        return ToolResult(success=True, data=_STORE[title])
'''

DICE = '''\
import random
from typing import Annotated

from agent.tools import tool


@tool("roll_dice", "Roll dice. Use it when the user wants a random number.")
def roll(sides: Annotated[int, "how many sides"] = 6) -> str:
    return str(random.randint(1, sides))


@tool
async def coin() -> str:
    """Toss a coin. Use it when the user wants heads or tails."""
    return random.choice(["heads", "tails"])
'''

WORD_COUNT = '''\
from typing import Annotated

from openjarvis.toolkit.typed import TypedTool


class WordCountTool(TypedTool):
    """Count the words of a text. Call it when the user asks about a length."""

    name = "word_count"

    def run(self, text: Annotated[str, "The text to measure"]) -> str:
        return str(len(text.split()))
'''

SPEC_STYLE = """\
from openjarvis.core.types import ToolResult
from openjarvis.toolkit.base import BaseTool, ToolSpec


class ReverseTool(BaseTool):
    tool_id = "reverse"

    def __init__(self, config):
        self.suffix = config.get("suffix", "")

    @property
    def spec(self):
        return ToolSpec(
            name="reverse",
            description="Reverse a text. Use it when the user wants a text backwards.",
            parameters={
                "type": "object",
                "properties": {"text": {"type": "string", "description": "what to reverse"}},
                "required": ["text"],
            },
        )

    def execute(self, **params):
        return ToolResult(tool_name="reverse", content=params["text"][::-1] + self.suffix)
"""

TRANSLATE = """\
import agent.tools
import agent.tools._rates as rates


class Translate(agent.tools.BaseTool):
    def manifest(self):
        return agent.tools.ToolManifest(
            name="translate",
            description="Translate a text. Use it when the user asks what something means.",
            parameters={
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "what to translate"},
                    "language": {"type": "string", "description": "to which", "default": "en"},
                },
                "required": ["text"],
            },
            category="language",
            requires_confirmation=True,
            timeout_seconds=5,
        )

    def execute(self, params):
        return agent.tools.ToolResult(success=True, data=[params["language"], params["text"]])
"""

AGENDA = """\
from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import typing as t

from . import BaseTool, ToolManifest, ToolResult
from ._rates import RATES as _RATES


@dataclasses.dataclass
class Entry:
    day: dt.date
    what: str
    tags: t.List[str] = dataclasses.field(default_factory=list)


class AgendaTool(BaseTool):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.entries = [Entry(dt.date(2030, 1, 2), "dentist")]

    def manifest(self):
        return ToolManifest(name="agenda", description="List a day. Call it when asked for plans.",
                            parameters={"day": {"type": "string", "format": "date"}})

    async def execute(self, params):
        await asyncio.sleep(0)
        found = [e.what for e in self.entries if e.day.isoformat() == params["day"]]
        return ToolResult(success=True, data=found)
"""

STANDALONE = '''\
#!/usr/bin/env python3
"""Runs without the assistant too."""
try:
    from agent.tools import BaseTool, ToolManifest, ToolResult
except ImportError:
    BaseTool = object
    ToolManifest = ToolResult = dict


class HomeTool(BaseTool):
    def __init__(self, config=None):
        self.lamps = (config or {}).get("lamps", ["kitchen"])

    def manifest(self):
        return ToolManifest(name="lamps", description="List lamps. Use it when asked about lights.")

    def execute(self, params):
        return ToolResult(success=True, data={"lamps": self.lamps})


if __name__ == "__main__":
    raise SystemExit(HomeTool().execute({}))
'''

LAZY = """\
import threading
from agent.tools import BaseTool, ToolManifest, ToolResult


class LazyTool(BaseTool):
    def manifest(self):
        return ToolManifest(name="lazy", description="Imports late. Use it if you are lazy.")

    def execute(self, params):
        found = []

        def work():
            from agent.tools._rates import RATES
            from . import _rates
            import agent.tools._rates
            found.append(agent.tools._rates is _rates and len(RATES))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return ToolResult(success=True, data=str(found[0]))
"""

THAI = """\
# -*- coding: utf-8 -*-
from agent.tools import BaseTool, ToolManifest, ToolResult


class เครื่องมือราคา(BaseTool):
    def manifest(self):
        return ToolManifest(name="gold_price", description="ราคาทองคำวันนี้ ใช้เมื่อผู้ใช้ถามราคาทอง",
                            parameters={"ชนิด": "ชนิดของทอง"}, examples=["ราคาทองวันนี้เท่าไร"])

    def execute(self, params):
        return ToolResult(success=True, data={"ราคา": 40000})
"""

CHATTY = """\
print("loading chatty tool...")
from agent.tools import *


class Chatty(BaseTool):
    def __init__(self, config):
        print("made")

    def manifest(self):
        return ToolManifest(name="chatty", description="Talks. Use it when it is too quiet.")

    def execute(self, params):
        return "plain text"
"""

GOOD = {
    "agenda.py": AGENDA,
    "chatty.py": CHATTY,
    "currency.py": CURRENCY,
    "dice.py": DICE,
    "gold-price.v2.py": THAI,
    "lamps.py": STANDALONE,
    "lazy.py": LAZY,
    "notes.py": NOTES,
    "reverse.py": SPEC_STYLE,
    "translate.py": TRANSLATE,
    "weather.py": WEATHER,
    "word_count.py": WORD_COUNT,
    "_rates.py": RATES,
}

NAMES = [
    "agenda",
    "chatty",
    "convert_currency",
    "roll_dice",
    "coin",
    "gold_price",
    "lamps",
    "lazy",
    "add_note",
    "read_note",
    "reverse",
    "translate",
    "weather",
    "word_count",
]
"""The tools of `GOOD`, in the order they are loaded."""


def tool_file(name: str, *, top: str = "", body: str = "") -> str:
    """Return a small tool file; `top` stands before the class, `body` in its `execute`."""
    return (
        "from agent.tools import BaseTool, ToolManifest, ToolResult\n"
        f"{top}\n"
        f"class {name.title()}Tool(BaseTool):\n"
        "    def manifest(self):\n"
        f"        return ToolManifest({name!r}, 'Use it when {name} is asked for.')\n"
        "    def execute(self, params):\n"
        f"        {body or f'return ToolResult(True, {name!r})'}\n"
    )


def write_folder(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files that only their owner can write, into a folder of that kind; return it."""
    umask = os.umask(0o022)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for relative, content in files.items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    finally:
        os.umask(umask)
    return folder
