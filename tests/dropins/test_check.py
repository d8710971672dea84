from pathlib import Path
from typing import Any

import pytest

from dropin_files import GOOD, WEATHER, tool_file, write_folder
from openjarvis.dropins.check import Finding, Level, judge, judge_spec
from openjarvis.toolkit.base import ToolSpec

GOOD_DESCRIPTION = "Get the weather of a city. Use it when the user asks about rain or sun."
GOOD_EXAMPLES = ["Is it raining in London?", ("Sun in Oslo?", {"city": "Oslo"})]
CITY = {"type": "string", "description": "the city's name"}


def spec(**fields: Any) -> ToolSpec:
    parameters = {"type": "object", "properties": {"city": CITY}, "required": ["city"]}
    return ToolSpec(
        **{
            "name": "weather",
            "description": GOOD_DESCRIPTION,
            "parameters": parameters,
            "examples": GOOD_EXAMPLES,
            **fields,
        }
    )


def properties(required: list[str] | None = None, **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": required or []}


def test_a_good_tool_file_has_nothing_to_mend(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {"weather.py": WEATHER})

    assert judge(folder / "weather.py") == []
    assert judge(folder) == []
    assert list(judge_spec(spec())) == []


@pytest.mark.parametrize(
    ("fields", "level", "told"),
    [
        ({"description": ""}, Level.ERROR, "has no description"),
        ({"description": " \n"}, Level.ERROR, "has no description"),
        ({"description": "Use it for rain."}, Level.ADVICE, "the description is short"),
        (
            {"description": "Gets the current weather of a city of the world."},
            Level.ADVICE,
            "does not say when to call it",
        ),
        ({"description": "Use it when " + "x" * 1_100}, Level.WARNING, "more than 1,024 char"),
        (
            {"parameters": properties(city={"type": "string"}), "examples": ["a", "b"]},
            Level.WARNING,
            "the parameter 'city' has no description",
        ),
        (
            {"parameters": properties(city={"description": "where"})},
            Level.WARNING,
            "the parameter 'city' has no type",
        ),
        (
            {"parameters": properties(["town"], city=CITY), "examples": ["a", "b"]},
            Level.ERROR,
            "requires 'town', which is not among its parameters",
        ),
        (
            {"parameters": properties(**{"the city": CITY}), "examples": ["a", "b"]},
            Level.WARNING,
            "the parameter name 'the city' should be",
        ),
        (
            {"parameters": properties(city={**CITY, "default": 3})},
            Level.WARNING,
            "the default of 'city' does not fit its own schema",
        ),
        ({"examples": []}, Level.ADVICE, "has 0 examples; give 2 or 3"),
        ({"examples": ["Rain?"] * 4}, Level.ADVICE, "has 4 examples"),
        (
            {"examples": ["Rain?", ("Sun in Oslo?", {"town": "Oslo"})]},
            Level.WARNING,
            "the example 'Sun in Oslo?' would be refused: unknown argument 'town'",
        ),
    ],
)
def test_what_would_mislead_a_model_is_found(
    fields: dict[str, Any], level: Level, told: str
) -> None:
    found = list(judge_spec(spec(**fields)))

    assert [remark[0] for remark in found] == [level]
    assert told in found[0][1]


@pytest.mark.parametrize(
    "fields",
    [
        {"description": "ราคาทองคำวันนี้ ใช้เมื่อผู้ใช้ถามราคาทอง"},
        {"description": "查询天气。"},
        {"parameters": {}, "examples": ["Now?", ("What time is it?", {})]},
        {"parameters": properties(city={**CITY, "default": None})},
        {"parameters": properties(city={"enum": ["Oslo"], "description": "where"})},
        {"parameters": properties(city={"anyOf": [{"type": "string"}], "description": "where"})},
        {"parameters": {"type": "object", "required": ["a"]}, "examples": ["a", "b"]},
    ],
)
def test_what_is_fine_is_left_alone(fields: dict[str, Any]) -> None:
    assert list(judge_spec(spec(**fields))) == []


def test_findings_name_file_line_and_tool(tmp_path: Path) -> None:
    folder = write_folder(
        tmp_path / "tools", {"a.py": tool_file("a"), "b.py": "x = (\n", "c.py": "pass\n"}
    ).resolve()

    found = judge(folder)

    assert [(item.file.name, item.line, item.level) for item in found] == [
        ("a.py", 3, Level.ADVICE),
        ("a.py", 3, Level.ADVICE),
        ("b.py", 1, Level.ERROR),
        ("c.py", 0, Level.WARNING),
    ]
    assert found[0].message == "a: the description is short; say what it does and when to call it"
    assert str(found[2]).startswith(f"{folder}/b.py:1: error: SyntaxError: '(' was never closed")
    assert "defines no tool" in found[3].message


def test_names_that_are_taken_are_errors(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {"a.py": WEATHER, "b.py": WEATHER})

    both = judge(folder)
    one = judge(folder / "a.py", taken={"weather": "the built-in tool weather"})

    assert [(item.file.name, item.level) for item in both] == [("b.py", Level.ERROR)]
    assert "is taken by the built-in tool weather" in one[0].message


def test_a_tool_that_is_not_available_here_is_mentioned(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {"weather.py": WEATHER})

    found = judge(folder, {"tools": {"weather": {"enabled": False}}})

    assert [(item.level, item.line) for item in found] == [(Level.ADVICE, 12)]
    assert "is_available() is false" in found[0].message


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    missing = judge(tmp_path / "missing")
    file = judge(tmp_path / "missing" / "x.py")

    assert [item.level for item in missing + file] == [Level.ERROR, Level.ERROR]


def test_the_files_of_others_have_no_errors(tmp_path: Path) -> None:
    found = judge(write_folder(tmp_path / "tools", GOOD))

    assert {item.level for item in found} == {Level.WARNING, Level.ADVICE}


def test_a_finding_without_a_line_names_its_file() -> None:
    assert str(Finding(Path("a.py"), 0, Level.ADVICE, "short")) == "a.py: advice: short"
