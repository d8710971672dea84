"""`jarvis schedule`: have prompts carried out later, see what became of them, and run them."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from threading import Event as Signal
from typing import Any, TextIO

import click

from openjarvis.cli.engines import without_model
from openjarvis.cli.lazy import Failure
from openjarvis.cli.options import json_option, split_names, tools_option
from openjarvis.cli.render import keep_stdout_for_results, notice, show, show_json, show_table
from openjarvis.config import JarvisConfig, load_config
from openjarvis.core.events import Event, EventBus, EventType
from openjarvis.core.strict_json import dumps
from openjarvis.engine.discovery import OFFLINE
from openjarvis.engine.offline.engine import OfflineEngine
from openjarvis.safety.terminal import plain, plain_json
from openjarvis.scheduler.book import TaskBook
from openjarvis.scheduler.instants import as_instant, now_utc
from openjarvis.scheduler.runs import RunStatus
from openjarvis.scheduler.task import OnInterrupt, OnMissed, ScheduledTask, TaskStatus
from openjarvis.scheduler.timing import ScheduleError, ScheduleType, first_runs
from openjarvis.scheduling import open_store
from openjarvis.sdk import Jarvis
from openjarvis.system import System, UnknownAgentError, agent_class

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _one_of(words: type[StrEnum]) -> click.Choice[str]:
    return click.Choice([word.value for word in words])


database_option = click.option(
    "--database",
    metavar="URL",
    help="A postgresql:// address that workers on many machines share, instead of the configured.",
)


@click.group()
def schedule() -> None:
    """Have prompts carried out later, once or repeatedly."""


@schedule.command("add")
@click.argument("prompt")
@click.option("--once", metavar="TIME", help="At one time, like 2030-01-31T09:00:00+01:00.")
@click.option("--every", metavar="TIME", help="Again and again: seconds, or 15m, 2h, 1d.")
@click.option("--cron", metavar="LINE", help="By a cron line, like '30 9 * * MON-FRI' or @daily.")
@click.option("--timezone", default="UTC", show_default=True, help="The zone of --cron and --once.")
@click.option("-a", "--agent", default="simple", show_default=True, help="Who carries it out.")
@tools_option("The tools it may call, by name, separated by commas.")
@click.option("--on-missed", type=click.Choice([*map(str, OnMissed)]), default=OnMissed.RUN.value)
@click.option(
    "--on-interrupt", type=click.Choice([*map(str, OnInterrupt)]), default=OnInterrupt.RETRY.value
)
@click.option("--dry-run", is_flag=True, help="Only show when it would run.")
@database_option
@json_option
def add_task(
    prompt: str,
    once: str | None,
    every: str | None,
    cron: str | None,
    tools: tuple[str, ...],
    dry_run: bool,
    database: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Schedule PROMPT, and show its first runs.

    Missed runs are made up for by one late run (--on-missed run) or dropped (skip). Runs whose
    process died are tried again (--on-interrupt retry) or left at that (mark).
    """
    kind, value = _schedule(once, every, cron)
    config = _config(database)
    _check_names(config, options["agent"], split_names(*tools))
    task = None
    try:
        runs = first_runs(kind, value, now_utc(), options["timezone"])
        if not runs:
            raise ScheduleError(f"{value!r} is in the past; choose a later time.")
        if not dry_run:
            with _book(config) as book:
                task = book.create_task(prompt, kind, value, tools=split_names(*tools), **options)
    except ValueError as error:
        raise Failure(str(error), 2) from error
    if as_json:
        show_json({"task": task and task.to_dict(), "next_runs": [run.isoformat() for run in runs]})
        return
    show(f"Task {task.id} is scheduled." if task else "Nothing was saved (--dry-run).")
    for run in runs:
        show(f"  {_local(run)}")


@schedule.command("list")
@click.option("--status", type=_one_of(TaskStatus), help="Only tasks of this status.")
@database_option
@json_option
def list_tasks(status: str | None, database: str | None, as_json: bool) -> None:
    """List the tasks: the next run in local time, and how the last one ended."""
    with _book(_config(database)) as book:
        tasks = book.list_tasks(status)
        last = {task.id: _last_run(book, task) for task in tasks}
    if as_json:
        show_json([{**task.to_dict(), "last_result": last[task.id]} for task in tasks])
        return
    show_table(
        ("ID", "STATUS", "SCHEDULE", "NEXT RUN", "LAST RESULT", "PROMPT"),
        [
            (
                task.id,
                task.status,
                f"{task.schedule_type} {task.schedule_value} {_zone(task)}".strip(),
                _local(task.next_run),
                _in_short(last[task.id]),
                task.prompt,
            )
            for task in tasks
        ],
    )


@schedule.command("logs")
@click.argument("task_id")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True)
@database_option
@json_option
def show_logs(task_id: str, limit: int, database: str | None, as_json: bool) -> None:
    """Show the latest runs of a task, newest first."""
    with _book(_config(database)) as book:
        _known(book.get_task, task_id)
        logs = book.store.get_run_logs(task_id, limit=limit)
    if as_json:
        show_json(logs)
        return
    for log in logs:
        show(f"{_local(log['started_at'])}  {log['status']}  {log['result'] or log['error']}")
        for call in log["calls"]:
            show(f"    {call['tool_name']}: {call.get('outcome', '')} {call['content'][:200]}")


@schedule.command("pause")
@click.argument("task_id")
@database_option
def pause_task(task_id: str, database: str | None) -> None:
    """Let a task rest until it is resumed."""
    _change("pause_task", task_id, database)


@schedule.command("resume")
@click.argument("task_id")
@database_option
def resume_task(task_id: str, database: str | None) -> None:
    """Let a paused task run again, from now on."""
    _change("resume_task", task_id, database)


@schedule.command("cancel")
@click.argument("task_id")
@database_option
def cancel_task(task_id: str, database: str | None) -> None:
    """End a task for good."""
    _change("cancel_task", task_id, database)


@schedule.command("run")
@click.option("--once", is_flag=True, help="Run what is due now, then exit.")
@click.option("-e", "--engine", help="The engine; by default the first that is ready.")
@click.option("-m", "--model", help="The model; by default the configured one.")
@click.option("--stop-timeout", type=click.FloatRange(min=0), default=30.0, show_default=True)
@database_option
@json_option
def run_tasks(
    once: bool,
    engine: str | None,
    model: str | None,
    stop_timeout: float,
    database: str | None,
    as_json: bool,
) -> None:
    """Run tasks as they become due, until SIGTERM or Ctrl-C.

    Every run that ends is a line on stdout. With --once the exit code is 1 when a run failed.
    """
    bus, report = EventBus(), _Report(keep_stdout_for_results(), as_json=as_json)
    bus.subscribe(EventType.SCHEDULER_TASK_END, report.ended)
    with (
        Jarvis(_config(database), engine_key=engine, model=model, bus=bus) as jarvis,
        _stop_signal(jarvis.scheduler.wind_down) as stop,
    ):
        if jarvis.system.engine_key == OFFLINE:
            notice(without_model(jarvis.config, engine))
        scheduler = jarvis.scheduler
        if once:
            scheduler.run_pending()
        else:
            scheduler.start()
            notice(f"Running {len(scheduler.list_tasks(TaskStatus.ACTIVE))} active tasks.")
            stop.wait()
        if not scheduler.stop(stop_timeout):
            notice("Some runs are still going; they will count as interrupted.")
            report.failed = True
    if report.failed and once:
        sys.exit(1)


class _Report:
    """Prints a line for every run that ended."""

    def __init__(self, out: TextIO | None, *, as_json: bool) -> None:
        self.failed = False
        self._out = out
        self._as_json = as_json

    def ended(self, event: Event) -> None:
        """Print the run that this event tells of."""
        data = event.data
        self.failed = self.failed or not data["success"]
        if self._as_json:
            click.echo(plain_json(dumps(data)), file=self._out)
            return
        how = RunStatus.SUCCEEDED if data["success"] else RunStatus.FAILED
        answer = (data["result"] or data["error"]).strip().split("\n")[0]
        self._print(plain(f"{_local(now_utc())}  {data['task_id']}  {how}  {answer}"))

    def _print(self, line: str) -> None:
        if self._out is not None:  # as where stdout is closed
            click.echo(line, file=self._out)


def _schedule(once: str | None, every: str | None, cron: str | None) -> tuple[ScheduleType, str]:
    given = [
        (ScheduleType.ONCE, once),
        (ScheduleType.INTERVAL, every and _seconds(every)),
        (ScheduleType.CRON, cron),
    ]
    chosen = [(kind, value) for kind, value in given if value is not None]
    if len(chosen) != 1:
        raise click.UsageError("Say when with one of --once, --every and --cron.")
    return chosen[0]


def _seconds(text: str) -> str:
    unit = _UNITS.get(text[-1:].lower())
    number = text[:-1]
    return str(int(number) * unit) if unit and number.isdecimal() else text


def _check_names(config: JarvisConfig, agent: str, tools: list[str]) -> None:
    """Refuse names that the task's runs would not find."""
    try:
        agent_class(agent)
    except UnknownAgentError as error:
        raise Failure(str(error), 2) from error
    System(config, OfflineEngine()).tools(tools)


def _config(database: str | None) -> JarvisConfig:
    config = load_config()
    if database is not None:
        config.scheduler.database = database
    return config


@contextmanager
def _book(config: JarvisConfig) -> Iterator[TaskBook]:
    book = TaskBook(open_store(config))
    try:
        yield book
    finally:
        book.store.close()


def _known(call: Any, task_id: str) -> ScheduledTask:
    try:
        task: ScheduledTask = call(task_id)
    except KeyError as error:
        raise Failure(f"{error.args[0]}; 'jarvis schedule list' shows all.", 2) from error
    except ValueError as error:
        raise Failure(str(error), 1) from error
    return task


def _change(change: str, task_id: str, database: str | None) -> None:
    with _book(_config(database)) as book:
        task = _known(getattr(book, change), task_id)
    show(f"Task {task.id} is {task.status}. {_local(task.next_run)}".strip())


def _zone(task: ScheduledTask) -> str:
    return "" if task.timezone == "UTC" else task.timezone


def _last_run(book: TaskBook, task: ScheduledTask) -> dict[str, Any] | None:
    logs = book.store.get_run_logs(task.id, limit=1)
    return logs[0] if logs else None


def _in_short(log: dict[str, Any] | None) -> str:
    if log is None:
        return ""
    text = f"{log['status']}: {log['result'] or log['error']}".strip(": ")
    return text if len(text) <= 40 else f"{text[:39]}…"


def _local(moment: datetime | str | None) -> str:
    """Return a time as the clock on the wall shows it."""
    if moment is None:
        return ""
    return as_instant(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


@contextmanager
def _stop_signal(wind_down: Callable[[], None]) -> Iterator[Signal]:
    """Have SIGTERM and Ctrl-C wind down and set the signal; the second one breaks off."""
    stop = Signal()
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = {kind: signal.getsignal(kind) for kind in kinds}

    def restore() -> None:
        for kind, handler in before.items():
            signal.signal(kind, handler)

    def asked(*_: object) -> None:
        restore()
        wind_down()
        stop.set()

    for kind in kinds:
        signal.signal(kind, asked)
    try:
        yield stop
    finally:
        restore()
