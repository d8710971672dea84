"""`jarvis channels`: which there are, whether they work, and a message by hand."""

import sys

import click

from openjarvis.channels.base import ChannelError, ChannelStatus
from openjarvis.channels.directory import Channels
from openjarvis.cli.lazy import Failure
from openjarvis.cli.options import json_option
from openjarvis.cli.render import notice, show, show_json, show_table
from openjarvis.config import load_config


@click.group()
def channels() -> None:
    """List, check and use the channels for messages."""


@channels.command("list")
@json_option
def list_channels(as_json: bool) -> None:
    """List the configured channels."""
    channels = _channels()
    names = list(channels.each)
    if as_json:
        show_json(names)
        return
    sending = channels.list_channels()
    for name in names:
        show(name if name in sending else f"{name}\tonly receives")
    if not names:
        notice("No channels are configured; see [channels.NAME] in docs/channels.md.")


@channels.command()
@json_option
def status(as_json: bool) -> None:
    """Check every channel, without sending; exit code 1 when one does not work."""
    statuses = _channels().statuses()
    if as_json:
        show_json(
            {name: {"status": one.value, "detail": seen} for name, (one, seen) in statuses.items()}
        )
    else:
        rows = [(name, one.value, seen) for name, (one, seen) in statuses.items()]
        show_table(("CHANNEL", "STATUS", "DETAIL"), rows)
    if any(one is not ChannelStatus.CONNECTED for one, _ in statuses.values()):
        raise SystemExit(1)


@channels.command()
@click.argument("channel")
@click.argument("content", nargs=-1)
@click.option("--conversation", default="", help="The conversation to answer in.")
@click.option("--subject", default="", help="The subject of a mail, a title elsewhere.")
@json_option
def send(
    channel: str, content: tuple[str, ...], conversation: str, subject: str, as_json: bool
) -> None:
    """Send CONTENT over CHANNEL; without CONTENT it is read from standard input."""
    if not content and not sys.stdin.isatty():
        content = (sys.stdin.read(),)
    text = " ".join(content).strip()
    if not text:
        raise click.UsageError("Missing argument 'CONTENT...': what is to be sent?")
    try:
        _channels().send(channel, text, conversation_id=conversation, metadata={"subject": subject})
    except ChannelError as error:
        raise Failure(str(error), 1) from error
    if as_json:
        show_json({"channel": channel, "sent": True})
    else:
        show(f"Sent to {channel}.")


def _channels() -> Channels:
    return Channels(load_config().channels)
