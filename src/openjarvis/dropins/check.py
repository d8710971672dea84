"""Tool files judged: what stops a tool, and what would help a model to choose and fill it."""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from openjarvis.dropins.loader import load_file, load_folders
from openjarvis.dropins.report import LoadReport
from openjarvis.toolkit.base import ToolSpec
from openjarvis.toolkit.check import ArgumentsError, Checker
from openjarvis.toolkit.describe import type_name

SHORTEST_DESCRIPTION = 40
"""A description with fewer characters can hardly say both what a tool does and when to call it."""

LONGEST_DESCRIPTION = 1_024
"""Some providers refuse a longer one, and with it the whole request."""

_SAYS_WHEN = re.compile(r"\b(when|whenever|if|use|used|call)\b", re.IGNORECASE)
_PARAMETER_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Level(StrEnum):
    """How much a finding matters: an error stops the tool, a warning misleads a model."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


class Finding(NamedTuple):
    """Something to mend in a tool file; `line` is 0 where the file as a whole is meant."""

    file: Path
    line: int
    level: Level
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{place}: {self.level}: {self.message}"


Remark = tuple[Level, str]


def judge(
    path: Path | str,
    config: Mapping[str, Any] | None = None,
    taken: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Return what is to be mended in a tool file or folder, by file and line; it is run for that.

    `config` and `taken` are those of `load_folders`.
    """
    is_folder = Path(path).expanduser().is_dir()
    report = load_folders([path], config, taken) if is_folder else load_file(path, config, taken)
    return sorted(_findings(report), key=lambda found: (found.file, found.line))


def _findings(report: LoadReport) -> Iterator[Finding]:
    for problem in report.problems:
        yield Finding(*problem[:2], Level.ERROR, problem.reason)
    for left_out in report.left_out:
        yield Finding(*left_out[:2], Level.ADVICE, left_out.reason)
    for entry in report.loaded:
        for level, message in judge_spec(entry.tool.spec):
            yield Finding(entry.file, entry.line, level, f"{entry.tool.spec.name}: {message}")
    heard_of = {problem.file for problem in report.problems + report.left_out}
    heard_of |= {entry.file for entry in report.loaded}
    for file in report.files:
        if file not in heard_of:
            message = "defines no tool; start its name with _ when other files only import it"
            yield Finding(file, 0, Level.WARNING, message)


def judge_spec(spec: ToolSpec) -> Iterator[Remark]:
    """Yield what could be better in the spec of a tool that was loaded."""
    yield from _judge_description(spec.description)
    yield from _judge_parameters(spec.parameters)
    yield from _judge_examples(spec)


def _judge_description(description: str) -> Iterator[Remark]:
    text = description.strip()
    if not text:
        yield Level.ERROR, "has no description; a model cannot know what it is for"
    elif len(text) > LONGEST_DESCRIPTION:
        yield Level.WARNING, f"the description has more than {LONGEST_DESCRIPTION:,} characters"
    # The two remarks are about English; other scripts are denser and have other words.
    elif text.isascii() and len(text) < SHORTEST_DESCRIPTION:
        yield Level.ADVICE, "the description is short; say what it does and when to call it"
    elif text.isascii() and not _SAYS_WHEN.search(text):
        yield Level.ADVICE, 'the description does not say when to call it ("Use it when …")'


def _judge_parameters(schema: dict[str, Any]) -> Iterator[Remark]:
    properties = schema.get("properties", {})
    for name, member in properties.items():
        if not _PARAMETER_NAME.fullmatch(name):
            yield (
                Level.WARNING,
                f"the parameter name {name!r} should be 1 to 64 of A-Z a-z 0-9 _ . -",
            )
        if not isinstance(member, dict) or not member.get("description"):
            yield Level.WARNING, f"the parameter {name!r} has no description"
        if type_name(member) == "any":
            yield Level.WARNING, f"the parameter {name!r} has no type"
    for name in schema.get("required", ()):
        if properties and name not in properties:
            yield Level.ERROR, f"requires {name!r}, which is not among its parameters"
    yield from _judge_defaults(schema)


def _judge_defaults(schema: dict[str, Any]) -> Iterator[Remark]:
    checker = Checker({key: value for key, value in schema.items() if key != "required"})
    for name, member in schema.get("properties", {}).items():
        if isinstance(member, dict) and "default" in member:
            default = member["default"]
            if default is not None and not checker.accepts({name: default}):
                yield Level.WARNING, f"the default of {name!r} does not fit its own schema"


def _judge_examples(spec: ToolSpec) -> Iterator[Remark]:
    if not 2 <= len(spec.examples) <= 3:
        yield Level.ADVICE, f"has {len(spec.examples)} examples; give 2 or 3 sentences of users"
    checker = Checker(spec.parameters)
    for example in spec.examples:
        if not isinstance(example, str):
            sentence, arguments = example
            try:
                checker.check(dict(arguments))
            except ArgumentsError as error:
                yield Level.WARNING, f"the example {sentence[:60]!r} would be refused: {error}"
