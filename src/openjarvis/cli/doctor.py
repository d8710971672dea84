"""`jarvis doctor`: is everything in place, and what to do where it is not."""

import platform
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import click

from openjarvis._version import __version__
from openjarvis.channels.directory import Channels
from openjarvis.cli.options import json_option
from openjarvis.cli.render import keep_stdout_for_results, show, show_json
from openjarvis.config import config_path, load_config
from openjarvis.core.errors import ConfigError, ToolError, Unavailable, unknown_name
from openjarvis.engine.discovery import OFFLINE, engine_keys, engine_statuses
from openjarvis.engine.offline.engine import OfflineEngine
from openjarvis.llm.defaults import engine_settings
from openjarvis.mcp.servers import configured_servers
from openjarvis.memory.opening import is_started, open_memory, sqlite_path
from openjarvis.safety.secrets import mask_secrets
from openjarvis.sandbox import report
from openjarvis.sandbox.isolation import SandboxRefused
from openjarvis.sandbox.isolation import detect as isolation_of_this_machine
from openjarvis.sandbox.session import Sandbox
from openjarvis.scheduling import open_store, store_path
from openjarvis.system import (
    System,
    UnknownAgentError,
    UnknownModeError,
    agent_class,
    check_mode,
    default_agent,
    open_audit,
)
from openjarvis.tools import catalog


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    passed: bool
    detail: str


@click.command()
@click.option("--sandbox", is_flag=True, help="Attack the sandbox and show what each wall stops.")
@json_option
def doctor(sandbox: bool, as_json: bool) -> None:
    """Check this installation; exit code 1 when something needs attention."""
    keep_stdout_for_results()
    if sandbox:
        _attack_the_sandbox(as_json)
        return
    checks = [_python(), _looked_at(_config)]
    if checks[-1].passed:  # the others read it
        checks += map(_looked_at, _CHECKS)
    if as_json:
        show_json([check._asdict() for check in checks])
    else:
        for check in checks:
            show(f"{'ok  ' if check.passed else 'MEND'}  {check.name}: {check.detail}")
    if not all(check.passed for check in checks):
        sys.exit(1)


def _looked_at(check: Callable[[], Check]) -> Check:
    try:
        return check()
    except (ConfigError, ToolError, Unavailable) as error:
        return Check(check.__name__.strip("_"), False, mask_secrets(str(error)))


def _python() -> Check:
    version = platform.python_version()
    return Check("python", True, f"openjarvis {__version__} on Python {version}, {sys.platform}")


def _config() -> Check:
    config = load_config()
    where = config.path or f"{config_path()} is not there; the defaults are used"
    return Check("config", True, str(where))


def _engine() -> Check:
    settings = engine_settings(load_config())
    if settings.default and settings.default not in engine_keys(settings):
        unknown = unknown_name("engine", settings.default, engine_keys(settings))
        return Check("engine", False, f"{unknown} It is the `default` in [engine].")
    statuses = engine_statuses(settings)
    for one in statuses:
        if one.key == settings.default and not one.ready:
            return Check("engine", False, f"{one.key!r}, configured, is not ready: {one.reason}")
    ready = [one for one in statuses if one.ready]
    names = ", ".join(one.key for one in ready)
    if [one.key for one in ready] == [OFFLINE]:
        return Check("engine", True, "only offline is ready, which is no language model")
    return Check("engine", bool(ready), names or "none is ready")


def _agent() -> Check:
    config = load_config()
    named, mode = config.agent.default, config.agent.mode
    try:
        if mode:
            check_mode(named or default_agent(mode=mode), mode)
        return Check("agent", True, agent_class(named).agent_id if named else "none is configured")
    except UnknownModeError as error:
        return Check("agent", False, f"{error} It is the `mode` in [agent].")
    except UnknownAgentError as error:
        return Check("agent", False, f"{error} It is the `default` in [agent].")


def _tools() -> Check:
    system = System(load_config(), OfflineEngine())
    report = system.dropped_in
    found = f"{len(catalog.names())} built in, {len(report.tools)} dropped in"
    problems = "; ".join([*map(str, report.problems), *_not_built(system)])
    system.close()
    return Check("tools", not problems, f"{found}. {problems}" if problems else found)


def _not_built(system: System) -> Iterator[str]:
    """Yield what is wrong with each registered tool that cannot be built."""
    for name in catalog.names():
        try:
            system.tools([name])
        except Exception as error:  # noqa: BLE001 - a registered class is foreign code
            yield mask_secrets(str(error))


def _memory() -> Check:
    settings = load_config().memory
    if not is_started(settings):
        return Check(
            "memory", True, f"nothing was stored yet; {sqlite_path(settings)} will be made"
        )
    memory = open_memory(settings)
    try:
        return Check("memory", True, f"{memory.count()} texts ({settings.backend})")
    finally:
        memory.close()


def _scheduler() -> Check:
    config = load_config()
    path = store_path(config)
    if not config.scheduler.database and not path.exists():
        return Check("scheduler", True, f"nothing was scheduled yet; {path} will be made")
    store = open_store(config)
    try:
        return Check("scheduler", True, f"{len(store.list_tasks())} tasks")
    finally:
        store.close()


def _mcp() -> Check:
    servers = configured_servers(load_config().mcp)
    return Check("mcp", True, f"{len(servers)} servers; 'jarvis mcp list' shows how they stand")


def _channels() -> Check:
    names = Channels(load_config().channels).list_channels()
    return Check("channels", True, f"{len(names)}; 'jarvis channels status' checks them")


def _sandbox() -> Check:
    isolation = isolation_of_this_machine()
    standing = ", ".join(isolation.layers)
    missing = "".join(f"; missing {one}" for one in isolation.missing)
    try:
        isolation.require()
    except SandboxRefused as refused:
        return Check("sandbox", False, f"{refused} ({standing}{missing})")
    done = Sandbox(isolation=isolation).run("print(1 + 1)")
    if done.stdout.strip() != "2":
        said = done.stderr.strip().rpartition("\n")[2]
        return Check("sandbox", False, f"a program in it did not answer: {said} ({standing})")
    return Check("sandbox", True, standing + missing)


def _attack_the_sandbox(as_json: bool) -> None:
    columns = report.columns()
    rows = report.rows(list(columns.values()))
    if as_json:
        show_json(
            [{"attack": row.attack, **dict(zip(columns, row.held, strict=True))} for row in rows]
        )
    else:
        show(report.as_markdown(columns, rows))
    if not all(row.held[-1] for row in rows):
        sys.exit(1)


def _audit() -> Check:
    config = load_config()
    if not config.audit.enabled:
        return Check("audit", True, "switched off in [audit]: calls are not recorded")
    trail = open_audit(config)
    trail.close()
    return Check("audit", True, f"calls are recorded in {trail.path}")


_CHECKS = (
    _engine,
    _agent,
    _tools,
    _sandbox,
    _memory,
    _scheduler,
    _mcp,
    _channels,
    _audit,
)
