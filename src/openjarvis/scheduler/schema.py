"""The tables of the store and the steps that lead from an older form to the present one."""

from openjarvis.core.errors import ConfigError
from openjarvis.scheduler.database import Database

_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE scheduler_tasks (
            id TEXT PRIMARY KEY,
            prompt TEXT NOT NULL,
            schedule_type TEXT NOT NULL,
            schedule_value TEXT NOT NULL,
            context_mode TEXT NOT NULL,
            status TEXT NOT NULL,
            next_run BIGINT,
            last_run BIGINT,
            agent TEXT NOT NULL,
            tools TEXT NOT NULL,
            metadata TEXT NOT NULL,
            timezone TEXT NOT NULL,
            on_missed TEXT NOT NULL,
            on_interrupt TEXT NOT NULL
        )
        """,
        "CREATE INDEX scheduler_tasks_due ON scheduler_tasks (next_run) WHERE status = 'active'",
        """
        CREATE TABLE scheduler_runs (
            id {serial_key},
            task_id TEXT NOT NULL,
            slot BIGINT,
            attempt BIGINT NOT NULL,
            status TEXT NOT NULL,
            owner TEXT NOT NULL,
            lease_until BIGINT NOT NULL,
            started_at BIGINT NOT NULL,
            finished_at BIGINT,
            result TEXT NOT NULL,
            error TEXT NOT NULL,
            calls TEXT NOT NULL,
            UNIQUE (task_id, slot, attempt)
        )
        """,
        "CREATE INDEX scheduler_runs_of_task ON scheduler_runs (task_id, id)",
        "CREATE INDEX scheduler_runs_running ON scheduler_runs (task_id) WHERE status = 'running'",
    ),
)


def migrate(database: Database) -> None:
    """Bring the tables to the present form; processes that start together wait for each other.

    Raises:
        ConfigError: when a newer release has written the database.
    """
    with database.transaction(migrating=True) as execute:
        execute("CREATE TABLE IF NOT EXISTS scheduler_schema (version BIGINT NOT NULL)")
        present = execute("SELECT COALESCE(MAX(version), 0) AS version FROM scheduler_schema")
        version = int(present[0]["version"])
        if version > len(_MIGRATIONS):
            raise ConfigError(
                f"The scheduler's database has schema {version}, this release knows "
                f"{len(_MIGRATIONS)}; update openjarvis or choose another database."
            )
        for number, steps in enumerate(_MIGRATIONS[version:], start=version + 1):
            for step in steps:
                execute(step.format(serial_key=database.serial_key))
            execute("INSERT INTO scheduler_schema (version) VALUES (?)", (number,))
