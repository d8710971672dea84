"""Tool folders read into tools: what can be used, and a problem for each thing that cannot."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from openjarvis.dropins.files import load_files
from openjarvis.dropins.report import LoadedTool, LoadReport, Problem
from openjarvis.dropins.trust import SourceRefused, trusted_folder

__all__ = ["LoadReport", "LoadedTool", "Problem", "load_file", "load_folder", "load_folders"]


def load_folder(path: Path | str, config: Mapping[str, Any] | None = None) -> LoadReport:
    """Return the tools of one folder; see `load_folders`."""
    return load_folders([path], config)


def load_file(
    path: Path | str,
    config: Mapping[str, Any] | None = None,
    taken: Mapping[str, str] | None = None,
) -> LoadReport:
    """Return the tools of one `.py` file, whatever its name; its folder must be trusted too."""
    report = LoadReport()
    file = Path(path).expanduser()
    if file.suffix != ".py":
        report.problems.append(Problem(file, 0, "a tool file has a name that ends in .py"))
        return report
    folder = _folder(file.parent, report, is_optional=False)
    if folder is not None:
        _admit(load_files(folder, [folder / file.name], config), report, dict(taken or {}))
    return report


def load_folders(
    paths: Iterable[Path | str],
    config: Mapping[str, Any] | None = None,
    taken: Mapping[str, str] | None = None,
    *,
    optional: Iterable[Path | str] = (),
) -> LoadReport:
    """Return the tools of `paths` and of the `optional` folders, where they exist, in this order.

    The files of a folder are read by name. A constructor that wants the configuration gets a copy
    of `config`. `taken` maps the names that no tool may have to whose they are. Nothing that a file
    raises is raised here, except KeyboardInterrupt.
    """
    report = LoadReport()
    names = dict(taken or {})
    done: set[Path] = set()
    for path, is_optional in [(path, False) for path in paths] + [
        (path, True) for path in optional
    ]:
        folder = _folder(path, report, is_optional=is_optional)
        if folder is None and not is_optional:
            report.refused.append(report.problems[-1])
        if folder is not None and folder not in done:
            done.add(folder)
            _admit(load_files(folder, _tool_files(folder, report), config), report, names)
    return report


def _folder(path: Path | str, report: LoadReport, *, is_optional: bool) -> Path | None:
    """Return the real path of a folder that may be loaded, or None, with a problem if it is one."""
    if not str(path):  # would be the working directory
        report.problems.append(Problem(Path(), 0, "the path of a tool folder is empty"))
        return None
    try:
        return trusted_folder(Path(path).expanduser())
    except FileNotFoundError:
        if not is_optional:
            report.problems.append(Problem(Path(path), 0, "there is no such tool folder"))
    except (SourceRefused, OSError, RuntimeError) as error:
        report.problems.append(Problem(Path(path), 0, f"the tool folder is refused: {error}"))
    return None


def _tool_files(folder: Path, report: LoadReport) -> list[Path]:
    """Return the files of `folder` that may hold tools, by name."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        reason = f"the tool folder cannot be read: {error.strerror}"
        report.problems.append(Problem(folder, 0, reason))
        return []
    # A name that starts with a dot was left by an editor or an archive.
    return [path for path in entries if path.suffix == ".py" and path.name[0] not in "_."]


def _admit(found: LoadReport, report: LoadReport, names: dict[str, str]) -> None:
    """Add to `report` what was found, but no tool whose name is taken."""
    report.files += found.files
    report.problems += found.problems
    report.left_out += found.left_out
    for entry in found.loaded:
        name = entry.tool.spec.name
        if name in names:
            reason = f"the tool name {name!r} is taken by {names[name]}; rename this one"
            report.problems.append(Problem(entry.file, entry.line, reason))
        else:
            names[name] = entry.origin
            report.loaded.append(entry)
