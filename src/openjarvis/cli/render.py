"""What commands print: results on stdout, notices on stderr, plain when piped."""

import json
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from typing import Any, TextIO

import click

from openjarvis.cli.printable import printable
from openjarvis.safety.terminal import plain, plain_json

_RESULTS = "openjarvis.cli.results"
"""Under which a command's context keeps the stream that stdout was."""


def show(text: str) -> None:
    """Print a result, without what could steer the terminal."""
    _print(plain(text).removesuffix("\n"))


def show_json(value: Any) -> None:
    """Print a result as JSON, whatever is in it, without what could steer the terminal."""
    _print(json_text(value, _results(), indent=2))


def json_text(value: Any, stream: TextIO | None, *, indent: int | None = None) -> str:
    """Return what `show_json` prints, as `stream` takes it; without `indent` on one line."""
    takes_all = "utf" in (getattr(stream, "encoding", None) or "utf-8").lower()
    text = json.dumps(printable(value), ensure_ascii=not takes_all, indent=indent, allow_nan=False)
    return plain_json(text)


def notice(text: str) -> None:
    """Print a remark on stderr."""
    click.echo(plain(text), err=True)


class _Noticed(logging.Handler):
    """Tells the user on stderr what a part warns of."""

    def emit(self, record: logging.LogRecord) -> None:
        notice(record.getMessage())


def notice_warnings_of(logger_name: str) -> None:
    """Print on stderr what the logger of this name warns of, from now on."""
    logger = logging.getLogger(logger_name)
    if not any(isinstance(handler, _Noticed) for handler in logger.handlers):
        logger.addHandler(_Noticed(logging.WARNING))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table: drawn for a person at a terminal, tab-separated when piped."""
    cells = [[plain(str(cell)).replace("\n", " ") for cell in row] for row in rows]
    stream = _results()
    if stream is None or not stream.isatty():
        for row in cells:
            _print("\t".join(cell.replace("\t", " ") for cell in row))
        return
    # rich is loaded only to draw for a person: it costs 50 ms.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, header_style="bold")
    for row in cells:
        table.add_row(*map(Text, row))
    Console(file=stream).print(table)


def keep_stdout_for_results() -> TextIO | None:
    """Let what tools and their child processes print go to stderr from here on.

    Returns the stream that stdout was, which only this module writes to then. It stays so to the
    end of the process: a tool that is left running behind its deadline may print at any time. Where
    stdout is not the process's own it ends with the command.
    """
    context = click.get_current_context()
    results: TextIO | None = sys.stdout
    if results is sys.__stdout__ and results and sys.stderr:
        results = context.with_resource(_taken_stdout(results))
    context.meta[_RESULTS] = results
    context.with_resource(redirect_stdout(sys.stderr))
    return results


def _taken_stdout(stdout: TextIO) -> TextIO:
    """Return a stream to where the process's stdout went, which goes to stderr now."""
    stdout.flush()
    kept = os.dup(stdout.fileno())
    os.dup2(sys.stderr.fileno(), stdout.fileno())
    return os.fdopen(kept, "w", encoding=stdout.encoding, errors="backslashreplace")


def _results() -> TextIO | None:
    context = click.get_current_context(silent=True)
    stream: TextIO | None = context.meta.get(_RESULTS, sys.stdout) if context else sys.stdout
    return stream


def _print(text: str) -> None:
    stream = _results()
    if stream is None:  # as where stdout is closed
        return
    try:
        click.echo(text, file=stream)
    except BrokenPipeError:
        # As in `jarvis … | head -1`: the rest goes nowhere, the exit code stays the command's own.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
