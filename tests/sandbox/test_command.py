import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from openjarvis.sandbox import command
from openjarvis.sandbox.isolation import Isolation, detect
from openjarvis.sandbox.limits import Limits


def test_the_environment_is_made_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("LD_PRELOAD", "/tmp/x.so")
    monkeypatch.setenv("PYTHONSTARTUP", "/tmp/x.py")
    monkeypatch.setenv("LANG", "th_TH.UTF-8")

    made = command.environment("/work")

    assert made["LANG"] == "th_TH.UTF-8"
    assert made["HOME"] == made["TMPDIR"] == "/work"
    assert not {"OPENAI_API_KEY", "LD_PRELOAD", "PYTHONSTARTUP", "PATH"} & set(made)


def test_the_interpreter_is_the_real_one_and_starts_without_anything_of_the_users() -> None:
    line = command.python_command(workplace="/w", wrapper="", limits=Limits())

    assert line[1:3] == ["-I", "-S"]
    assert not Path(line[0]).is_symlink()


def test_nothing_of_the_users_is_readable() -> None:
    told = command.plan(Isolation(landlock=1, seccomp=True), workplace="/w", limits=Limits())
    readable = [Path(path) for path in told["readable"]]

    for private in (Path.home(), Path.cwd(), Path("/etc/passwd"), Path("/proc/1"), Path("/")):
        assert not any(private.is_relative_to(path) for path in readable), private


def test_bubblewrap_shares_no_namespace_and_no_writable_folder() -> None:
    line = command.wrap(["python"], wrapper="bubblewrap", workplace="", limits=Limits())

    assert {"--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent"} <= set(line)
    assert not {"--bind", "--dev-bind", "--share-net"} & set(line)
    assert line[-2:] == ["--", "python"]


def test_the_macos_profile_denies_first_and_quotes_its_paths(tmp_path: Path) -> None:
    workplace = tmp_path / 'a "quoted" name'
    workplace.mkdir()

    lines = command.macos_profile(str(workplace)).splitlines()

    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert "(deny network*)" in lines
    assert "(deny process-fork)" in lines
    assert 'a \\"quoted\\" name' in "".join(line for line in lines if "file-write*" in line)
    assert sys.prefix not in [line for line in lines if "file-write*" in line]


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 100_000])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="timeout_seconds"):
        Limits(timeout_seconds=seconds)


@pytest.mark.skipif(detect().wrapper != "bubblewrap", reason="needs bubblewrap")
def test_a_package_that_lies_where_programs_work_is_seen_by_them() -> None:
    with tempfile.TemporaryDirectory(dir=command.PRIVATE_WORKPLACE) as folder:
        shutil.copytree(command._package(), Path(folder, "openjarvis"))
        code = "from openjarvis.sandbox.session import Sandbox; print(Sandbox().run('print(1+1)'))"

        done = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {folder!r}); {code}"],
            capture_output=True,
            text=True,
            check=False,
        )

    assert "stdout='2\\n'" in done.stdout, done.stderr
