"""The files of one tool folder made into tools; what one of them does stops only itself."""

import copy
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.dropins import contract
from openjarvis.dropins.adapter import DropInTool, plain_result
from openjarvis.dropins.imports import ToolFolder
from openjarvis.dropins.report import LoadedTool, LoadReport, Problem, problem_of
from openjarvis.dropins.specs import check_spec
from openjarvis.toolkit.base import BaseTool
from openjarvis.toolkit.function import FunctionTool
from openjarvis.toolkit.typed import TypedTool

_GUARDED = ("agent", "openjarvis")
"""The packages that a tool file may not replace: the user's own of that name, and ours."""

Definition = type[Any] | FunctionTool

# Two redirections that do not end in the opposite order would leave stdout redirected.
_one_at_a_time = RLock()


def load_files(
    folder: Path, files: Sequence[Path], config: Mapping[str, Any] | None = None
) -> LoadReport:
    """Return the tools of `files`, which lie in `folder`, a trusted one; names may clash.

    What the files print while they are loaded goes to stderr: stdout is for results.
    """
    loading = _Loading(ToolFolder(folder), dict(config or {}))
    loading.report.files += files
    with _one_at_a_time, redirect_stdout(sys.stderr):
        # All are imported before the first tool is made: a base class knows its subclasses then.
        modules = [(file, loading.module(file)) for file in files]
        for file, module in modules:
            if module is not None:
                loading.make_tools(file, module)
    return loading.report


class _Loading:
    """One load of one folder: what it gives is gathered in `report`."""

    def __init__(self, folder: ToolFolder, config: dict[str, Any]) -> None:
        self._folder = folder
        self._config = config
        self.report = LoadReport()

    def module(self, file: Path) -> ModuleType | None:
        """Return the module of `file`, or None with a problem."""
        before = _guarded_modules()
        module: ModuleType | None = None
        with self._stopping(file):
            module = self._folder.load(file)
        replaced = _put_back(before)
        if replaced:
            names = ", ".join(replaced)
            reason = f"replaced {names} in sys.modules for the whole program; it was put back"
            self.report.problems.append(Problem(file, 0, reason))
            return None
        return module

    def make_tools(self, file: Path, module: ModuleType) -> None:
        """Make the tools that `module` itself defines."""
        with self._stopping(file):
            for definition in _definitions(module):
                line = _line(definition)
                with self._stopping(file, line):
                    self._make_tool(definition, file, line)

    @contextmanager
    def _stopping(self, file: Path, line: int = 0) -> Iterator[None]:
        """Make a problem of whatever is raised inside."""
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a foreign file may raise anything
            problem = problem_of(error, file, line)
            reason = self._folder.readable(problem.reason)
            self.report.problems.append(problem._replace(reason=reason))

    def _make_tool(self, definition: Definition, file: Path, line: int) -> None:
        owner = _written(definition).__qualname__
        made = self._made(definition)
        is_available = getattr(made, "is_available", None)
        if callable(is_available) and not plain_result(is_available):
            reason = f"{owner} is not available: its is_available() is false"
            self.report.left_out.append(Problem(file, line, reason))
            return
        tool = _as_tool(made, owner, f"{file}:{line}")
        self.report.loaded.append(LoadedTool(tool, file, line))

    def _made(self, definition: Definition) -> Any:
        if isinstance(definition, FunctionTool):
            return definition
        missing = ", ".join(sorted(getattr(definition, "__abstractmethods__", ())))
        if missing:
            raise ToolDefinitionError(
                f"{definition.__qualname__} does not define {missing}; add it, or start the "
                "class's name with _ when it is only a base."
            )
        if _wants_config(definition):
            return definition(copy.deepcopy(self._config))
        return definition()


def _guarded_modules() -> dict[str, ModuleType]:
    return {
        name: module
        for name, module in dict(sys.modules).items()
        if name.startswith(_GUARDED) and name.partition(".")[0] in _GUARDED
    }


def _put_back(before: Mapping[str, ModuleType]) -> list[str]:
    """Undo what a file did to guarded modules; return the names of those.

    One that was imported meanwhile is fine, and known by its spec.
    """
    after = _guarded_modules()
    replaced = [name for name, module in before.items() if after.get(name) is not module]
    invented = [
        name
        for name, module in after.items()
        if name not in before and getattr(module, "__spec__", None) is None
    ]
    for name in invented:
        del sys.modules[name]
    sys.modules.update({name: before[name] for name in replaced})
    return sorted(replaced + invented)


def _definitions(module: ModuleType) -> list[Definition]:
    """Return the tool classes and functions that `module` defines, in order, each once."""
    found = [value for value in vars(module).values() if _is_definition(value, module.__name__)]
    return list({id(value): value for value in found}.values())


def _is_definition(value: Any, module_name: str) -> bool:
    if isinstance(value, FunctionTool):
        return value.target.__module__ == module_name
    return (
        isinstance(value, type)
        and issubclass(value, contract.BaseTool | BaseTool)
        and value.__module__ == module_name
        and not value.__name__.startswith("_")
        and not _is_base(value)
    )


def _is_base(cls: type[Any]) -> bool:
    """Tell whether a class is there for its subclasses only, being unfinished itself."""
    if not cls.__subclasses__():
        return False
    is_nameless = issubclass(cls, TypedTool) and not (hasattr(cls, "name") and hasattr(cls, "run"))
    return is_nameless or inspect.isabstract(cls)


def _written(definition: Definition) -> Any:
    """Return the class or the function that stands in the file."""
    return definition.target if isinstance(definition, FunctionTool) else definition


def _line(definition: Definition) -> int:
    try:
        return inspect.findsource(_written(definition))[1] + 1
    except (OSError, TypeError):  # made by code, not written as a class or a function
        return 1


def _wants_config(cls: type[Any]) -> bool:
    """Tell whether a constructor is to be given the configuration.

    A class of the contract with any parameter is. The optional parameters of a spec-style class are
    its own affair, unless the first is named `config`.
    """
    parameters = list(inspect.signature(cls).parameters.values())
    if not parameters or parameters[0].kind in (
        inspect.Parameter.KEYWORD_ONLY,
        inspect.Parameter.VAR_KEYWORD,
    ):
        return False
    first = parameters[0]
    if issubclass(cls, contract.BaseTool) or first.name == "config":
        return True
    return first.kind is not first.VAR_POSITIONAL and first.default is first.empty


def _as_tool(made: Any, owner: str, origin: str) -> BaseTool:
    if isinstance(made, contract.BaseTool):
        return DropInTool(made, origin)
    check_spec(made.spec, owner)
    if not hasattr(made, "origin"):  # a tool may have an attribute of that name for itself
        made.origin = origin
    tool: BaseTool = made
    return tool
