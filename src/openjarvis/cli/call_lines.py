"""The two lines that a tool call has on stderr: what is asked for, and how it ended."""

import sys
from typing import Any

import click

from openjarvis.core.events import Event, EventBus, EventType
from openjarvis.core.strict_json import dumps
from openjarvis.execution.record import Outcome, one_line
from openjarvis.safety.terminal import plain

_SHORT = 100
_A_REASON = 300
_MARKS = {Outcome.RAN: ("✓", "green"), Outcome.DENIED: ("✗", "yellow")}


def asked(name: str, arguments: str) -> str:
    """Return the line of a call that is asked for; `arguments` is JSON text."""
    return f"→ {one_line(name, 64)} {one_line(arguments, _SHORT)}"


def ended(name: str, outcome: Outcome, *, seconds: float, said: str) -> tuple[str, str]:
    """Return the line of a call that ended, and its colour."""
    has_run = outcome is Outcome.RAN
    mark, colour = _MARKS.get(outcome, ("✗", "red"))
    what = "" if has_run else f"{outcome.value}: "
    said = one_line(said.strip(), _SHORT if has_run else _A_REASON)
    return f"{mark} {one_line(name, 64)} {seconds:.2f} s · {what}{said}", colour


def show_calls(bus: EventBus) -> bool:
    """Show the calls that `bus` tells of from now on, and tell whether that is so.

    It is where stderr is a terminal.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        return False
    bus.subscribe(EventType.TOOL_CALL_START, _show_asked)
    bus.subscribe(EventType.TOOL_CALL_END, _show_ended)
    return True


def _show_asked(event: Event) -> None:
    arguments: Any = event.data["arguments"]
    text = arguments if isinstance(arguments, str) else dumps(arguments)
    click.secho(plain(asked(event.data["tool"], text)), err=True, dim=True)


def _show_ended(event: Event) -> None:
    told = event.data
    text, colour = ended(
        told["tool"], Outcome(told["outcome"]), seconds=told["latency"], said=told["result"]
    )
    click.secho(plain(text), err=True, fg=colour)
