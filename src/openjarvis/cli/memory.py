"""`jarvis memory`: add texts, search them, index files, see what there is."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from openjarvis.cli.lazy import Failure
from openjarvis.cli.options import json_option
from openjarvis.cli.render import notice, show, show_json
from openjarvis.config import load_config
from openjarvis.core.strict_json import JSONRefused, loads
from openjarvis.memory.base import MemoryBackend, numbered
from openjarvis.memory.chunking import CHUNK_OVERLAP, CHUNK_SIZE
from openjarvis.memory.ingest import Progress, Summary
from openjarvis.memory.ingest import index as index_path
from openjarvis.memory.opening import open_memory, sqlite_path


@click.group()
def memory() -> None:
    """Add texts to the memory, search them, index files."""


@memory.command()
@click.argument("text", nargs=-1)
@click.option("--source", default="", help="Where the text comes from.")
@click.option("--metadata", default="{}", metavar="JSON", help="What else is known of it.")
@json_option
def add(text: tuple[str, ...], source: str, metadata: str, as_json: bool) -> None:
    """Keep a text; without TEXT it is read from standard input."""
    if not text and not sys.stdin.isatty():
        text = (sys.stdin.read(),)
    content = " ".join(text).strip()
    if not content:
        raise click.UsageError("Missing argument 'TEXT...': what is to be kept?")
    with _memory() as opened:
        key = opened.store(content, source=source, metadata=_object(metadata))
    if as_json:
        show_json({"id": key})
    else:
        show(f"Stored as {key}.")


@memory.command()
@click.argument("query", nargs=-1, required=True)
@click.option("-k", "--top-k", type=click.IntRange(1, 1000), default=5, show_default=True)
@json_option
def search(query: tuple[str, ...], top_k: int, as_json: bool) -> None:
    """Find texts by their words, the best first; exit code 1 when there is none."""
    with _memory() as opened:
        found = opened.retrieve(" ".join(query), top_k=top_k)
    if as_json:
        show_json(
            [
                {
                    "id": result.id,
                    "score": result.score,
                    "source": result.source,
                    "content": result.content,
                    "metadata": result.metadata,
                }
                for result in found
            ]
        )
    elif found:
        show(numbered(found))
    if not found:
        notice("No results.")
        sys.exit(1)


@memory.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--chunk-size", type=click.IntRange(min=1), default=CHUNK_SIZE, show_default=True)
@click.option(
    "--chunk-overlap", type=click.IntRange(min=0), default=CHUNK_OVERLAP, show_default=True
)
@json_option
def index(path: Path, chunk_size: int, chunk_overlap: int, as_json: bool) -> None:
    """Take in a file, or a folder with all its files.

    Files that have not changed since the last time are skipped, those that are gone are forgotten.
    Sizes are in words, or in characters of scripts without spaces.
    """
    with _memory() as opened, _progress(hidden=as_json) as progress:
        try:
            summary = index_path(
                opened,
                path,
                chunk_size=chunk_size,
                chunk_overlap=chunk_overlap,
                progress=progress,
            )
        except FileNotFoundError as error:
            raise Failure(str(error), 1) from error
        except ValueError as error:
            raise Failure(str(error), 2) from error
    _print(summary, as_json=as_json)


@memory.command()
@json_option
def stats(as_json: bool) -> None:
    """Show what the memory holds and where."""
    settings = load_config().memory
    with _memory() as opened:
        files = opened.file_index
        rows: dict[str, Any] = {
            "backend": settings.backend,
            "entries": opened.count(),
            "files": len(files.indexed_files()) if files else 0,
        }
    if settings.backend == "sqlite":
        where = sqlite_path(settings)
        rows |= {"path": str(where), "size_bytes": where.stat().st_size}
    if as_json:
        show_json(rows)
        return
    for name, value in rows.items():
        show(f"{name}: {value}")


@contextmanager
def _memory() -> Iterator[MemoryBackend]:
    with open_memory(load_config().memory) as opened:
        yield opened


def _object(text: str) -> dict[str, Any]:
    try:
        value = loads(text)
    except JSONRefused as error:
        raise click.UsageError(f"--metadata: {error}") from error
    if not isinstance(value, dict):
        raise click.UsageError("--metadata: expected a JSON object.")
    return value


@contextmanager
def _progress(*, hidden: bool) -> Iterator[Progress | None]:
    """Give what draws a progress bar on stderr for a person; None where nobody looks."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    # rich is loaded only to draw for a person: it costs 50 ms.
    from rich.console import Console
    from rich.progress import MofNCompleteColumn
    from rich.progress import Progress as Bar

    columns = (*Bar.get_default_columns(), MofNCompleteColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Indexing", total=None)
        yield lambda done, total, _: bar.update(task, completed=done, total=total)


def _print(summary: Summary, *, as_json: bool) -> None:
    if as_json:
        show_json(summary.as_dict())
        return
    for note in summary.notes:
        notice(note)
    show(str(summary))
