"""2,000 chunks from a scripted engine through `llm.stream`: what a chunk costs over the engine."""

import asyncio

from benchmarks.measure import cost_of_all, row
from openjarvis import llm
from openjarvis.testing import ScriptedEngine, says

CHUNKS = 2_000
TEXT = "x" * CHUNKS


def engine() -> ScriptedEngine:
    return ScriptedEngine([says(TEXT)], chunk_size=1)


def bare() -> None:
    for _ in engine().chunks([llm.user("Go")]):
        pass


def streamed() -> None:
    with llm.stream(messages=[llm.user("Go")], engine=engine()) as stream:
        for _ in stream:
            pass


async def astreamed() -> None:
    async with llm.astream(messages=[llm.user("Go")], engine=engine()) as stream:
        async for _ in stream:
            pass


if __name__ == "__main__":
    alone = cost_of_all(bare, times=CHUNKS).cpu
    row("the engine alone", alone, "CPU µs")
    for name, run in (("llm.stream", streamed), ("llm.astream", lambda: asyncio.run(astreamed()))):
        whole = cost_of_all(run, times=CHUNKS).cpu
        row(f"{name}, over the engine", whole - alone, "CPU µs", 5, f"{whole / alone:.1f}x")
