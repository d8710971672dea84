"""Tools whose schema is a signature: `TypedTool`, written as a class with a typed `run`.

`SignatureTool` is what it shares with `@tool` functions: arguments checked against the schema, then
turned into the annotated types, and whatever comes back turned into a `ToolResult`.
"""

import asyncio
import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, ClassVar, Self

from openjarvis.core import strict_json
from openjarvis.core.errors import ToolDefinitionError, ToolError
from openjarvis.core.images import PARTS, Image
from openjarvis.core.types import ToolResult
from openjarvis.safety.secrets import mask_secrets
from openjarvis.toolkit.base import BaseTool, Example, ToolSpec, check_name
from openjarvis.toolkit.check import ArgumentsError, Checker
from openjarvis.toolkit.context import ToolContext
from openjarvis.toolkit.schema import Signature, signature_of
from openjarvis.toolkit.services import Services


class SignatureTool(BaseTool):
    """A tool that runs `target`, a typed callable, plain or async."""

    signature: Signature

    @property
    @abstractmethod
    def target(self) -> Callable[..., Any]:
        """The callable that does the work."""

    @cached_property
    def is_async(self) -> bool:
        """Whether `target` must be awaited."""
        return inspect.iscoroutinefunction(self.target)

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return checked `arguments` as the keywords that `target` takes.

        Raises:
            ArgumentsError: naming each value that is of no use.
        """
        return self.signature.convert(arguments)

    def invoke(self, keywords: dict[str, Any], context: ToolContext) -> Any:
        """Call `target`; what it returns (for an async target: its coroutine) is returned."""
        if self.signature.context_parameter is not None:
            keywords = {**keywords, self.signature.context_parameter: context}
        return self.target(**keywords)

    def execute(self, /, **params: Any) -> ToolResult:
        """Run the tool by hand, without approval, deadline or record; a failure is a result too."""
        try:
            value = self.invoke(self._checked(params), ToolContext())
            if self.is_async:
                value = asyncio.run(value)
            return result_of(self.spec.name, value)
        except Exception as error:  # noqa: BLE001 - the target is foreign code and may raise anything
            return failure(self.spec.name, error)

    async def aexecute(self, /, **params: Any) -> ToolResult:
        """Run the tool as `execute` does, inside the caller's event loop."""
        try:
            value = self.invoke(self._checked(params), ToolContext())
            return result_of(self.spec.name, await value if self.is_async else value)
        except Exception as error:  # noqa: BLE001 - the target is foreign code and may raise anything
            return failure(self.spec.name, error)

    def _checked(self, params: dict[str, Any]) -> dict[str, Any]:
        return self.bind(self._checker.check(params))

    @cached_property
    def _checker(self) -> Checker:
        return Checker(self.signature.schema, owner=self.spec.name)


class TypedTool(SignatureTool):
    """A tool written as a class: the docstring describes it, the signature of `run` is its schema.

    ```python
    class WordCountTool(TypedTool):
        \"\"\"Count the words of a text. Call it when the user sets or asks about a length.\"\"\"

        name = "word_count"

        def run(self, text: Annotated[str, "The text to measure"]) -> str:
            return str(len(text.split()))
    ```

    `required` names parameters that a model must fill although Python gives them a default, so that
    a call by hand without them still reaches `run`, which says what is missing. What a tool needs
    comes through `__init__`; `build` takes it from the services of a system.
    """

    name: ClassVar[str]
    category: ClassVar[str] = ""
    cost_estimate: ClassVar[float] = 0.0
    latency_estimate: ClassVar[float] = 0.0
    requires_confirmation: ClassVar[bool] = False
    metadata: ClassVar[Mapping[str, Any]] = {}
    timeout_seconds: ClassVar[float] = 30.0
    examples: ClassVar[Sequence[Example]] = ()
    read_only: ClassVar[bool | None] = None
    destructive: ClassVar[bool | None] = None
    idempotent: ClassVar[bool | None] = None
    open_world: ClassVar[bool | None] = None
    required: ClassVar[tuple[str, ...]] = ()
    run: Callable[..., Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            cls.tool_id = check_name(cls.name, cls.__qualname__)
        if hasattr(cls, "run"):
            _check_required(cls)  # what cannot be described is an error here, not at the first call

    @classmethod
    def build(cls, services: Services) -> Self:
        """Return the tool with what it needs of `services`; this one needs nothing."""
        return cls()

    @property
    def signature(self) -> Signature:  # type: ignore[override]
        """What `run` takes."""
        return _class_signature(type(self))

    @property
    def target(self) -> Callable[..., Any]:
        return self.run

    @cached_property
    def spec(self) -> ToolSpec:
        """What a model and the executor know of this tool."""
        schema = self.signature.schema
        if self.required:
            schema = _with_required(schema, self.required)
        return ToolSpec(
            name=self.name,
            description=inspect.getdoc(type(self)) or "",
            parameters=schema,
            category=self.category,
            cost_estimate=self.cost_estimate,
            latency_estimate=self.latency_estimate,
            requires_confirmation=self.requires_confirmation,
            metadata=dict(self.metadata),
            timeout_seconds=self.timeout_seconds,
            examples=list(self.examples),
            read_only=self.read_only,
            destructive=self.destructive,
            idempotent=self.idempotent,
            open_world=self.open_world,
        )


@cache
def _class_signature(cls: type[TypedTool]) -> Signature:
    run = cls.__dict__.get("run") or cls.run
    if not callable(run):
        raise ToolDefinitionError(f"{cls.__qualname__}: `run` must be a method.")
    return signature_of(run.__get__(object(), cls), f"{cls.__qualname__}.run")


def _with_required(schema: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return `schema` with `names` required, and so without a default."""
    properties = {
        name: {key: value for key, value in of.items() if key != "default"} if name in names else of
        for name, of in schema["properties"].items()
    }
    required = list(dict.fromkeys([*schema.get("required", ()), *names]))
    return {**schema, "properties": properties, "required": required}


def _check_required(cls: type[TypedTool]) -> None:
    known = _class_signature(cls).schema["properties"]
    for name in cls.required:
        if name not in known:
            raise ToolDefinitionError(
                f"{cls.__qualname__}: `required` names {name!r}, which is no parameter of `run`."
            )


def result_of(tool_name: str, value: Any) -> ToolResult:
    """Return what a tool returned as a `ToolResult`.

    Raises:
        ToolError: when it is nothing that a model could read.
    """
    if type(value) is str:
        return ToolResult(tool_name, value)
    if isinstance(value, ToolResult):
        return value
    if type(value) is Image or (type(value) is list and Image in map(type, value)):
        return _with_images(tool_name, value)
    try:
        if isinstance(value, Iterator):
            raise TypeError("what an iterator still holds has no end that can be known")
        return ToolResult(tool_name, _json_text(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(
            f"The tool {tool_name!r} returned {type(value).__name__}, which JSON cannot hold; it "
            "should return text, JSON values, a pydantic model, an Image or a ToolResult."
        ) from error


def _with_images(tool_name: str, value: Any) -> ToolResult:
    """Return images, alone or in a list with texts, as a result: a line of text stands for each."""
    given = value if type(value) is list else [value]
    images = [one for one in given if type(one) is Image]
    lines = [one.line if type(one) is Image else result_of(tool_name, one).content for one in given]
    parts = [image.part for image in images]
    return ToolResult(tool_name, "\n".join(lines), metadata={PARTS: parts})


def _json_text(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    try:
        return strict_json.dumps(value)
    except (TypeError, ValueError):
        # pydantic is loaded only for results that plain JSON does not take.
        from openjarvis.toolkit.pydantic_types import jsonable

        return strict_json.dumps(jsonable(value))


def failure(tool_name: str, error: BaseException) -> ToolResult:
    """Return the result that says why a tool failed, in words that are fit for a model."""
    return ToolResult(tool_name, failure_text(error), success=False)


def failure_text(error: BaseException) -> str:
    """Return what a model is told of `error`: a `ToolError`'s words, else type and masked text."""
    if isinstance(error, ToolError):
        return str(error)
    if isinstance(error, ArgumentsError):
        return f"Invalid arguments: {error}"
    try:
        text = mask_secrets(str(error))[:2_000]
    except Exception:  # noqa: BLE001 - `__str__` of a foreign exception may raise anything
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
