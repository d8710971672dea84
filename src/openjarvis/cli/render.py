"""What commands print: results on stdout, notices on stderr, plain when piped."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any

import click

from openjarvis.safety.terminal import plain


def show(text: str) -> None:
    """Print a result, without what could steer the terminal."""
    click.echo(plain(text), nl=not text.endswith("\n"))


def show_json(value: Any) -> None:
    """Print a result as JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def notice(text: str) -> None:
    """Print a remark on stderr."""
    click.echo(plain(text), err=True)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table: drawn for a person at a terminal, tab-separated when piped."""
    cells = [[plain(str(cell)).replace("\n", " ") for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cells:
            click.echo("\t".join(cell.replace("\t", " ") for cell in row))
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
    Console().print(table)


@contextmanager
def tools_print_to_stderr() -> Iterator[None]:
    """Keep stdout for the result: what tools print meanwhile goes to stderr."""
    with redirect_stdout(sys.stderr):
        yield
