"""`jarvis engines`: which engines are there, each ready or why not."""

import click

from openjarvis.cli.lazy import Failure
from openjarvis.cli.options import json_option
from openjarvis.cli.render import show_json, show_table
from openjarvis.config import JarvisConfig, load_config
from openjarvis.core.errors import unknown_name
from openjarvis.engine.discovery import engine_keys, engine_statuses, nearly_ready
from openjarvis.engine.offline.notice import NO_MODEL, NOTICE
from openjarvis.llm.defaults import engine_settings


@click.command()
@json_option
def engines(as_json: bool) -> None:
    """Show the engines in the order they are tried, each ready or why not."""
    statuses = engine_statuses(engine_settings(load_config()))
    if as_json:
        show_json(
            [
                {"key": one.key, "ready": one.ready, "reason": one.reason, "detail": one.detail}
                for one in statuses
            ]
        )
        return
    show_table(
        ("ENGINE", "READY", "WHY", "DETAIL"),
        [(one.key, "yes" if one.ready else "no", one.reason, one.detail) for one in statuses],
    )


def not_there(config: JarvisConfig, key: str | None) -> Failure:
    """Return what to tell when the engine of `key`, by default the configured, is not there."""
    named = key or config.engine.default
    known = engine_keys(engine_settings(config))
    if named in known:
        statuses = engine_statuses(engine_settings(config))
        reasons = (one.reason.rstrip(".") for one in statuses if one.key == named)
        why = next((f": {reason}" for reason in reasons if reason), "")
        return Failure(f"The engine {named!r} is not ready{why}. 'jarvis engines' shows all.", 1)
    return Failure(unknown_name("engine", named, known), 2)


def without_model(config: JarvisConfig, key: str | None) -> str:
    """Return what to tell when the offline engine is used, named by `key`, configured or neither.

    Where another engine lacks only something, it is named, and what that is.
    """
    is_chosen = key or config.engine.default
    near = None if is_chosen else nearly_ready(engine_settings(config))
    if near is None:
        return NOTICE
    why = near.reason.rstrip(".")
    return f"{NO_MODEL} The engine {near.key!r} is not ready: {why}. 'jarvis engines' shows all."
