"""What tools may need from the system around them, handed over by `tools.catalog.build`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet


class Closable(Protocol):
    """What holds something that must be let go."""

    def close(self) -> None: ...


@dataclass(slots=True)
class Services:
    """The running parts of a system; None where a part is not configured.

    A tool class takes what it needs in its class method `build(services)`; the parts are typed
    `Any` because they live on floors above this one.
    """

    engine: Any = None
    model: str = ""
    memory: Any = None
    scheduler: Any = None
    channel: Any = None
    mcp: Any = None
    allowed_dirs: Sequence[Path] = field(default_factory=lambda: (Path.cwd(),))
    config: Any = None
    to_close: WeakSet[Closable] = field(default_factory=WeakSet)
    """Tools that add themselves are closed with the system, unless they are dropped before."""


class Deferred:
    """A part of a system that is made when something of it is first used."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @cached_property
    def _part(self) -> Any:
        return self._make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)
