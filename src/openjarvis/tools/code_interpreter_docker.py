"""The tool that runs a piece of Python in a throw-away container."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.sandbox.code_output import code_result
from openjarvis.sandbox.docker import Container
from openjarvis.toolkit.base import ToolSpec
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool
from openjarvis.tools.sandboxed import require_code
from openjarvis.tools.settings import settings_of

_STARTING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class DockerSettings:
    """`[tools.code_interpreter_docker]`."""

    image: str = "python:3.12-slim"
    timeout: float = 60.0
    max_output: int = 10_000
    memory_limit: str = "256m"
    cpu_count: float = 1.0
    pids_limit: int = 64
    network_disabled: bool = True


@ToolRegistry.register("code_interpreter_docker")
class CodeInterpreterDockerTool(TypedTool):
    """Run Python code in a throw-away container and return what it prints.

    Call it for code that needs stronger walls than code_interpreter has on this machine. It has no
    network unless the user has said otherwise.
    """

    name = "code_interpreter_docker"
    category = "code"
    destructive = False
    required = ("code",)
    examples = (("Run print(2**10) in a container", {"code": "print(2**10)"}),)

    def __init__(
        self,
        image: str = "python:3.12-slim",
        timeout: float = 60,
        memory_limit: str = "256m",
        cpu_count: float = 1,
        network_disabled: bool = True,
        pids_limit: int = 64,
        max_output: int = 10_000,
    ) -> None:
        """Make containers of `image` that may use so much."""
        self._container = Container(
            image=image,
            timeout_seconds=timeout,
            memory_limit=memory_limit,
            cpu_count=cpu_count,
            network_disabled=network_disabled,
            pids_limit=pids_limit,
        )
        self._max_output = max_output

    @classmethod
    def build(cls, services: Services) -> Self:
        settings = settings_of(services, cls.name, DockerSettings)
        return cls(
            image=settings.image,
            timeout=settings.timeout,
            memory_limit=settings.memory_limit,
            cpu_count=settings.cpu_count,
            network_disabled=settings.network_disabled,
            pids_limit=settings.pids_limit,
            max_output=settings.max_output,
        )

    @cached_property
    def spec(self) -> ToolSpec:
        seconds = self._container.timeout_seconds + _STARTING_SECONDS
        return replace(super().spec, timeout_seconds=seconds)

    def run(self, code: Annotated[str, "The Python code to run"] = "") -> ToolResult:
        require_code(code)
        execution = self._container.run(code)
        layers = ["container", *(["no network"] if self._container.network_disabled else [])]
        return code_result(
            self.name,
            execution,
            sandbox={"layers": layers, "missing": []},
            seconds=self._container.timeout_seconds,
            max_output=self._max_output,
        )
