"""A click group whose commands are imported when they are called."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from openjarvis.core.errors import ConfigError, LLMError, ToolDefinitionError, nearest
from openjarvis.safety.secrets import mask_secrets
from openjarvis.safety.terminal import plain


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only to run it.

    Errors that users cause or can mend are told in one line, with exit code 1 or 2, instead of a
    traceback.
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
        except (ConfigError, ToolDefinitionError) as error:
            raise Failure(str(error), 2) from error
        except (LLMError, RuntimeError) as error:
            raise Failure(str(error), 1) from error


class Failure(click.ClickException):
    """A sentence for the user on stderr, and an exit code for scripts."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(plain(mask_secrets(message)))
        self.exit_code = exit_code  # type: ignore[misc]
