"""The scheduler as configured: its store, and how its unattended runs ask and are approved."""

import sqlite3
from pathlib import Path
from typing import Any

from openjarvis.config import JarvisConfig, home
from openjarvis.core.errors import ConfigError
from openjarvis.core.events import EventBus
from openjarvis.execution.approval import Denied, ToolCallRequest
from openjarvis.scheduler.distributed import distributed_scheduler
from openjarvis.scheduler.durable import DurableSystem
from openjarvis.scheduler.postgres import PostgresDatabase
from openjarvis.scheduler.scheduler import TaskScheduler
from openjarvis.scheduler.store import SchedulerStore

UNATTENDED = Denied(
    "this is an unattended run, and nobody is there to confirm the call", code="UNATTENDED"
)


def open_store(config: JarvisConfig) -> SchedulerStore:
    """Return the store of scheduled tasks, in SQLite or, where so configured, in PostgreSQL.

    Raises:
        ConfigError: when it cannot be opened.
    """
    settings = config.scheduler
    if settings.database:
        return SchedulerStore(PostgresDatabase(settings.database))
    path = store_path(config)
    try:
        return SchedulerStore(path)
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(
            f"The scheduler's database {path} cannot be opened: {error}. Set `path` in [scheduler]."
        ) from error


def store_path(config: JarvisConfig) -> Path:
    """Return where the store's file is, for a store in SQLite."""
    settings = config.scheduler
    return Path(settings.path).expanduser() if settings.path else home() / "scheduler.db"


def task_scheduler(config: JarvisConfig, jarvis: Any, bus: EventBus) -> TaskScheduler:
    """Return a scheduler that runs tasks through `jarvis`, once it is started.

    Raises:
        ConfigError: when its database cannot be opened.
    """
    settings = config.scheduler
    options: dict[str, Any] = {
        "poll_interval": settings.poll_interval_seconds,
        "max_parallel": settings.max_parallel,
        "lease_seconds": settings.lease_seconds,
        "missed_after": settings.missed_after_seconds,
        "approve": approve_unattended,
        "bus": bus,
    }
    if settings.database:
        return distributed_scheduler(settings.database, DurableSystem(jarvis), **options)
    return TaskScheduler(open_store(config), jarvis, **options)


def approve_unattended(request: ToolCallRequest) -> Denied | None:
    """Deny the calls that a person would have to confirm, and say why."""
    return UNATTENDED if request.spec.requires_confirmation else None
