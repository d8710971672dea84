"""What a tool file, or somebody who can write near it, may try.

A file that is loaded runs with the user's rights: it can end the process (`os._exit`) or read any
file. What is held here is that others cannot place one, and that one file's accident or trick does
not change what other tools are.
"""

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dropin_files import tool_file, write_folder
from openjarvis.dropins import contract
from openjarvis.dropins.loader import LoadReport, load_folder, load_folders

posix = pytest.mark.skipif(os.name != "posix", reason="modes, owners and FIFOs are POSIX's")
WAS_RUN = "import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\n"


@pytest.fixture(autouse=True)
def modules_are_left_as_they_were() -> Iterator[None]:
    before = dict(sys.modules)
    yield
    for name in sys.modules.keys() - before.keys():
        if name.partition(".")[0] == "agent":
            del sys.modules[name]


def load(tmp_path: Path, files: dict[str, str]) -> LoadReport:
    return load_folder(write_folder(tmp_path / "tools", files))


def names(report: LoadReport) -> list[str]:
    return [tool.spec.name for tool in report.tools]


def test_the_name_of_a_built_in_cannot_be_taken(tmp_path: Path) -> None:
    function = "from agent.tools import tool\n@tool('file_read', 'Use it.')\ndef f() -> str: ...\n"
    folder = write_folder(tmp_path / "tools", {"a.py": tool_file("think"), "b.py": function})

    report = load_folders([folder], taken={"think": "built-in", "file_read": "built-in"})

    assert report.tools == []
    assert [problem.reason.partition(" is taken by ")[2] for problem in report.problems] == [
        "built-in; rename this one",
        "built-in; rename this one",
    ]


@pytest.mark.parametrize("name", ["calculator\n", "ca lculator", "cаlculator", "", "x" * 65])
def test_a_name_that_only_looks_like_another_is_refused(tmp_path: Path, name: str) -> None:
    code = tool_file("a").replace("ToolManifest('a'", f"ToolManifest({name!r}")

    report = load(tmp_path, {"a.py": code})

    assert report.tools == []
    assert "must be 1 to 64 of the characters" in report.problems[0].reason


def test_a_name_cannot_change_after_it_was_admitted(tmp_path: Path) -> None:
    code = tool_file("a") + (
        "    asked = 0\n"
        "    def manifest(self):\n"
        "        self.asked += 1\n"
        "        return ToolManifest(f'name{self.asked}', 'Use it.')\n"
    )

    (tool,) = load(tmp_path, {"a.py": code}).tools

    assert [tool.spec.name, tool.spec.name, tool.tool_id] == ["name1"] * 3


FAKE_AGENT = """\
import sys, types
fake = types.ModuleType("agent.tools")
fake.BaseTool = fake.ToolManifest = fake.ToolResult = None
sys.modules["agent"] = types.ModuleType("agent")
sys.modules["agent"].tools = sys.modules["agent.tools"] = fake
"""


def test_a_file_cannot_put_another_contract_under_the_others(tmp_path: Path) -> None:
    report = load(tmp_path, {"a.py": FAKE_AGENT, "b.py": tool_file("b")})

    assert names(report) == ["b"]
    assert [problem.file.name for problem in report.problems] == ["a.py"]
    assert "replaced agent, agent.tools in sys.modules" in report.problems[0].reason
    assert "agent" not in sys.modules


def test_a_file_cannot_replace_the_users_own_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path / "project", {"agent/__init__.py": "", "agent/tools.py": "mine = 1\n"})
    monkeypatch.syspath_prepend(tmp_path / "project")
    own = importlib.import_module("agent.tools")

    report = load(tmp_path, {"a.py": FAKE_AGENT, "b.py": "del __import__('sys').modules['agent']"})

    assert sys.modules["agent.tools"] is own
    assert sys.modules["agent"].tools is own
    assert len(report.problems) == 2


def test_a_file_that_replaces_and_then_raises_is_undone_too(tmp_path: Path) -> None:
    report = load(tmp_path, {"a.py": FAKE_AGENT + "1 / 0\n", "b.py": tool_file("b")})

    assert names(report) == ["b"]
    assert "agent" not in sys.modules


def test_a_file_cannot_replace_our_modules(tmp_path: Path) -> None:
    code = "import sys, types\nsys.modules['openjarvis.safety.secrets'] = types.ModuleType('x')\n"
    ours = importlib.import_module("openjarvis.safety.secrets")

    report = load(tmp_path, {"a.py": code + tool_file("a")})

    assert sys.modules["openjarvis.safety.secrets"] is ours
    assert names(report) == []


def test_a_file_cannot_change_the_contract_of_the_others(tmp_path: Path) -> None:
    code = "import agent.tools\nagent.tools.BaseTool = agent.tools.tool = None\n"

    report = load(tmp_path, {"a.py": code, "b.py": tool_file("b")})

    assert names(report) == ["b"]
    assert contract.BaseTool is not None


@posix
@pytest.mark.parametrize("mode", [0o777, 0o757, 0o773, 0o1777])
def test_a_folder_that_others_can_write_is_not_run(tmp_path: Path, mode: int) -> None:
    folder = write_folder(tmp_path / "tools", {"a.py": WAS_RUN})
    folder.chmod(mode)

    report = load_folder(folder)

    assert "is writable by everyone" in report.problems[0].reason
    assert not (folder / "a.ran").exists()


@posix
def test_a_file_that_others_can_write_is_not_run_nor_a_sibling_of_that_kind(tmp_path: Path) -> None:
    files = {"a.py": WAS_RUN, "b.py": "from . import _x\n" + tool_file("b"), "_x.py": WAS_RUN}
    folder = write_folder(tmp_path / "tools", files)
    (folder / "a.py").chmod(0o646)
    (folder / "_x.py").chmod(0o666)

    report = load_folder(folder)

    assert names(report) == []
    assert [(problem.file.name, problem.line) for problem in report.problems] == [
        ("a.py", 0),
        ("b.py", 1),
    ]
    assert all("is writable by everyone" in problem.reason for problem in report.problems)
    assert list(folder.glob("*.ran")) == []


@posix
@pytest.mark.parametrize("where", ["file", "sibling", "folder of siblings"])
def test_a_link_does_not_lead_out_of_the_folder(tmp_path: Path, where: str) -> None:
    outside = write_folder(tmp_path / "outside", {"evil.py": WAS_RUN})
    use = {"file": "", "sibling": "from . import _x", "folder of siblings": "from ._d import evil"}
    folder = write_folder(tmp_path / "tools", {"b.py": use[where]})
    link, target = {
        "file": ("a.py", outside / "evil.py"),
        "sibling": ("_x.py", outside / "evil.py"),
        "folder of siblings": ("_d", outside),
    }[where]
    (folder / link).symlink_to(target)

    report = load_folder(folder)

    assert "is a link out of its folder" in report.problems[0].reason
    assert list(outside.glob("*.ran")) == []


@posix
def test_a_fifo_does_not_hold_up_the_load(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {"b.py": tool_file("b")})
    os.mkfifo(folder / "a.py", 0o600)

    report = load_folder(folder)

    assert names(report) == ["b"]
    assert report.problems[0].reason == "a.py is not a regular file"


@posix
def test_a_device_is_not_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {})
    (folder / "zero.py").symlink_to("/dev/zero")

    report = load_folder(folder)

    assert "is a link out of its folder" in report.problems[0].reason


def test_a_compiled_file_in_the_cache_is_not_what_runs(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {"a.py": tool_file("evil")})
    environment = {"PATH": os.environ.get("PATH", "")}
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "."],
        cwd=folder,
        env=environment,
        check=True,
    )
    assert list((folder / "__pycache__").iterdir())
    (folder / "a.py").write_text(tool_file("good"))

    assert names(load_folder(folder)) == ["good"]


def test_module_names_do_not_leave_the_folder(tmp_path: Path) -> None:
    write_folder(tmp_path, {"evil.py": WAS_RUN})
    code = (
        "import importlib\n"
        "for name in ('../evil', '..evil', '/evil', '...evil', '··/evil'):\n"
        "    try:\n"
        "        importlib.import_module(f'{__package__}.{name}')\n"
        "    except ImportError:\n"
        "        pass\n"
        "    else:\n"
        "        raise SystemExit(name)\n"
    )

    report = load(tmp_path, {"a.py": code})

    assert report.problems == []
    assert not (tmp_path / "evil.ran").exists()


def test_a_hostile_value_in_a_file_stops_only_that_file(tmp_path: Path) -> None:
    code = (
        "class Liar:\n"
        "    @property\n"
        "    def __class__(self):\n"
        "        raise SystemExit('caught you looking')\n"
        "liar = Liar()\n"
    )

    report = load(tmp_path, {"a.py": code, "b.py": tool_file("b")})

    assert names(report) == ["b"]
    assert report.problems[0].reason == "SystemExit: caught you looking"


def test_a_reason_is_bounded_and_masked(tmp_path: Path) -> None:
    code = "raise ValueError('api_key=abcdef123456 ' + 'x' * 10_000_000)\n"

    (problem,) = load(tmp_path, {"a.py": code}).problems

    assert len(problem.reason) < 3_000
    assert "abcdef123456" not in problem.reason


def test_nothing_of_a_failed_file_is_left_in_sys_modules(tmp_path: Path) -> None:
    before = set(sys.modules)

    load(tmp_path, {"a.py": "1 / 0\n"})

    assert [name for name in sys.modules.keys() - before if name.endswith(".a")] == []


def test_a_file_that_ends_the_process_cannot_be_stopped(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {"a.py": "import os\nos._exit(7)\n"})
    code = "import sys\nfrom openjarvis.dropins.loader import load_folder\nload_folder(sys.argv[1])"

    ended = subprocess.run([sys.executable, "-c", code, str(folder)], check=False)

    assert ended.returncode == 7
