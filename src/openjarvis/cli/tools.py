"""`jarvis tools`: what there is, what a model is told of it, one run by hand, a file judged."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import click

from openjarvis.cli.engines import not_there
from openjarvis.cli.lazy import Failure
from openjarvis.cli.options import (
    allow_dir_option,
    approve_option,
    approver,
    json_option,
    tools_dir_option,
)
from openjarvis.cli.render import (
    keep_stdout_for_results,
    notice,
    show,
    show_json,
    show_table,
)
from openjarvis.config import load_config
from openjarvis.core.strict_json import JSONRefused, dumps, loads
from openjarvis.core.types import ToolCall
from openjarvis.dropins.check import Level, judge
from openjarvis.engine.discovery import OFFLINE
from openjarvis.engine.offline.engine import OfflineEngine
from openjarvis.engine.offline.notice import HOW_TO_GET_ONE
from openjarvis.execution.trip import Run
from openjarvis.system import System, get_engine
from openjarvis.toolkit.base import BaseTool, openai_function
from openjarvis.toolkit.provider import ProviderTool
from openjarvis.toolkit.toolset import AnyTool, origin
from openjarvis.tools import catalog


@click.group()
def tools() -> None:
    """List, show, run and check tools."""


@tools.command("list")
@tools_dir_option
@json_option
def list_tools(tool_dirs: tuple[str, ...], as_json: bool) -> None:
    """List all tools, and the files that cannot be used with the reason."""
    system = _system(tool_dirs=tool_dirs)
    rows = list(_rows(system))
    report = system.dropped_in
    if as_json:
        problems, left_out = list(map(str, report.problems)), list(map(str, report.left_out))
        show_json({"tools": rows, "problems": problems, "left_out": left_out})
        return
    show_table(
        ("NAME", "CATEGORY", "DESCRIPTION"),
        [(row["name"], row["category"], row["description"].split("\n")[0]) for row in rows],
    )
    for remark in report.remarks:
        notice(remark)


@tools.command("show")
@click.argument("name")
@tools_dir_option
def show_tool(name: str, tool_dirs: tuple[str, ...]) -> None:
    """Print the function definition that a model gets of a tool."""
    tool = _one(_system(tool_dirs=tool_dirs), name)
    definition = tool.to_openai_function() if isinstance(tool, BaseTool) else _defined(tool)
    show_json(definition)


@tools.command("run")
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]... | JSON")
@approve_option
@allow_dir_option
@tools_dir_option
@json_option
def run_tool(
    name: str,
    arguments: tuple[str, ...],
    approve: str,
    allowed_dirs: tuple[str, ...],
    tool_dirs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run a tool with arguments: text as it is, other values as JSON, or all as one JSON object.

    \b
      jarvis tools run calculator expression='2+2'
      jarvis tools run calculator '{"expression": "2+2"}'
    """  # noqa: D301 - click keeps the lines after a real \b
    system = _system(name, allowed_dirs=allowed_dirs, tool_dirs=tool_dirs)
    for remark in system.dropped_in.remarks if tool_dirs else ():
        notice(remark)
    executor = system.executor([name], approver(approve))
    if not executor.available_tools():
        raise Failure(f"The tool {name!r} is run by its provider; it cannot be run from here.", 2)
    spec = executor.available_tools()[0]
    call = ToolCall(f"cli_{uuid4().hex[:8]}", name, _arguments(arguments, spec.parameters))
    result, record = executor.perform(call, Run(agent="cli"))
    system.close()
    if as_json:
        show_json(
            {
                "tool_name": result.tool_name,
                "content": result.content,
                "success": result.success,
                "outcome": record.outcome.value,
                "detail": record.detail,
                "latency_seconds": result.latency_seconds,
                "metadata": result.metadata,
            }
        )
    elif result.success:
        show(result.content)
    else:
        notice(result.content)
    if not result.success:
        sys.exit(1)


@tools.command("check")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@json_option
def check_tools(path: Path, as_json: bool) -> None:
    """Judge a tool file or folder: does it load, will a model know when and how to call it.

    Exit code 1 when something stops a tool.
    """
    keep_stdout_for_results()
    taken = {name: f"the built-in tool {name!r}" for name in catalog.names()}
    findings = judge(path, load_config().raw, taken)
    if as_json:
        show_json([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            show(str(finding))
        if not findings:
            show(f"{path}: nothing to mend.")
    if any(finding.level is Level.ERROR for finding in findings):
        sys.exit(1)


def _system(runs: str = "", **options: Any) -> System:
    """Return the system that tools are taken from, with the engine that the tool it `runs` needs.

    No engine is looked for where no tool asks one.
    """
    keep_stdout_for_results()
    config = load_config()
    system = System(config, OfflineEngine(), **options)
    if not runs or not _one(system, runs).spec.metadata.get("needs_model"):
        return system
    found = get_engine(config)
    if found is None:
        raise not_there(config, None)
    key, engine = found
    if key == OFFLINE:
        raise Failure(f"The tool {runs!r} asks a language model. {HOW_TO_GET_ONE}", 1)
    return System(config, engine, engine_key=key, **options)


def _one(system: System, name: str) -> AnyTool:
    return system.tools([name]).build()[0]


def _rows(system: System) -> Iterator[dict[str, Any]]:
    dropped_in = {tool.spec.name: tool for tool in system.dropped_in.tools}
    for name in catalog.names(dropped_in):
        try:
            tool = dropped_in.get(name) or _one(system, name)
        except Exception as error:  # noqa: BLE001 - a registered class is foreign code
            yield {"name": name, "category": "", "description": f"cannot be made: {error}"}
            continue
        spec = tool.spec
        yield {
            "name": name,
            "category": spec.category,
            "description": spec.description,
            "requires_confirmation": spec.requires_confirmation,
            "origin": origin(tool),
        }


def _defined(tool: AnyTool) -> dict[str, Any]:
    if isinstance(tool, ProviderTool):
        return {"type": tool.provider_type, **tool.options}
    return openai_function(tool.spec)


def _arguments(given: tuple[str, ...], schema: dict[str, Any]) -> str:
    """Return the JSON text of the arguments, one object or `name=value` pairs."""
    if len(given) == 1 and given[0].lstrip().startswith("{"):
        return given[0]
    pairs: dict[str, Any] = {}
    for entry in given:
        name, equals, value = entry.partition("=")
        if not equals:
            raise click.UsageError(
                f"{entry!r} is no argument; write name=value, or one JSON object."
            )
        if name in pairs:
            raise click.UsageError(f"The argument {name!r} is given twice.")
        pairs[name] = _value(value, schema.get("properties", {}).get(name, {}))
    return dumps(pairs)


def _value(text: str, schema: dict[str, Any]) -> Any:
    if schema.get("type") == "string":
        return text
    try:
        return loads(text)
    except JSONRefused:
        return text
