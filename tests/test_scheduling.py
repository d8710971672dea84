import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openjarvis import Jarvis
from openjarvis.config import load_config
from openjarvis.core.registry import ToolRegistry
from openjarvis.scheduler.task import TaskStatus
from openjarvis.testing import ScriptedEngine, calls, says
from openjarvis.toolkit.typed import TypedTool

paid: list[str] = []


class PayTool(TypedTool):
    """Pay a bill. Call it when a bill is to be paid."""

    name = "pay"
    requires_confirmation = True

    def run(self, bill: str) -> str:
        paid.append(bill)
        return "paid"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("OPENJARVIS_HOME", str(tmp_path))
    monkeypatch.delenv("OPENJARVIS_CONFIG", raising=False)
    paid.clear()
    with ToolRegistry.isolated():
        yield tmp_path


def test_a_model_schedules_a_task_and_the_sdk_runs_it(home: Path) -> None:
    engine = ScriptedEngine(
        [
            calls(
                "schedule_task", prompt="Add up.", schedule_type="interval", schedule_value="0.001"
            ),
            says("It is scheduled."),
            says("Added up."),
        ]
    )
    with Jarvis(engine=engine) as jarvis:
        answer = jarvis.ask_full("Add up every so often.", tools=["schedule_task"])
        assert answer["tool_results"][0]["success"], answer
        task = jarvis.scheduler.list_tasks()[0]
        time.sleep(0.01)
        jarvis.scheduler.run_due()
        assert jarvis.scheduler.runner.wait(10)

        assert jarvis.scheduler.store.get_run_logs(task.id)[0]["result"] == "Added up."
        assert jarvis.scheduler.pause_task(task.id).status == TaskStatus.PAUSED
    assert (home / "scheduler.db").exists()


def test_a_call_that_needs_a_person_is_denied_and_the_record_says_why() -> None:
    ToolRegistry.register_value("pay", PayTool)
    engine = ScriptedEngine([calls("pay", bill="B1"), says("A person must do that.")])
    with Jarvis(engine=engine) as jarvis:
        task = jarvis.scheduler.create_task("Pay B1.", "interval", "0.001", tools="pay")
        time.sleep(0.01)
        jarvis.scheduler.run_due()
        assert jarvis.scheduler.runner.wait(10)
        log = jarvis.scheduler.store.get_run_logs(task.id)[0]

    assert paid == []
    assert (log["success"], log["result"]) == (True, "A person must do that.")
    assert log["calls"][0]["outcome"] == "denied"
    assert "unattended run" in log["calls"][0]["content"]


def test_asking_without_scheduler_tools_opens_no_database(home: Path) -> None:
    with Jarvis(engine=ScriptedEngine([says("Hello.")])) as jarvis:
        jarvis.ask("Hello?")

    assert not (home / "scheduler.db").exists()


def test_the_scheduler_is_configured_in_its_section(home: Path) -> None:
    (home / "config.toml").write_text(
        f'[scheduler]\npath = "{home / "elsewhere.db"}"\nmax_parallel = 2\n'
    )
    with Jarvis(load_config(), engine=ScriptedEngine([])) as jarvis:
        assert jarvis.scheduler.runner.free() == 2

    assert (home / "elsewhere.db").exists()


def test_the_password_of_the_database_is_not_shown(home: Path) -> None:
    (home / "config.toml").write_text('[scheduler]\ndatabase = "postgresql://me:hunter2@db/x"\n')

    assert "hunter2" not in repr(load_config().scheduler)
