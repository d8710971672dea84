"""How much a sandboxed program may use."""

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one snippet, or on each call of a session and on the session as a whole.

    `timeout_seconds` is wall time for one call; `cpu_seconds` is for the whole life of the process.
    `memory_bytes` counts address space. `output_bytes` is what is kept of each stream; a program
    that writes past `flood_bytes` is stopped, as is one whose files together pass `disk_bytes`.
    """

    timeout_seconds: float = 30.0
    cpu_seconds: int = 600
    memory_bytes: int = 1024 * _MIB
    file_bytes: int = 64 * _MIB
    disk_bytes: int = 64 * _MIB
    disk_entries: int = 10_000
    open_files: int = 256
    output_bytes: int = 256 * 1024
    flood_bytes: int = 64 * _MIB
    idle_seconds: float = 1800.0

    def __post_init__(self) -> None:
        if not 0 < self.timeout_seconds <= 86_400:
            raise ValueError(
                f"timeout_seconds must be above 0 and at most 86400, got {self.timeout_seconds!r}"
            )
