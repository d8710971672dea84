"""`jarvis models`: model files on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from openjarvis.cli.options import json_option
from openjarvis.cli.render import notice, show, show_json, show_table
from openjarvis.config import home
from openjarvis.engine.download import Progress
from openjarvis.engine.model_files import local_models, pull


@click.group()
def models() -> None:
    """List and fetch model files for the engine llamacpp."""


@models.command("list")
@json_option
def list_models(as_json: bool) -> None:
    """List the model files that are here."""
    found = local_models(_folder())
    if as_json:
        show_json([{"name": one.name, "path": str(one.path), "bytes": one.size} for one in found])
        return
    if not found:
        notice("No model file is here; 'jarvis models pull OWNER/REPO/FILE.gguf' fetches one.")
    show_table(
        ("MODEL", "MB", "PATH"),
        [(one.name, round(one.size / 1_000_000), one.path) for one in found],
    )


@models.command("pull")
@click.argument("name", metavar="OWNER/REPO/FILE.gguf")
@click.option("--sha256", default="", metavar="HEX", help="The checksum that the file must have.")
@json_option
def pull_model(name: str, sha256: str, as_json: bool) -> None:
    """Fetch a model file from the Hugging Face hub; a broken download is continued."""
    with _progress_bar() as progress:
        path = pull(name, _folder(), sha256=sha256, progress=progress)
    if as_json:
        show_json({"path": str(path)})
        return
    show(str(path))
    notice(f'To use it, put gguf_path = "{path}" into [engine] of the configuration.')


def _folder() -> Path:
    return home() / "models"


@contextmanager
def _progress_bar() -> Iterator[Progress]:
    # rich is loaded only to draw for a person: it costs 50 ms.
    from rich.console import Console
    from rich.progress import DownloadColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (*Bar.get_default_columns(), DownloadColumn(), TransferSpeedColumn())
    console = Console(stderr=True)
    with Bar(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("Fetching", total=None)

        def advance(here: int, total: int) -> None:
            bar.update(task, completed=here, total=total or None)

        yield advance
