import gc
import importlib
import inspect
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from dropin_files import write_folder
from openjarvis.dropins import contract
from openjarvis.dropins.imports import ToolFolder


@pytest.fixture(autouse=True)
def modules_are_left_as_they_were() -> Iterator[None]:
    before, path = dict(sys.modules), list(sys.path)
    yield
    for name in sys.modules.keys() - before.keys():
        if name.partition(".")[0] == "agent":
            del sys.modules[name]
    sys.path[:] = path


@pytest.fixture
def users_agent(tmp_path: Path) -> Path:
    """Make a package `agent` of the user's own importable, which has `tools` too."""
    write_folder(
        tmp_path / "project",
        {
            "agent/__init__.py": "WHOSE = 'the user'\n",
            "agent/settings.py": "COLOUR = 'red'\n",
            "agent/tools/__init__.py": "WHOSE_TOOLS = 'the user'\n",
            "agent/tools/own.py": "",
        },
    )
    sys.path.insert(0, str(tmp_path / "project"))
    importlib.invalidate_caches()
    return tmp_path / "project"


def folder_of(path: Path, files: dict[str, str]) -> ToolFolder:
    return ToolFolder(write_folder(path, files).resolve())


def run(tmp_path: Path, code: str, **siblings: str) -> ModuleType:
    """Return the module that `code`, a file of a tool folder, makes."""
    files = {"main.py": code, **{f"{name}.py": text for name, text in siblings.items()}}
    return folder_of(tmp_path / "tools", files).load(Path("main.py"))


SPELLINGS_OF_THE_CONTRACT = {
    "from agent.tools import BaseTool": "BaseTool",
    "from agent.tools import BaseTool as B": "B",
    "from agent.tools import *": "BaseTool",
    "import agent.tools": "agent.tools.BaseTool",
    "import agent.tools as t": "t.BaseTool",
    "import agent": "agent.tools.BaseTool",
    "from agent import tools": "tools.BaseTool",
    "from . import BaseTool": "BaseTool",
    "from openjarvis.dropins import BaseTool": "BaseTool",
    "tools = __import__('agent.tools', fromlist=['x'])": "tools.BaseTool",
    "agent = __import__('agent.tools')": "agent.tools.BaseTool",
    "exec('from agent.tools import BaseTool')": "BaseTool",
    "import agent.tools, agent.settings": "agent.tools.BaseTool",
    "import agent.settings": "agent.tools.BaseTool",
    "from agent import tools, settings": "tools.BaseTool",
}


@pytest.mark.parametrize(("statement", "expression"), SPELLINGS_OF_THE_CONTRACT.items())
@pytest.mark.usefixtures("users_agent")
def test_every_spelling_reaches_the_contract(
    tmp_path: Path, statement: str, expression: str
) -> None:
    module = run(tmp_path, f"{statement}\nfound = {expression}\n")

    assert module.found is contract.BaseTool


@pytest.mark.parametrize(
    ("statement", "expression"),
    [
        ("from agent.tools._x import y", "y"),
        ("from ._x import y", "y"),
        ("from . import _x", "_x.y"),
        ("from agent.tools import _x", "_x.y"),
        ("import agent.tools._x", "agent.tools._x.y"),
        ("import agent.tools._x as x", "x.y"),
        ("from agent.tools._x import *", "y"),
        ("import agent.tools._lib.deep as deep", "deep.z"),
        ("from ._lib.deep import z", "z"),
        ("from ._lib import deep", "deep.z"),
        ("from ._package.inner import z", "z"),
        ("import importlib as i; x = i.import_module('._x', __package__)", "x.y"),
        ("def late():\n    from agent.tools._x import y\n    return y", "late()"),
        ("class C:\n    from ._x import y", "C.y"),
    ],
)
def test_every_spelling_reaches_a_sibling(tmp_path: Path, statement: str, expression: str) -> None:
    deep = "from agent.tools._x import y as z\n"
    folder = folder_of(
        tmp_path / "tools",
        {
            "main.py": f"{statement}\nfound = {expression}\n",
            "_x.py": "y = object()\n",
            "_lib/deep.py": deep,
            "_package/__init__.py": "",
            "_package/inner.py": f"from .. import tool\nfrom .._x import y\n{deep}",
        },
    )

    module = folder.load(Path("main.py"))

    assert module.found is folder.load(Path("_x.py")).y


def test_a_star_import_brings_the_contract_and_no_sibling(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "tools", {"a.py": "", "b.py": "from agent.tools import *\n"})

    folder.load(Path("a.py"))
    names = vars(folder.load(Path("b.py"))).keys()

    assert set(contract.__all__) <= names
    assert "a" not in names


def test_nothing_is_installed_under_the_name_agent(tmp_path: Path) -> None:
    run(tmp_path, "import agent.tools._x\nfrom agent import tools\n", _x="")

    assert "agent" not in sys.modules
    assert "agent.tools" not in sys.modules
    with pytest.raises(ModuleNotFoundError, match="No module named 'agent'"):
        importlib.import_module("agent")


@pytest.mark.usefixtures("users_agent")
def test_the_users_own_package_is_theirs_before_during_and_after(tmp_path: Path) -> None:
    import agent.tools as before

    seen = tmp_path / "seen.py"
    seen.write_text("import agent.tools, agent.tools.own\nWHOSE = agent.tools.WHOSE_TOOLS\n")
    sys.path.insert(0, str(tmp_path))

    module = run(
        tmp_path,
        "from agent.tools import BaseTool\nimport seen\nimport agent\n"
        "import agent.settings\nfrom agent.settings import COLOUR\nfrom agent import settings\n"
        "whose = agent.WHOSE\nassert agent.settings is settings\n",
    )
    import agent.tools as after

    sys.modules.pop("seen")
    assert module.seen.WHOSE == "the user"
    assert (module.whose, module.COLOUR) == ("the user", "red")
    assert after is before
    assert after.WHOSE_TOOLS == "the user"
    assert not hasattr(after, "BaseTool")


@pytest.mark.usefixtures("users_agent")
def test_a_package_that_is_imported_by_a_tool_file_first_is_whole_for_the_user(
    tmp_path: Path,
) -> None:
    run(tmp_path, "import agent.settings\nimport agent.tools._x\n", _x="")

    import agent
    import agent.tools

    assert agent.WHOSE == "the user"
    assert agent.settings.COLOUR == "red"
    assert agent.tools.WHOSE_TOOLS == "the user"


def test_the_fault_of_the_users_package_is_told_as_it_is(tmp_path: Path, users_agent: Path) -> None:
    (users_agent / "agent/__init__.py").write_text("import missing_dependency\n")

    with pytest.raises(ModuleNotFoundError, match="missing_dependency"):
        run(tmp_path, "import agent\nagent.WHOSE\n")


@pytest.mark.parametrize(
    ("statement", "error", "told"),
    [
        ("from agent.tools import Nope", ImportError, "cannot import name 'Nope'"),
        ("import agent.tools._nope", ModuleNotFoundError, "no module 'agent.tools._nope' in "),
        ("from ._nope import x", ModuleNotFoundError, "no module 'agent.tools._nope' in "),
        ("import agent.nope", ModuleNotFoundError, "No module named 'agent'"),
        ("from agent import nope", ModuleNotFoundError, "No module named 'agent'"),
        ("import agent\nagent.nope", AttributeError, "no package 'agent' that has 'nope'"),
        ("from .. import nope", ImportError, "beyond top-level"),
        ("import agent_of_nobody", ModuleNotFoundError, "No module named 'agent_of_nobody'"),
        ("import agent.toolset", ModuleNotFoundError, "No module named 'agent'"),
    ],
)
def test_what_is_not_there_is_an_import_error(
    tmp_path: Path, statement: str, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        run(tmp_path, statement)


def test_a_file_named_like_the_contract_does_not_hide_it(tmp_path: Path) -> None:
    folder = folder_of(
        tmp_path / "tools",
        {
            "tool.py": "x = 1\n",
            "BaseTool.py": "",
            "main.py": "from .tool import x\nfrom agent.tools import tool, BaseTool\n",
        },
    )

    for name in ("BaseTool.py", "tool.py"):
        folder.load(Path(name))
    module = folder.load(Path("main.py"))

    assert module.tool is contract.tool
    assert module.BaseTool is contract.BaseTool


@pytest.mark.parametrize("name", ["builtins", "path", "package", "load", "readable", "sys"])
def test_a_file_may_have_any_other_name(tmp_path: Path, name: str) -> None:
    folder = folder_of(tmp_path / "tools", {f"{name}.py": "", "main.py": f"from . import {name}"})

    folder.load(Path(f"{name}.py"))

    assert folder.load(Path("main.py")).__dict__[name].__file__.endswith(f"{name}.py")


@pytest.mark.parametrize(
    "name", ["my-tool.py", "weather.v2.py", "2fa.py", "with space.py", "ฝน.py"]
)
def test_a_file_name_need_not_be_an_identifier(tmp_path: Path, name: str) -> None:
    folder = folder_of(tmp_path / "tools", {name: "from ._x import y\n", "_x.py": "y = 1\n"})

    assert folder.load(Path(name)).y == 1


def test_two_folders_do_not_see_each_others_siblings(tmp_path: Path) -> None:
    code = (
        "from agent.tools._x import where\ndef late():\n    from . import _x\n    return _x.where\n"
    )
    folders = [
        folder_of(tmp_path / name, {"main.py": code, "_x.py": f"where = {name!r}\n"})
        for name in ("one", "two")
    ]

    modules = [folder.load(Path("main.py")) for folder in folders]

    assert [module.where for module in modules] == ["one", "two"]
    assert [module.late() for module in modules] == ["one", "two"]


def test_a_sibling_is_loaded_once_a_folder(tmp_path: Path) -> None:
    files = dict.fromkeys(("a.py", "b.py"), "from agent.tools import _x\n")
    folder = folder_of(tmp_path / "tools", {**files, "_x.py": "state = object()\n"})

    first, second = folder.load(Path("a.py")), folder.load(Path("b.py"))

    assert first._x is second._x


def test_loading_a_folder_again_reads_it_anew(tmp_path: Path) -> None:
    first = run(tmp_path, "x = 1\n")
    second = run(tmp_path, "x = 2\n")

    assert (first.x, second.x) == (1, 2)


def test_siblings_may_import_each_other(tmp_path: Path) -> None:
    module = run(
        tmp_path,
        "from agent.tools._even import even\nfound = even(5)\n",
        _even="from agent.tools import _odd\ndef even(n): return n == 0 or _odd.odd(n - 1)\n",
        _odd="import agent.tools._even as e\ndef odd(n): return n != 0 and e.even(n - 1)\n",
    )

    assert module.found is False


def test_a_cycle_that_python_refuses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match="circular import"):
        run(
            tmp_path,
            "from ._a import a",
            _a="from ._b import b\na = 1\n",
            _b="from ._a import a\nb = 1\n",
        )


def test_imports_at_call_time_work_on_many_threads(tmp_path: Path) -> None:
    module = run(
        tmp_path,
        "def late():\n    from agent.tools._x import y\n    import agent.tools._z\n"
        "    return y, agent.tools._z.y\n",
        _x="y = object()\n",
        _z="from ._x import y\n",
    )
    found: list[tuple[object, object]] = []
    barrier = threading.Barrier(16)

    def work() -> None:
        barrier.wait()
        found.append(module.late())

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 16
    assert len({id(value) for pair in found for value in pair}) == 1


def test_a_function_outlives_the_folder_object(tmp_path: Path) -> None:
    late = run(tmp_path, "def late():\n    from ._x import y\n    return y\n", _x="y = 1\n").late
    gc.collect()

    assert late() == 1


def test_a_failed_import_can_be_tried_again(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "tools", {"main.py": "from ._x import y\n", "_x.py": "1/0\n"})

    with pytest.raises(ZeroDivisionError):
        folder.load(Path("main.py"))
    (folder.path / "_x.py").write_text("y = 1\n")

    assert folder.load(Path("main.py")).y == 1


def test_compiled_files_are_neither_read_nor_written(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "tools", {"main.py": "x = 1\n", "_y.pyc": "", "_y.so": ""})

    folder.load(Path("main.py"))

    assert not (folder.path / "__pycache__").exists()
    with pytest.raises(ModuleNotFoundError):
        folder.load(Path("_y.py"))


def test_modules_look_as_python_makes_them(tmp_path: Path) -> None:
    module = run(tmp_path, "class A:\n    pass\n\n\ndef f() -> 'A':\n    return A()\n")

    assert module.__file__ == str((tmp_path / "tools/main.py").resolve())
    assert sys.modules[module.__name__] is module
    assert inspect.getsource(module.A) == "class A:\n    pass\n"
    assert inspect.getsource(module).startswith("class A")


def test_other_imports_are_pythons_own(tmp_path: Path) -> None:
    module = run(tmp_path, "import json.decoder\nfrom os import path as p\nimport sys, math as m\n")

    assert module.json is importlib.import_module("json")
    assert module.p is importlib.import_module("os").path
    assert module.m is importlib.import_module("math")
