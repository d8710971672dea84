"""`@tool`: a typed function becomes a tool, and stays callable as before."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, overload

from openjarvis.core.errors import ToolDefinitionError
from openjarvis.toolkit.base import Example, ToolSpec, check_name
from openjarvis.toolkit.schema import signature_of
from openjarvis.toolkit.typed import SignatureTool


class FunctionTool(SignatureTool):
    """A function as a tool; a plain call runs the function itself."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None,
        description: str | None,
        **spec: Any,
    ) -> None:
        update_wrapper(self, function)  # first, since it copies the function's own attributes
        origin = f"{function.__module__}.{function.__qualname__}"
        self.tool_id = check_name(function.__name__ if name is None else name, origin)
        self.signature = signature_of(function, origin)
        self._function = function
        self._spec = ToolSpec(
            name=self.tool_id,
            description=self.signature.description if description is None else description,
            parameters=self.signature.schema,
            **spec,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.tool_id}{inspect.signature(self._function)}>"

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    @property
    def target(self) -> Callable[..., Any]:
        return self._function


@overload
def tool(name: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    name: str | None = None,
    description: str | None = None,
    *,
    category: str = "",
    cost_estimate: float = 0.0,
    latency_estimate: float = 0.0,
    requires_confirmation: bool = False,
    metadata: Mapping[str, Any] | None = None,
    timeout_seconds: float = 30.0,
    examples: Sequence[Example] = (),
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(
    name: str | Callable[..., Any] | None = None, description: str | None = None, **spec: Any
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a tool of a typed function: `@tool`, `@tool("name", "when to call it")`, `@tool(…=…)`.

    The JSON Schema comes from the signature, the description from the docstring unless given. The
    keywords are the fields of `ToolSpec`.

    Raises:
        ToolDefinitionError: when it is no function, when a parameter has no annotation or none
            that a schema can describe, or when the name is one that models cannot call.
    """
    if callable(name):
        return tool()(name)

    def decorate(function: Callable[..., Any]) -> FunctionTool:
        if not inspect.isroutine(function):
            raise ToolDefinitionError(
                f"@tool makes a tool of a function, not of {function!r}; for a class, subclass "
                "TypedTool or BaseTool."
            )
        return FunctionTool(function, name=name, description=description, **_spec_fields(spec))

    return decorate


def _spec_fields(given: dict[str, Any]) -> dict[str, Any]:
    fields = {key: value for key, value in given.items() if value is not None}
    if "metadata" in fields:
        fields["metadata"] = dict(fields["metadata"])
    return fields
