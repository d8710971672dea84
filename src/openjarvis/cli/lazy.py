"""A click group whose commands are imported when they are called."""

import errno
import logging
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from openjarvis.core.errors import (
    ConfigError,
    LLMError,
    LLMErrorCode,
    ToolDefinitionError,
    ToolError,
    Unavailable,
    nearest,
)
from openjarvis.safety.secrets import mask_secrets
from openjarvis.safety.terminal import plain

_logger = logging.getLogger("openjarvis.cli")


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only to run it.

    What a command raises is told in one line instead of a traceback: exit code 2 for what the user
    can mend in the command or the configuration, 130 for Ctrl-C, else 1.
    """

    def __init__(
        self, *args: Any, commands_at: Mapping[str, tuple[str, str]], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._commands_at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._commands_at:
            return None
        command: click.Command = getattr(import_module(self._commands_at[cmd_name][0]), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._commands_at and not args[0].startswith("-"):
            near = nearest(args[0], list(self._commands_at))
            hint = f" Did you mean {near!r}?" if near else ""
            ctx.fail(f"No such command {plain(args[0])!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._commands_at.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt as error:
            raise Failure(INTERRUPTED, 130) from error
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # nobody reads any more: click ends in silence
            _logger.debug("The command failed.", exc_info=True)
            raise _failure(error) from error


INTERRUPTED = "Interrupted. 'jarvis audit list' shows the calls that had begun."


def _failure(error: Exception) -> "Failure":
    if isinstance(error, ConfigError | ToolDefinitionError):
        return Failure(str(error), 2)
    if isinstance(error, LLMError):
        return Failure(str(error), 2 if error.code is LLMErrorCode.INVALID_REQUEST else 1)
    if isinstance(error, Unavailable | ToolError):
        return Failure(str(error), 1)
    # An engine or an agent may be anybody's and may raise anything.
    return Failure(
        f"{type(error).__name__}: {error} (jarvis --verbose … shows where it was raised.)", 1
    )


class Failure(click.ClickException):
    """A sentence for the user on stderr, and an exit code for scripts."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(plain(mask_secrets(message)))
        self.exit_code = exit_code  # type: ignore[misc]
