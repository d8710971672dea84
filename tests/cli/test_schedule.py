import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openjarvis.cli import cli
from openjarvis.scheduler.book import TaskBook
from openjarvis.scheduler.store import SchedulerStore
from scheduler.daemon import start_daemon

Jarvis = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path))
    monkeypatch.setenv("OPENJARVIS_CONFIG", "")
    monkeypatch.setenv("TZ", "Asia/Bangkok")
    (tmp_path / "config.toml").write_text('[engine]\ndefault = "offline"\n')
    time.tzset()
    return tmp_path


@pytest.fixture
def jarvis(home: Path) -> Jarvis:
    """Runs `jarvis schedule …` in this process."""
    return lambda *words: CliRunner().invoke(cli, ["schedule", *words])


@pytest.fixture
def book(home: Path) -> Iterator[TaskBook]:
    store = SchedulerStore(home / "scheduler.db")
    yield TaskBook(store)
    store.close()


@pytest.fixture(autouse=True)
def restore_the_zone() -> Iterator[None]:
    yield
    time.tzset()


def test_a_task_is_added_with_its_next_three_runs_in_local_time(
    jarvis: Jarvis, book: TaskBook
) -> None:
    done = jarvis(
        *("add", "say hello", "--cron", "0 9 * * *", "--timezone", "Asia/Bangkok"),
        *("--tools", "calculator, think", "--on-missed", "skip", "--on-interrupt", "mark"),
    )

    assert done.exit_code == 0, done.output
    task = book.list_tasks()[0]
    first, *runs = done.stdout.splitlines()
    assert first == f"Task {task.id} is scheduled."
    assert [run[-12:] for run in runs] == ["09:00:00 +07"] * 3
    assert (task.timezone, task.tools) == ("Asia/Bangkok", "calculator,think")
    assert (task.on_missed, task.on_interrupt) == ("skip", "mark")


def test_a_dry_run_saves_nothing(jarvis: Jarvis, book: TaskBook) -> None:
    done = jarvis("add", "hello", "--every", "15m", "--dry-run", "--json")

    answer = json.loads(done.stdout)
    assert done.exit_code == 0
    assert answer["task"] is None
    assert len(answer["next_runs"]) == 3
    assert book.list_tasks() == []


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", "90"), ("15m", "900"), ("2h", "7200"), ("1d", "86400")]
)
def test_an_interval_may_be_said_in_units(
    jarvis: Jarvis, book: TaskBook, text: str, seconds: str
) -> None:
    assert jarvis("add", "hello", "--every", text).exit_code == 0

    assert book.list_tasks()[0].schedule_value == seconds


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--once", "2020-01-01"], "in the past"),
        (["--once", "2020-01-01", "--dry-run"], "in the past"),
        (["--cron", "0 0 30 2 *"], "day-of-month"),
        (["--every", "soon"], "not a positive number"),
        (["--every", "m"], "not a positive number"),
        (["--every", "5", "--timezone", "Mars"], "Unknown time zone"),
        (["--every", "5", "--tools", "calculatr"], "Did you mean 'calculator'"),
        (["--every", "5", "--agent", "simpel"], "Did you mean 'simple'"),
        ([], "one of --once, --every and --cron"),
        (["--every", "5", "--cron", "@daily"], "one of --once, --every and --cron"),
    ],
)
def test_what_could_never_run_is_refused_with_exit_code_2(
    jarvis: Jarvis, book: TaskBook, words: list[str], says: str
) -> None:
    done = jarvis("add", "hello", *words)

    assert done.exit_code == 2
    assert says in done.stderr
    assert book.list_tasks() == []


def test_due_tasks_are_run_once_listed_and_logged(jarvis: Jarvis, book: TaskBook) -> None:
    task = book.create_task("What is 15% of 340?", "interval", "0.001", tools="calculator")
    book.create_task("not yet", "interval", "3600")
    time.sleep(0.01)
    done = jarvis("run", "--once")
    book.pause_task(task.id)

    assert done.exit_code == 0, done.output
    assert f"{task.id}  succeeded  51" in done.stdout
    assert "No language model answered" in done.stderr
    listed = next(row for row in json.loads(jarvis("list", "--json").stdout) if row["tools"])
    assert listed["last_result"]["result"].startswith("51")
    row = next(row for row in jarvis("list").stdout.splitlines() if row.startswith(task.id))
    assert row.split("\t")[1:5] == ["paused", "interval 0.001", "", "succeeded: 51.0"]
    log = json.loads(jarvis("logs", task.id, "-n", "1", "--json").stdout)[0]
    assert log["calls"][0]["tool_name"] == "calculator"
    assert "calculator: ran 51" in jarvis("logs", task.id).stdout


def test_a_failed_run_makes_run_once_fail(jarvis: Jarvis, book: TaskBook) -> None:
    task = book.create_task("hello", "interval", "0.001", agent="nobody")
    time.sleep(0.01)
    done = jarvis("run", "--once", "--json")
    book.pause_task(task.id)

    assert done.exit_code == 1
    first = json.loads(done.stdout.splitlines()[0])
    assert (first["task_id"], first["success"]) == (task.id, False)
    assert "Unknown agent 'nobody'" in first["error"]


def test_a_task_is_paused_resumed_and_cancelled(jarvis: Jarvis, book: TaskBook) -> None:
    task_id = book.create_task("hello", "interval", "60").id

    assert jarvis("pause", task_id).stdout == f"Task {task_id} is paused.\n"
    assert f"Task {task_id} is active." in jarvis("resume", task_id).stdout
    assert jarvis("cancel", task_id).exit_code == 0
    assert json.loads(jarvis("list", "--status", "cancelled", "--json").stdout)[0]["id"] == task_id
    assert jarvis("list", "--status", "active").stdout == ""

    again = jarvis("resume", task_id)
    assert again.exit_code == 1
    assert "cannot be changed any more" in again.stderr


@pytest.mark.parametrize("command", ["pause", "resume", "cancel", "logs"])
def test_an_unknown_task_is_exit_code_2(jarvis: Jarvis, command: str) -> None:
    done = jarvis(command, "nobody")

    assert done.exit_code == 2
    assert "No scheduled task 'nobody'" in done.stderr


def test_a_database_that_cannot_be_used_is_a_sentence(jarvis: Jarvis, home: Path) -> None:
    (home / "scheduler.db").mkdir()

    done = jarvis("list")

    assert done.exit_code == 2
    assert "cannot be opened" in done.stderr


def test_a_server_that_cannot_be_reached_is_a_sentence_without_the_password(
    jarvis: Jarvis,
) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed (extra 'distributed')")

    done = jarvis("list", "--database", "postgresql://me:hunter2@localhost:1/none")

    assert done.exit_code == 2
    assert "cannot be reached" in done.stderr
    assert "hunter2" not in done.output


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to catch")
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_the_daemon_runs_what_is_due_and_ends_cleanly(book: TaskBook, kind: signal.Signals) -> None:
    task = book.create_task("What is 6 * 7?", "interval", "0.3", tools="calculator")
    daemon = start_daemon()
    assert daemon.stdout is not None
    first = daemon.stdout.readline()

    daemon.send_signal(kind)
    _, err = daemon.communicate(timeout=30)

    assert daemon.returncode == 0, err
    assert f"{task.id}  succeeded  42" in first
    assert "Traceback" not in err
    assert {log["status"] for log in book.store.get_run_logs(task.id)} == {"succeeded"}
