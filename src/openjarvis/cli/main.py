"""The `jarvis` group: finds a command's module when it is called, and turns errors into words."""

import click

from openjarvis._version import __version__
from openjarvis.cli.lazy import LazyGroup
from openjarvis.cli.log import show_log, show_warnings_only
from openjarvis.cli.render import notice_warnings_of

COMMANDS = {
    "ask": ("openjarvis.cli.ask", "Ask a question, with or without tools."),
    "chat": ("openjarvis.cli.chat", "Talk with a model, turn by turn."),
    "tools": ("openjarvis.cli.tools", "List, show, run and check tools."),
    "memory": ("openjarvis.cli.memory", "Add texts to the memory, search them, index files."),
    "engines": ("openjarvis.cli.engines", "Show the engines, each ready or why not."),
    "mcp": ("openjarvis.cli.mcp", "Offer tools to MCP hosts; list the servers of others."),
    "channels": ("openjarvis.cli.channels", "List, check and use the channels for messages."),
    "models": ("openjarvis.cli.models", "List and fetch model files."),
    "schedule": ("openjarvis.cli.schedule", "Have prompts carried out later, once or repeatedly."),
    "audit": ("openjarvis.cli.audit", "Show the calls that were recorded."),
    "doctor": ("openjarvis.cli.doctor", "Check this installation."),
}
"""Commands by name: the module that holds them under that name, and what they are for."""


@click.group(cls=LazyGroup, commands_at=COMMANDS, context_settings={"max_content_width": 100})
@click.version_option(__version__, prog_name="jarvis")
@click.option("-v", "--verbose", is_flag=True, help="Show the log of calls on stderr.")
def cli(verbose: bool) -> None:
    """Let any language model use tools safely."""
    if verbose:
        show_log()
    else:
        show_warnings_only()
        notice_warnings_of("openjarvis.mcp")


def main() -> None:
    """Run `jarvis` with the process's arguments."""
    cli(prog_name="jarvis")
