"""A server's tools as ours: names that models take, descriptions of a bounded size, a digest.

What a server says of its tools is data from outside: it is shown and limited, never believed.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from openjarvis.config import McpServerConfig
from openjarvis.core.errors import ToolDefinitionError
from openjarvis.core.strict_json import dumps
from openjarvis.mcp.promise import Promise
from openjarvis.mcp.servers import SEPARATOR, Server
from openjarvis.safety.concealment import masked
from openjarvis.safety.terminal import plain
from openjarvis.toolkit.base import ToolSpec
from openjarvis.toolkit.check import Checker

MAX_DESCRIPTION = 2_000
MAX_SCHEMA = 50_000
MAX_TOOLS = 1_000
MAX_PROBLEMS = 50
_UNTOLD = ("_meta", "icons")
"""What is said beside a definition: no model is told it, and it may change."""

_LONGEST_NAME = 64
_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool of a server; `digest` changes with anything that the server says of it.

    `configured` tells its server from others of the same name.
    """

    server: str
    configured: str
    remote_name: str
    spec: ToolSpec
    digest: str
    promise: Promise | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a server by our names, and what is wrong with those that are left out."""

    tools: dict[str, Definition]
    problems: list[str]


def listing(
    owner: Server, settings: McpServerConfig, tools: Iterable[Any], broken: Iterable[str] = ()
) -> Listing:
    """Return the SDK's `tools` of a server as definitions; `broken` says what is no tool.

    `settings` are those of the server with variables filled in.
    """
    server = owner.name
    found: dict[str, Definition] = {}
    problems = [f"{server}: {problem}" for problem in broken]
    for number, tool in enumerate(tools):
        if number == MAX_TOOLS:
            problems.append(f"{server}: more than {MAX_TOOLS} tools; the rest is left out")
            break
        try:
            definition = _definition(owner, settings, tool)
        except ToolDefinitionError as error:
            problems.append(masked(str(error), 300))
            continue
        name = definition.spec.name
        if name in found:
            problems.append(f"{server}: two tools are named {name}; the second is left out")
        else:
            found[name] = definition
    if len(problems) > MAX_PROBLEMS:
        rest = len(problems) - MAX_PROBLEMS
        problems = [*problems[:MAX_PROBLEMS], f"{server}: and {rest:,} more"]
    return Listing(found, problems)


def local_name(server: str, remote_name: str) -> str:
    """Return the name that models see: `SERVER__tool`, at most 64 characters, always the same.

    A name that had to be changed ends in a digest of the real one, so that no two become one.
    """
    plain_name = re.sub(r"[^A-Za-z0-9_-]", "_", remote_name)
    name = f"{server}{SEPARATOR}{plain_name}"
    if plain_name == remote_name and remote_name and len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(remote_name.encode(errors="replace")).hexdigest()[:_DIGITS]
    return f"{name[: _LONGEST_NAME - _DIGITS - 1]}_{digest}"


def _definition(owner: Server, settings: McpServerConfig, tool: Any) -> Definition:
    whole: dict[str, Any] = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    hints: dict[str, Any] = whole.get("annotations") or {}
    name = local_name(owner.name, tool.name)
    schema = _schema(whole.get("inputSchema") or {}, name)
    spec = ToolSpec(
        name=name,
        description=_limited(whole.get("description") or whole.get("title") or ""),
        parameters=schema,
        category="integration",
        requires_confirmation=settings.confirm and hints.get("readOnlyHint") is not True,
        metadata={"mcp_server": owner.name, "mcp_tool": tool.name},
        timeout_seconds=settings.timeout_seconds,
        read_only=hints.get("readOnlyHint"),
        destructive=hints.get("destructiveHint"),
        idempotent=hints.get("idempotentHint"),
        open_world=hints.get("openWorldHint"),
    )
    Checker(schema, owner=name)  # what is no schema is found here, not at the first call
    promise = _promise(whole, name)
    return Definition(owner.name, owner.configured, tool.name, spec, _digest(whole), promise)


def _promise(whole: dict[str, Any], owner: str) -> Promise | None:
    schema = whole.get("outputSchema")
    if schema is None:
        return None
    _limit(schema, f"{owner}: its output schema")
    return Promise(schema, owner=owner)


def _schema(schema: dict[str, Any], owner: str) -> dict[str, Any]:
    _limit(schema, f"{owner}: its input schema")
    cleaned: dict[str, Any] = _cleaned(schema)
    return {"properties": {}, **cleaned, "type": "object"}


def _limit(schema: dict[str, Any], what: str) -> None:
    try:
        size = len(dumps(schema))
    except (ValueError, RecursionError) as error:
        raise ToolDefinitionError(f"{what} is no JSON: {error}") from error
    if size > MAX_SCHEMA:
        raise ToolDefinitionError(f"{what} has {size:,} characters; at most {MAX_SCHEMA:,} pass")


def _cleaned(value: Any) -> Any:
    """Return a schema with its descriptions limited and without hidden characters."""
    if isinstance(value, dict):
        return {
            key: _limited(item)
            if key in ("description", "title") and isinstance(item, str)
            else _cleaned(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value


def _limited(text: str) -> str:
    text = plain(text[: MAX_DESCRIPTION + 1]).strip()
    return text if len(text) <= MAX_DESCRIPTION else text[:MAX_DESCRIPTION] + " […]"


def _digest(whole: dict[str, Any]) -> str:
    told = {key: value for key, value in whole.items() if key not in _UNTOLD}
    return hashlib.sha256(dumps(_sorted(told)).encode(errors="replace")).hexdigest()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
