"""The plan of the house is true: its floors, its folders and its modules are those of the code."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "openjarvis"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def floors_of_the_page() -> list[set[str]]:
    """Return the rooms of each floor, from the roof down."""
    table = PAGE.partition("| floor |")[2].partition("\n\n")[0]
    rows = [line.split("|")[2] for line in table.splitlines()[2:]]
    return [set(re.findall(r"`(\w+)`", rooms)) for rooms in rows]


def test_the_floors_are_those_that_the_import_contract_keeps() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]

    kept = [set(re.findall(r"openjarvis\.(\w+)", layer)) for layer in contract["layers"]]

    assert floors_of_the_page() == kept


def test_every_folder_and_module_has_its_floor() -> None:
    there = {
        path.stem
        for path in SOURCE.iterdir()
        if not path.name.startswith("_")
        and (path.suffix == ".py" or (path / "__init__.py").exists())
    }

    assert set().union(*floors_of_the_page()) == there


def test_every_module_that_is_named_is_there() -> None:
    named = {name for name in re.findall(r"`([\w/]+\.py)`", PAGE) if not name.startswith("tests/")}

    missing = [
        name
        for name in named
        if not (SOURCE / name).exists() and not (SOURCE.parent / name).exists()
    ]

    assert len(named) > 30
    assert missing == []


def test_the_road_has_the_stops_that_the_readme_names() -> None:
    road = re.search(r"find → .* → answer", (ROOT / "README.md").read_text("utf-8"))
    assert road

    table = PAGE.partition("| stop |")[2].partition("\n\n")[0]
    stops = [line.split("|")[1].strip() for line in table.splitlines()[2:]]

    assert [stop.split()[0] for stop in road[0].split(" → ")] == stops
