"""`jarvis audit`: the calls that were recorded."""

from dataclasses import asdict

import click

from openjarvis.cli.lazy import Failure
from openjarvis.cli.options import json_option
from openjarvis.cli.render import show, show_json, show_table
from openjarvis.config import load_config
from openjarvis.execution.record import Outcome
from openjarvis.system import open_audit

LAST_ROW = 2**63 - 1
"""The largest number that SQLite has for a row."""


@click.group()
def audit() -> None:
    """Show the calls that were recorded."""


@audit.command("list")
@click.option("-n", "--limit", type=click.IntRange(1, 100_000), default=20, show_default=True)
@click.option("--tool", help="Only calls of this tool.")
@click.option(
    "--outcome", type=click.Choice([*map(str, Outcome), "running"]), help="Only this outcome."
)
@json_option
def list_calls(limit: int, tool: str | None, outcome: str | None, as_json: bool) -> None:
    """List the latest calls, newest first."""
    trail = open_audit(load_config())
    entries = trail.entries(limit=limit, name=tool, outcome=outcome)
    trail.close()
    if as_json:
        show_json([asdict(entry) for entry in entries])
        return
    show_table(
        ("ID", "STARTED", "TOOL", "OUTCOME", "DETAIL", "SECONDS"),
        [
            (
                entry.id,
                entry.started_at[:19],
                entry.name,
                entry.outcome,
                entry.detail or "",
                "" if entry.latency_seconds is None else f"{entry.latency_seconds:.3f}",
            )
            for entry in entries
        ],
    )


@audit.command("show")
@click.argument("number", type=click.IntRange(1, LAST_ROW))
@json_option
def show_call(number: int, as_json: bool) -> None:
    """Show one call whole: what was asked, what ran, what came back."""
    trail = open_audit(load_config())
    entry = trail.entry(number)
    trail.close()
    if entry is None:
        raise Failure(f"There is no call {number}; 'jarvis audit list' shows those there are.", 1)
    if as_json:
        show_json(asdict(entry))
        return
    for name, value in asdict(entry).items():
        show(f"{name}: {'' if value is None else value}")
