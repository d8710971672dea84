import gc
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from docker_daemon import Daemon, docker_daemon
from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from openjarvis.tools.code_interpreter_docker import CodeInterpreterDockerTool
from waiting import eventually


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    pytest.importorskip("docker")
    with docker_daemon(tmp_path / "docker.sock") as served:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{served.path}")
        yield served


def test_output_comes_back_and_the_container_is_gone(daemon: Daemon) -> None:
    result = CodeInterpreterDockerTool().execute(code="print('hello')")

    assert (result.success, result.content) == (True, "hello")
    assert result.metadata["returncode"] == 0
    assert result.metadata["sandbox"] == {"layers": ["container", "no network"], "missing": []}
    assert daemon.made == {}


def test_the_container_is_bounded_and_has_no_network(daemon: Daemon) -> None:
    CodeInterpreterDockerTool(memory_limit="64m", cpu_count=2, pids_limit=9).execute(code="1")

    made = daemon.created[0]
    host = made["HostConfig"]
    assert made["NetworkDisabled"] is True
    assert host["NetworkMode"] == "none"
    assert made["User"] == "65534:65534"
    assert (host["Memory"], host["MemorySwap"]) == (64 << 20, 64 << 20)
    assert (host["NanoCpus"], host["PidsLimit"]) == (2_000_000_000, 9)
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["LogConfig"]["Config"]["max-size"]


def test_an_exception_is_a_failure_with_its_name_and_code(daemon: Daemon) -> None:
    result = CodeInterpreterDockerTool().execute(code="print('so far')\n1 / 0")

    assert not result.success
    assert result.content.startswith("so far\nTraceback")
    assert "ZeroDivisionError" in result.content
    assert result.metadata["returncode"] == 1


def test_one_that_was_killed_for_its_memory_is_no_success(daemon: Daemon) -> None:
    result = CodeInterpreterDockerTool().execute(code="import os; os.kill(os.getpid(), 9)")

    assert not result.success
    assert result.content.startswith("The interpreter crashed (exit code 137).")


def test_past_its_time_it_is_killed_and_removed(daemon: Daemon) -> None:
    result = CodeInterpreterDockerTool(timeout=0.5).execute(
        code="import time; print('so far', flush=True); time.sleep(60)"
    )

    assert not result.success
    assert "timed out after 0.5 s" in result.content
    assert daemon.killed == ["c1"]
    assert daemon.made == {}


def test_long_output_is_cut_with_a_note(daemon: Daemon) -> None:
    result = CodeInterpreterDockerTool(max_output=100).execute(code="print('x' * 5000)")

    assert "[Output truncated" in result.content
    assert len(result.content) < 200


@pytest.mark.parametrize(
    "place", ["containers/create", "containers/c1/start", "containers/c1/wait"]
)
def test_a_daemon_that_fails_is_a_sentence_without_its_address(daemon: Daemon, place: str) -> None:
    daemon.breaks_at = place

    result = CodeInterpreterDockerTool().execute(code="1")

    assert not result.success
    assert result.content.startswith("Docker ")
    assert "secret-host" not in result.content
    assert daemon.made == {}


def test_a_missing_image_is_named_with_what_to_run(daemon: Daemon) -> None:
    daemon.has_image = False

    result = CodeInterpreterDockerTool().execute(code="1")

    assert "docker pull python:3.12-slim" in result.content


@pytest.fixture
def nobody_at_dockers_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with warnings.catch_warnings():
        # The SDK leaves its socket unclosed when nobody answers.
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


@pytest.mark.usefixtures("nobody_at_dockers_socket")
def test_a_podman_that_listens_is_used_where_docker_does_not(tmp_path: Path) -> None:
    (tmp_path / "podman").mkdir()

    with docker_daemon(tmp_path / "podman/podman.sock"):
        assert CodeInterpreterDockerTool().execute(code="print(7)").content == "7"


@pytest.mark.usefixtures("nobody_at_dockers_socket")
def test_without_an_engine_it_says_what_to_start() -> None:
    result = CodeInterpreterDockerTool().execute(code="1")

    assert not result.success
    assert "Docker is not running here. Start Docker" in result.content


def test_without_its_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)

    result = CodeInterpreterDockerTool().execute(code="1")

    assert "Docker is not available" in result.content
    assert "pip install '.[docker]'" in result.content


def test_ctrl_c_removes_the_container(daemon: Daemon, caplog: pytest.LogCaptureFixture) -> None:
    def interrupt_when_it_runs() -> None:
        if eventually(lambda: bool(daemon.containers)):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    tool = CodeInterpreterDockerTool()
    executor = ToolExecutor([tool])
    threading.Thread(target=interrupt_when_it_runs, daemon=True).start()

    with pytest.raises(KeyboardInterrupt):
        executor.execute(
            ToolCall("1", tool.name, '{"code": "import threading; threading.Event().wait()"}')
        )

    assert eventually(lambda: daemon.made == {})
    assert "could not be removed" not in caplog.text


@pytest.mark.parametrize("code", ["", "  \n", "x" * 200_000])
def test_code_that_is_none_or_too_long_starts_nothing(daemon: Daemon, code: str) -> None:
    result = CodeInterpreterDockerTool().execute(code=code)

    assert not result.success
    assert daemon.created == []
