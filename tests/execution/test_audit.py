"""The audit trail: whole, durable, masked, and its owner's alone."""

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openjarvis.core.types import ToolCall
from openjarvis.execution.audit import RUNNING, AuditLog
from openjarvis.execution.executor import ToolExecutor
from openjarvis.execution.trip import Run
from spellings import async_function, typed_function

CALL = ToolCall("1", "work", '{"number": 3}')


def test_every_call_is_recorded_whole(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path / "audit.db")
    long = "x" * 100_000
    executor = ToolExecutor([typed_function(lambda number: long)], audit=audit)
    run = Run(agent="tester")

    executor.perform(CALL, run)
    executor.perform(ToolCall("2", "nope", "{}"), run)

    unknown, ran = audit.entries()
    assert (ran.name, ran.outcome, ran.output) == ("work", "ran", long)
    assert json.loads(ran.arguments or "") == {"number": 3}
    assert (ran.run_id, ran.agent, ran.step) == (run.run_id, "tester", 1)
    assert ran.latency_seconds is not None
    assert (unknown.name, unknown.outcome) == ("nope", "unknown_tool")
    assert audit.entry(ran.id) == ran
    assert audit.entry(999) is None
    assert audit.entries(name="work") == [ran]
    assert audit.entries(outcome="unknown_tool") == [unknown]
    assert audit.entries(limit=1) == [unknown]
    audit.close()


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path / "deep" / "audit.db")
    ToolExecutor([typed_function(str)], audit=audit).execute(CALL)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in audit.path.parent.iterdir()}
    audit.close()

    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(audit.path.parent.stat().st_mode) == 0o700


def test_secrets_are_masked_in_it(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path / "audit.db")
    executor = ToolExecutor([typed_function(lambda number: "password=hunter22")], audit=audit)

    executor.execute(CALL)
    executor.execute(ToolCall("2", "work", '{"number": "password=hunter22"}'))
    audit.close()

    assert b"hunter22" not in (tmp_path / "audit.db").read_bytes()


def test_what_cannot_be_recorded_does_not_run(tmp_path: Path) -> None:
    ran: list[int] = []
    audit = AuditLog(tmp_path / "audit.db")
    audit.close()
    for spelling in (typed_function, async_function):
        executor = ToolExecutor([spelling(ran.append)], audit=audit)

        assert "Not run: the audit trail cannot be written" in executor.execute(CALL).content

    assert ran == []


def test_a_call_that_was_running_when_the_process_was_killed_is_in_it(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from openjarvis.core.types import ToolCall\n"
        "from openjarvis.execution.audit import AuditLog\n"
        "from openjarvis.execution.executor import ToolExecutor\n"
        "from openjarvis.toolkit.function import tool\n"
        "@tool\n"
        "def pay(amount: int) -> str:\n"
        "    print('paying', flush=True)\n"
        "    time.sleep(600)\n"
        "executor = ToolExecutor([pay], audit=AuditLog(sys.argv[1]))\n"
        "executor.execute(ToolCall('1', 'pay', '{\"amount\": 5}'))\n"
    )
    path = tmp_path / "audit.db"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "paying\n"
        process.send_signal(signal.SIGKILL if os.name != "nt" else signal.SIGTERM)

    audit = AuditLog(path)
    (entry,) = audit.entries()
    audit.close()

    assert (entry.name, entry.outcome, entry.arguments) == ("pay", RUNNING, '{"amount": 5}')


def test_threads_and_connections_share_one_file(tmp_path: Path) -> None:
    trails = [AuditLog(tmp_path / "audit.db") for _ in range(3)]

    def caller(trail: AuditLog) -> None:
        executor = ToolExecutor([typed_function(str, metadata={"repeatable": True})], audit=trail)
        for _ in range(20):
            assert executor.execute(CALL).success

    threads = [threading.Thread(target=caller, args=(trail,)) for trail in trails]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(trails[0].entries(limit=1_000)) == 60
    for trail in trails:
        trail.close()


def test_a_file_that_is_no_audit_trail_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    path.write_bytes(b"not a database, only a long text" * 100)

    with pytest.raises(sqlite3.DatabaseError):
        AuditLog(path)
