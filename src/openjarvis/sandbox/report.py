"""The table of isolation and attack: what each wall of this machine stops, seen and not claimed."""

from dataclasses import dataclass

from openjarvis.sandbox.attacks import ATTACKS, Attack
from openjarvis.sandbox.isolation import Isolation, SandboxRefused, detect
from openjarvis.sandbox.limits import Limits
from openjarvis.sandbox.session import Sandbox
from openjarvis.sandbox.targets import Targets

_MIB = 1024 * 1024
LIMITS = Limits(
    timeout_seconds=3,
    memory_bytes=512 * _MIB,
    file_bytes=16 * _MIB,
    disk_bytes=32 * _MIB,
    flood_bytes=16 * _MIB,
    output_bytes=16 * 1024,
)
"""Small enough that an attack on them is over soon."""


@dataclass(frozen=True, slots=True)
class Row:
    """One attack: for each column whether the walls held, None where they could not be put up."""

    attack: str
    held: tuple[bool | None, ...]


def columns() -> dict[str, Isolation]:
    """Return the combinations of walls worth comparing on this machine, by name."""
    whole = detect()
    kernel = Isolation(landlock=whole.landlock, seccomp=whole.seccomp)
    found = {
        "limits only": Isolation(),
        "landlock + seccomp": kernel,
        f"{whole.wrapper or 'wrapper'} only": Isolation(wrapper=whole.wrapper),
        "all": whole,
    }
    distinct: dict[str, Isolation] = {}
    for name, isolation in found.items():
        if isolation not in distinct.values():
            distinct[name] = isolation
    return distinct


def rows(isolations: list[Isolation] | None = None) -> list[Row]:
    """Run every attack against each isolation (`columns()` by default) and return what held."""
    tried = list(columns().values()) if isolations is None else isolations
    with Targets() as targets:
        return [
            Row(attack.name, tuple(holds(one, attack, targets) for one in tried))
            for attack in ATTACKS
        ]


def holds(isolation: Isolation, attack: Attack, targets: Targets) -> bool | None:
    """Tell whether `isolation` stops `attack`; None when it could not be put up."""
    sandbox = Sandbox(LIMITS, isolation=isolation, allow_unsandboxed=True)
    try:
        execution = sandbox.run(targets.prelude + attack.code)
    except SandboxRefused:
        return None
    return "OPEN" not in execution.stdout.split()


def as_markdown(isolations: dict[str, Isolation], found: list[Row]) -> str:
    """Return the table as Markdown, as `docs/security.md` shows it."""
    words = {True: "stopped", False: "**open**", None: "not available"}
    lines = [
        "| attack | " + " | ".join(isolations) + " |",
        "|---|" + "---|" * len(isolations),
        *(f"| {row.attack} | {' | '.join(words[one] for one in row.held)} |" for row in found),
    ]
    return "\n".join(lines)
