"""What loading gave: tools with where they are from, and why others are missing."""

import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.dropins.trust import SourceRefused
from openjarvis.toolkit.base import BaseTool
from openjarvis.toolkit.typed import failure_text


class Problem(NamedTuple):
    """Why something was not loaded; `line` is 0 where the file or folder as a whole is meant."""

    file: Path
    line: int
    reason: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.reason}"


class LoadedTool(NamedTuple):
    """A tool and where it was defined."""

    tool: BaseTool
    file: Path
    line: int

    @property
    def origin(self) -> str:
        """Where the tool was defined, as "path:line"."""
        return f"{self.file}:{self.line}"


@dataclass(slots=True)
class LoadReport:
    """What a load gave.

    `left_out` says which tools are not available here, which is no fault; `files` are all that were
    read. `refused` are those of the problems that stop a whole folder which was asked for.
    """

    loaded: list[LoadedTool] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)

    @property
    def tools(self) -> list[BaseTool]:
        """The tools, by folder, file name and place in the file."""
        return [entry.tool for entry in self.loaded]

    @property
    def remarks(self) -> list[str]:
        """What a user is told: which files are not usable, and which tools are left out."""
        return [f"Not usable: {problem}" for problem in self.problems] + [
            f"Left out: {problem}" for problem in self.left_out
        ]


def problem_of(error: BaseException, file: Path, line: int) -> Problem:
    """Return what `error`, raised by the code of `file`, says; `line` where it does not tell.

    The line is the one of `file`; where another file of the folder raised, the reason names it.
    """
    places = _places(error, file.parent)
    own = [number for name, number in places if name == str(file)]
    reason = _words(error)
    if places and places[-1][0] != str(file):
        other, number = places[-1]
        reason += f" (at {Path(other).relative_to(file.parent)}:{number})"
    return Problem(file, own[-1] if own else line, reason)


def _places(error: BaseException, folder: Path) -> list[tuple[str, int]]:
    """Return the files of `folder` and their lines that `error` came through, outermost first."""
    places = [
        (frame.f_code.co_filename, number)
        for frame, number in traceback.walk_tb(error.__traceback__)
    ]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno or 1))
    return [place for place in places if Path(place[0]).is_relative_to(folder)]


def _words(error: BaseException) -> str:
    if isinstance(error, ToolDefinitionError | SourceRefused):
        return str(error)
    try:
        return failure_text(error)
    except Exception:  # noqa: BLE001 - an error of a foreign file may fail to say what it is
        return type(error).__name__
