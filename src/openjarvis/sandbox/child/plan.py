"""What a child is told before it is given any code."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict
else:
    TypedDict = dict


class Plan(TypedDict):
    """How a child shuts itself in; it travels as `marshal`, whose reader needs no import."""

    parent: int
    """The process to die with; 0 where a wrapper sees to that."""
    workplace: str
    readable: list[str]
    import_paths: list[str]
    landlock: int
    """The version to apply; 0 for none."""
    seccomp: bool
    own_filesystem: bool
    limits: dict[str, int]
    """Resource limits by the names of the `resource` module."""
    idle_seconds: float
