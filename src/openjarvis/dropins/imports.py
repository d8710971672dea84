"""How the files of a tool folder import: each folder is a package of a private name.

Inside such files, and only there, `agent.tools` stands for that package: it offers the contract,
and the other files of the folder. Nothing is installed under the name `agent`, so a package of that
name stays what it was, for the files of the folder too: `import agent.settings` finds it.

The redirection is an `__import__` in the `__builtins__` of each module of the folder. Python looks
it up there for every import statement of the module's code, whenever and on whatever thread the
statement runs.
"""

import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from itertools import count
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from openjarvis.dropins import contract
from openjarvis.dropins.trust import read_source

ALIAS = "agent.tools"
"""What a folder's package is called in its files."""

_numbers = count(1)
_DOT = "\N{MIDDLE DOT}"
"""Stands for a dot in a file's name: in a module's name a dot means a package."""


class ToolFolder:
    """One load of a tool folder; loading it again reads changed files anew."""

    def __init__(self, path: Path) -> None:
        """Make the package of `path`, a trusted folder by its real path."""
        self.path = path
        self.package = _Package(f"openjarvis_dropins_{next(_numbers)}", path)
        self.builtins = {**vars(builtins), "__import__": _Import(self.package)}
        _folders[self.package.__name__] = self
        sys.modules[self.package.__name__] = self.package
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)

    def load(self, file: Path) -> ModuleType:
        """Return the module of one file of the folder, imported now unless it was already.

        Raises:
            BaseException: whatever the file raises.
        """
        return import_module(f"{self.package.__name__}.{file.stem.replace('.', _DOT)}")

    def readable(self, text: str) -> str:
        """Return `text` with the package named as its files name it."""
        return text.replace(self.package.__name__, ALIAS)


class _Package(ModuleType):
    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None, origin=str(folder), is_package=True)
        self.__path__ = self.__spec__.submodule_search_locations = [str(folder)]
        self.__package__ = name
        self.__all__ = contract.__all__
        vars(self).update({name: getattr(contract, name) for name in contract.__all__})

    def __setattr__(self, name: str, value: Any) -> None:
        # A file named `tool.py` becomes a submodule of that name; it must not hide the contract.
        if name not in contract.__all__:
            super().__setattr__(name, value)


class _Finder(MetaPathFinder):
    """Finds the modules of tool folders, and of nothing else."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        folder = _folders.get(fullname.partition(".")[0])
        if folder is None or path is None:
            return None
        name = fullname.rpartition(".")[2].replace(_DOT, ".")
        for place in path:
            spec = _spec(fullname, Path(place, name), folder)
            if spec is not None:
                return spec
        # Other finders are not asked: they would run compiled files that nobody checked.
        raise ModuleNotFoundError(
            f"there is no module {folder.readable(fullname)!r} in {folder.path}", name=fullname
        )


_folders: dict[str, ToolFolder] = {}
_finder = _Finder()


def _spec(fullname: str, base: Path, folder: ToolFolder) -> ModuleSpec | None:
    file, inside = base.with_name(f"{base.name}.py"), base / "__init__.py"
    if file.is_symlink() or file.exists():
        return spec_from_file_location(fullname, file, loader=_Loader(file, folder))
    if inside.exists():
        return spec_from_file_location(
            fullname,
            inside,
            loader=_Loader(inside, folder),
            submodule_search_locations=[str(base)],
        )
    if base.is_dir():
        spec = ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = [str(base)]
        return spec
    return None


class _Loader(SourceLoader):
    """Runs a checked source file with the imports of its folder.

    Compiled files are neither read nor written: they are not what was checked.
    """

    def __init__(self, file: Path, folder: ToolFolder) -> None:
        self._file = file
        self._folder = folder

    def get_filename(self, fullname: str) -> str:
        return str(self._file)

    def get_data(self, path: str | bytes) -> bytes:
        return read_source(self._file, self._folder.path)

    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(str(self._file))
        if b"\0" in source:  # of which Python does not say where it is
            line = source.partition(b"\0")[0].count(b"\n") + 1
            place = (str(self._file), line, None, None)
            raise SyntaxError("source code cannot contain null bytes", place)
        return self.source_to_code(source, str(self._file))

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = self._folder.builtins
        super().exec_module(module)


class _Import:
    """The `__import__` of a folder's files."""

    def __init__(self, package: _Package) -> None:
        self._package = package.__name__
        self._agent = _Agent(package)

    def __call__(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,  # noqa: A002 - the names are Python's
        locals: Mapping[str, Any] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        wanted = fromlist or ()
        if level or not f"{name}.".startswith("agent."):
            return builtins.__import__(name, globals, locals, wanted, level)
        if f"{name}.".startswith(f"{ALIAS}."):
            name = self._package + name.removeprefix(ALIAS)
        elif name == "agent":
            wanted = [item for item in wanted if item != "tools"]
            if not wanted:
                return self._agent
        found = builtins.__import__(name, globals, locals, wanted, 0)
        return found if wanted and name != "agent" else self._agent


class _Agent(ModuleType):
    """What a folder's files see as `agent`: their own `tools`, and the rest of the user's."""

    def __init__(self, tools: _Package) -> None:
        super().__init__("agent")
        self.tools = tools

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(import_module("agent"), name)
        except ModuleNotFoundError as error:
            if error.name != "agent":
                raise
            raise AttributeError(f"there is no package 'agent' that has {name!r}") from error
