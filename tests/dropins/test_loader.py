import os
from pathlib import Path

import pytest

from dropin_files import GOOD, NAMES, tool_file, write_folder
from openjarvis.dropins.loader import LoadReport, load_file, load_folder, load_folders


def names(report: LoadReport) -> list[str]:
    return [tool.spec.name for tool in report.tools]


def problems(report: LoadReport) -> list[str]:
    return [str(problem) for problem in report.problems]


def test_the_tools_of_a_folder_are_found_by_file_name_and_place(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", GOOD)

    report = load_folder(folder)

    assert problems(report) == []
    assert names(report) == NAMES
    assert report.left_out == []
    assert [file.name for file in report.files] == sorted(set(GOOD) - {"_rates.py"})


def test_files_that_are_no_tool_files_are_not_run(tmp_path: Path) -> None:
    not_run = dict.fromkeys(
        ("_x.py", "__init__.py", ".hidden.py", "._weather.py", "notes.txt", "tool.pyc", "x.py.bak"),
        "raise SystemExit('was run')",
    )
    folder = write_folder(tmp_path / "tools", {**not_run, "sub/deep.py": "1/0", "ok.py": ""})

    report = load_folder(folder)

    assert problems(report) == []
    assert [file.name for file in report.files] == ["ok.py"]


def test_a_missing_folder_is_a_problem_only_when_it_was_asked_for(tmp_path: Path) -> None:
    missing = tmp_path / "missing"

    asked = load_folders([missing])
    by_default = load_folders([], optional=[missing, tmp_path / "more"])

    assert problems(asked) == [f"{missing}: there is no such tool folder"]
    assert asked.refused == asked.problems
    assert problems(by_default) == []


def test_a_default_folder_that_is_refused_is_a_problem(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {"x.py": "raise SystemExit('was run')"})
    folder.chmod(0o777)

    report = load_folders([], optional=[folder])

    (problem,) = report.problems
    assert problem.file == folder
    assert problem.reason.startswith("the tool folder is refused: ")
    assert "chmod go-w" in problem.reason
    assert report.files == []


def test_the_empty_path_is_not_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_folder(tmp_path / "tools", {"x.py": tool_file("x")}))

    report = load_folders([""])

    assert problems(report) == [".: the path of a tool folder is empty"]


def test_a_relative_folder_and_one_of_the_home_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path / "agent/tools", {"x.py": tool_file("x")})
    write_folder(tmp_path / ".openjarvis/tools", {"y.py": tool_file("y")})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    report = load_folders([], optional=["agent/tools", "~/.openjarvis/tools"])

    assert names(report) == ["x", "y"]


def test_a_home_that_is_not_known_is_a_problem() -> None:
    report = load_folders(["~nobody-of-this-name/tools"])

    assert len(report.problems) == 1


def test_what_is_no_folder_is_a_problem(tmp_path: Path) -> None:
    file = write_folder(tmp_path / "tools", {"x.py": ""}) / "x.py"

    assert problems(load_folder(file)) == [
        f"{file}: the tool folder is refused: it is not a folder"
    ]


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {})
    folder.chmod(0o300)

    report = load_folder(folder)

    assert "cannot be read: Permission denied" in problems(report)[0]


def test_a_folder_is_loaded_once_under_all_its_paths(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {"x.py": tool_file("x")})
    (tmp_path / "link").symlink_to(folder)

    report = load_folders([folder, tmp_path / "link"], optional=[folder / ".." / "tools"])

    assert names(report) == ["x"]
    assert problems(report) == []


def test_a_name_of_a_built_in_is_refused_naming_both_origins(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {"calc.py": tool_file("calculator")})

    report = load_folders([folder], taken={"calculator": "the built-in tool calculator"})

    assert names(report) == []
    assert problems(report) == [
        f"{folder.resolve()}/calc.py:3: the tool name 'calculator' is taken by the built-in tool "
        "calculator; rename this one"
    ]


def test_a_name_of_another_file_is_refused_naming_both_origins(tmp_path: Path) -> None:
    one = write_folder(tmp_path / "one", {"b.py": tool_file("same"), "a.py": tool_file("same")})
    two = write_folder(tmp_path / "two", {"c.py": tool_file("same"), "d.py": tool_file("other")})

    report = load_folders([one], optional=[two])

    assert names(report) == ["same", "other"]
    assert report.loaded[0].file == one.resolve() / "a.py"
    assert problems(report) == [
        f"{place}:3: the tool name 'same' is taken by {one.resolve()}/a.py:3; rename this one"
        for place in (one.resolve() / "b.py", two.resolve() / "c.py")
    ]


def test_named_folders_come_before_the_usual_ones(tmp_path: Path) -> None:
    usual = write_folder(tmp_path / "a", {"x.py": tool_file("same")})
    named = write_folder(tmp_path / "b", {"x.py": tool_file("same")})

    report = load_folders([named], optional=[usual])

    assert [entry.file for entry in report.loaded] == [named.resolve() / "x.py"]


def test_the_names_that_are_taken_are_not_changed(tmp_path: Path) -> None:
    taken = {"calculator": "built-in"}

    load_folders([write_folder(tmp_path / "tools", {"x.py": tool_file("x")})], taken=taken)

    assert taken == {"calculator": "built-in"}


def test_one_file_is_loaded_with_its_siblings_only(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {**GOOD, "broken.py": "x = ("})

    report = load_file(folder / "currency.py")

    assert names(report) == ["convert_currency"]
    assert problems(report) == []


def test_a_file_by_itself_is_checked_as_in_its_folder(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "tools", {"x.py": tool_file("x"), "notes.txt": ""})

    taken = load_file(folder / "x.py", taken={"x": "the built-in tool x"})
    missing = load_file(folder / "y.py")
    text = load_file(folder / "notes.txt")
    folder.chmod(0o777)
    writable = load_file(folder / "x.py")

    assert "is taken by the built-in tool x" in problems(taken)[0]
    assert "there is no module 'agent.tools.y' in " in problems(missing)[0]
    assert problems(text) == [f"{folder}/notes.txt: a tool file has a name that ends in .py"]
    assert "is writable by everyone" in problems(writable)[0]
