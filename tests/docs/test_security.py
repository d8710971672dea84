"""The table of docs/security.md is what `jarvis doctor --sandbox` prints."""

import re
from pathlib import Path

from openjarvis.sandbox.attacks import ATTACKS

PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")


def test_the_table_has_every_attack_and_all_walls_stop_each() -> None:
    table = PAGE.partition("| attack |")[2]
    rows = re.findall(r"^\| ([^|]+) \|.*\| ([^|]+) \|$", table, re.MULTILINE)

    assert [name for name, _ in rows if name != "attack"][: len(ATTACKS)] == [
        attack.name for attack in ATTACKS
    ]
    assert {last for _, last in rows[: len(ATTACKS)]} == {"stopped"}
