import json
import subprocess
import sys
from pathlib import Path

import pytest

from openjarvis.core.errors import ConfigError
from openjarvis.mcp.definitions import Definition
from openjarvis.mcp.pins import Pinned, PinStore
from openjarvis.toolkit.base import ToolSpec

PROGRAM = """
import sys
from pathlib import Path
from openjarvis.mcp.definitions import Definition
from openjarvis.mcp.pins import PinStore
from openjarvis.toolkit.base import ToolSpec

folder, name = Path(sys.argv[1]), sys.argv[2]
store = PinStore(folder / "pins.json")
print("ready", flush=True)
sys.stdin.readline()
for number in range(12):
    tool = f"{name}_{number}"
    store.pin(Definition("srv", "conf", tool, ToolSpec(tool, "T."), "digest"))
"""


def definition(tool: str, digest: str = "digest", configured: str = "conf") -> Definition:
    return Definition("srv", configured, tool, ToolSpec(tool, "T."), digest)


def test_processes_that_pin_at_once_lose_nothing(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), f"p{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)

    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(json.loads((tmp_path / "pins.json").read_text())["srv conf"]) == 36


def test_what_was_pinned_first_stays(tmp_path: Path) -> None:
    first, second = PinStore(tmp_path / "pins.json"), PinStore(tmp_path / "pins.json")
    assert first.standing(definition("echo")) is Pinned.NEW

    first.pin(definition("echo"))
    second.pin(definition("echo", "another"))

    assert first.standing(definition("echo")) is Pinned.SAME
    assert second.standing(definition("echo", "another")) is Pinned.CHANGED
    assert second.standing(definition("other")) is Pinned.ADDED
    second.pin(definition("echo", "another"), replace=True)
    assert first.standing(definition("echo", "another")) is Pinned.SAME


def test_only_the_pins_are_left_for_their_owner(tmp_path: Path) -> None:
    PinStore(tmp_path / "mcp" / "pins.json").pin(definition("echo"))

    left = {one.name: one.stat().st_mode & 0o077 for one in (tmp_path / "mcp").iterdir()}
    left.pop("pins.lock", None)
    assert left == {"pins.json": 0}


def test_what_is_pinned_already_needs_no_writing(tmp_path: Path) -> None:
    PinStore(tmp_path / "pins.json").pin(definition("echo"))
    (tmp_path / "pins.lock").unlink(missing_ok=True)

    PinStore(tmp_path / "pins.json").pin(definition("echo"), definition("echo", "another"))

    assert [one.name for one in tmp_path.iterdir()] == ["pins.json"]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"srv": 5}', '{"srv": {"a": null}}', "not json", "[" * 100_000]
)
def test_pins_that_cannot_be_read_are_an_error_and_not_overwritten(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "pins.json"
    path.write_text(content)
    store = PinStore(path)

    with pytest.raises(ConfigError, match=r"pins\.json"):
        store.pin(definition("echo"))

    assert path.read_text() == content


def test_all_of_a_server_is_pinned_at_first_and_nothing_later(tmp_path: Path) -> None:
    store = PinStore(tmp_path / "pins.json")

    store.pin_first([definition("echo"), definition("other")])
    store.pin_first([definition("echo", "another"), definition("added")])

    assert store.standing(definition("echo")) is Pinned.SAME
    assert store.standing(definition("other")) is Pinned.SAME
    assert store.standing(definition("added")) is Pinned.ADDED


def test_another_configuration_of_the_same_name_has_pins_of_its_own(tmp_path: Path) -> None:
    store = PinStore(tmp_path / "pins.json")
    store.pin_first([definition("echo")])

    assert store.standing(definition("echo", "another", "other")) is Pinned.NEW
    store.pin_first([definition("echo", "another", "other")])
    assert store.standing(definition("echo", "another", "other")) is Pinned.SAME
    assert store.standing(definition("echo")) is Pinned.SAME


@pytest.mark.parametrize("replace", [False, True])
def test_pins_kept_by_name_alone_are_those_of_the_first_configuration_that_is_used(
    tmp_path: Path, replace: bool
) -> None:
    path = tmp_path / "pins.json"
    path.write_text('{"srv": {"echo": "digest"}, "other": {"a": "b"}}')
    store = PinStore(path)
    assert store.standing(definition("echo")) is Pinned.SAME
    assert store.standing(definition("echo", "another")) is Pinned.CHANGED

    if replace:
        store.pin(definition("added"), replace=True)
    else:
        store.pin_first([definition("echo", "another"), definition("added")])

    assert store.standing(definition("echo")) is Pinned.SAME
    assert store.standing(definition("added")) is (Pinned.SAME if replace else Pinned.ADDED)
    assert store.standing(definition("echo", "another", "other")) is Pinned.NEW
    assert set(json.loads(path.read_text())) == {"srv conf", "other"}


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "mcp").write_text("a file")

    with pytest.raises(ConfigError, match=r"pins\.json"):
        PinStore(tmp_path / "mcp" / "pins.json").pin(definition("echo"))
