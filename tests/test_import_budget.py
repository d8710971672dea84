"""What an import may cost: the packages that it must not load."""

import subprocess
import sys

import pytest

HEAVY = {"openai", "httpx", "pydantic", "griffe", "rich", "click", "mcp", "asyncio"}
"""Loaded when something needs them: each costs a program 20 ms or more."""


def loaded_by(program: str) -> set[str]:
    """Return the top-level modules that are there after `program`, in a process of its own."""
    show = "import sys\nprint(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}\n{show}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split())


def test_the_package_itself_loads_nothing_but_itself() -> None:
    ours = loaded_by("import openjarvis") - loaded_by("")

    assert ours <= {"openjarvis", "importlib", "typing", "collections"} | sys.stdlib_module_names
    assert not ours & (HEAVY | {"jsonschema_rs", "inspect", "sqlite3"})


@pytest.mark.parametrize(
    "program",
    [
        "from openjarvis import Jarvis, llm, tool",
        "from openjarvis.testing import ScriptedEngine",
        "from openjarvis.core.registry import ToolRegistry",
        "from openjarvis.config import load_config; load_config()",
    ],
)
def test_what_programs_import_loads_no_heavy_package(program: str) -> None:
    assert not loaded_by(program) & (HEAVY - {"asyncio"})


def test_the_services_are_loaded_when_one_is_first_used() -> None:
    program = "import sys\nfrom openjarvis import Jarvis, llm\nprint(*sys.modules)"

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    loaded = set(done.stdout.split())
    assert not loaded & {
        "sqlite3",
        "openjarvis.dropins.loader",
        "openjarvis.memory.sqlite",
        "openjarvis.scheduler.scheduler",
        "openjarvis.channels.directory",
    }


def test_a_typed_tool_of_plain_types_is_made_without_pydantic() -> None:
    program = (
        "from openjarvis import tool\n"
        "@tool\n"
        "def add(a: int, b: float = 1.0) -> float:\n"
        "    'Add.'\n"
        "    return a + b\n"
        "assert add.execute(a=1, b=2).success"
    )

    assert not loaded_by(program) & (HEAVY - {"asyncio"})


def test_the_command_line_loads_click_alone() -> None:
    assert loaded_by("import openjarvis.cli") & HEAVY <= {"click"}


def test_a_question_without_a_model_loads_no_client_of_one() -> None:
    program = (
        "from openjarvis import Jarvis\n"
        "with Jarvis(engine_key='offline') as jarvis:\n"
        "    assert jarvis.ask('What is 6 * 7?', tools=['calculator']) == '42'"
    )

    assert not loaded_by(program) & (HEAVY - {"asyncio"})
