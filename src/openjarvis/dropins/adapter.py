"""A tool of a dropped-in file as a tool of ours: its manifest becomes a spec, its result ours."""

import asyncio
import copy
import inspect
from typing import Any

from openjarvis.core.errors import ToolDefinitionError, ToolError
from openjarvis.core.types import ToolResult
from openjarvis.dropins import contract
from openjarvis.dropins.parameters import schema_of
from openjarvis.dropins.specs import check_spec
from openjarvis.safety.secrets import mask_secrets
from openjarvis.toolkit.base import BaseTool, ToolSpec
from openjarvis.toolkit.typed import result_of

_ALIKE = (
    "name",
    "description",
    "category",
    "cost_estimate",
    "latency_estimate",
    "requires_confirmation",
    "timeout_seconds",
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
)
"""The fields that a manifest and a spec have in common, as they are."""


class DropInTool(BaseTool):
    """A dropped-in tool; `inner` is the object of the file, `origin` its "path:line".

    Raises:
        ToolDefinitionError: when its manifest or its `execute` is of no use, or whatever the file's
            `manifest()` raises.
    """

    def __init__(self, inner: contract.BaseTool, origin: str) -> None:
        owner = type(inner).__qualname__
        self.inner = inner
        self.origin = origin
        self._spec = spec_of(plain_result(inner.manifest), owner)
        self.tool_id = self._spec.name
        self._defaults = _defaults(self._spec.parameters)
        _check_execute(inner, owner)

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    def execute(self, /, **params: Any) -> ToolResult:
        """Run the tool; optional arguments that are missing get the defaults of their schema.

        Raises:
            BaseException: whatever the file's own `execute` raises.
        """
        for name, default in self._defaults.items():
            if name not in params:
                params[name] = copy.deepcopy(default)
        returned: Any = self.inner.execute(params)
        if inspect.iscoroutine(returned):
            returned = asyncio.run(returned)
        return _result(self.tool_id, returned)


def plain_result(method: Any) -> Any:
    """Return what `method`, a method of a dropped-in file, returns.

    Raises:
        ToolDefinitionError: when it is `async`, which only `execute` may be.
    """
    returned = method()
    if inspect.iscoroutine(returned):
        returned.close()
        raise ToolDefinitionError(f"{method.__qualname__} must not be async; remove `async`.")
    return returned


def spec_of(manifest: Any, owner: str) -> ToolSpec:
    """Return the spec that a manifest stands for.

    Raises:
        ToolDefinitionError: naming `owner` and what is wrong.
    """
    if not isinstance(manifest, contract.ToolManifest):
        raise ToolDefinitionError(
            f"{owner}.manifest() must return a ToolManifest, got {type(manifest).__name__}."
        )
    manifest = copy.deepcopy(manifest)  # what a model was told does not change afterwards
    spec = ToolSpec(
        **{field: getattr(manifest, field) for field in _ALIKE},
        parameters=schema_of(manifest.parameters, owner),
        metadata=dict(manifest.metadata),
        examples=manifest.examples,
    )
    check_spec(spec, owner)
    return spec


def _defaults(schema: dict[str, Any]) -> dict[str, Any]:
    return {
        name: member["default"]
        for name, member in schema["properties"].items()
        if isinstance(member, dict) and "default" in member
    }


def _check_execute(inner: contract.BaseTool, owner: str) -> None:
    try:
        inspect.signature(inner.execute).bind({})
    except TypeError as error:
        raise ToolDefinitionError(
            f"{owner}.execute must take one argument, the dict of parameters: "
            "def execute(self, params)."
        ) from error


def _result(tool_name: str, returned: Any) -> ToolResult:
    if returned is None:
        raise ToolError(
            f"The tool {tool_name!r} returned nothing; its execute should return "
            "ToolResult(success=True, data=…)."
        )
    if not isinstance(returned, contract.ToolResult):
        return result_of(tool_name, returned)
    if returned.success:
        return result_of(tool_name, returned.data)
    # Such texts are mostly `str(exception)`, and those of HTTP clients hold URLs with keys.
    why = mask_secrets(str(returned.error))
    return ToolResult(tool_name, why or f"The tool {tool_name!r} failed without saying why.", False)
