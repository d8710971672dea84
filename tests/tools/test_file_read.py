from pathlib import Path

import pytest

from openjarvis.core.registry import ToolRegistry
from openjarvis.toolkit.check import Checker
from openjarvis.toolkit.services import Services
from openjarvis.tools.file_read import MAX_BYTES, FileReadTool


def test_the_text_of_a_file_comes_with_its_real_path_and_size(tmp_path: Path) -> None:
    file = tmp_path / "บันทึก.txt"
    file.write_text("สวัสดี\nhello\n", encoding="utf-8")

    result = FileReadTool([tmp_path]).execute(path=str(file))

    assert (result.content, result.success) == ("สวัสดี\nhello\n", True)
    assert result.metadata == {"path": str(file), "size_bytes": 25}


def test_the_working_directory_is_allowed_when_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("here")
    tool = FileReadTool()

    monkeypatch.chdir(tmp_path)

    assert tool.execute(path="notes.txt").content == "here"


@pytest.mark.parametrize(
    ("text", "max_lines", "shown"),
    [
        ("1\n2\n3\n", 2, "1\n2\n"),
        ("1\n2\n3\n", 3, "1\n2\n3\n"),
        ("1\n2\n3", 3, "1\n2\n3"),
        ("1\n2\n3", 2, "1\n2\n"),
        ("1\r\n2\r\n", 1, "1\r\n"),
        ("1\u20282\n3", 1, "1\u20282\n"),
        ("", 1, ""),
        ("1\n2", None, "1\n2"),
        ("1\n2", 10**9, "1\n2"),
    ],
)
def test_max_lines_cuts_after_whole_lines(
    tmp_path: Path, text: str, max_lines: int | None, shown: str
) -> None:
    (tmp_path / "f.txt").write_bytes(text.encode())

    result = FileReadTool([tmp_path]).execute(path=str(tmp_path / "f.txt"), max_lines=max_lines)

    assert result.content == shown


@pytest.mark.parametrize("max_lines", [0, -1])
def test_max_lines_below_one_is_refused(tmp_path: Path, max_lines: int) -> None:
    result = FileReadTool([tmp_path]).execute(path="f.txt", max_lines=max_lines)

    assert result.success is False
    assert result.content == f"max_lines must be 1 or more, got {max_lines}."


def test_a_missing_path_fails(tmp_path: Path) -> None:
    result = FileReadTool([tmp_path]).execute()

    assert result.success is False
    assert result.content == "No path: name the file to read."


def test_what_is_wrong_with_a_path_is_told(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / ".env").write_text("KEY=1")
    tool = FileReadTool([tmp_path])

    told = {
        name: tool.execute(path=str(tmp_path / name)).content
        for name in ("none.txt", "dir", ".env", "../x")
    }

    assert told["none.txt"].startswith("File not found")
    assert told["dir"].startswith("Not a file")
    assert "sensitive" in told[".env"]
    assert told["../x"].startswith("Access denied")


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\x00", b"caf\xe9", b"\xed\xa0\x80", b"\xc0\xaf", b"a\x00b", b"\x89PNG\r\n"],
)
def test_what_is_not_utf_8_text_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f.bin").write_bytes(content)

    result = FileReadTool([tmp_path]).execute(path=str(tmp_path / "f.bin"))

    assert result.success is False
    assert result.content == "'f.bin' is not UTF-8 text; file_read reads text files only."


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_bytes(b"\xef\xbb\xbftext")

    assert FileReadTool([tmp_path]).execute(path=str(tmp_path / "f.txt")).content == "text"


def test_one_megabyte_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    (tmp_path / "full.txt").write_bytes(b"x" * MAX_BYTES)
    (tmp_path / "over.txt").write_bytes(b"x" * (MAX_BYTES + 1))
    tool = FileReadTool([tmp_path])

    full, over = (tool.execute(path=str(tmp_path / name)) for name in ("full.txt", "over.txt"))

    assert (full.success, full.metadata["size_bytes"]) == (True, MAX_BYTES)
    assert over.success is False
    assert "too large: at most 1,048,576 bytes" in over.content


def test_it_is_built_from_the_services_and_described_for_a_model(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("built")

    tool = ToolRegistry.get("file_read").build(Services(allowed_dirs=[tmp_path]))

    assert tool.execute(path=str(tmp_path / "f.txt")).content == "built"
    assert (tool.spec.name, tool.spec.category) == ("file_read", "filesystem")
    assert tool.spec.parameters["required"] == ["path"]
    assert "Call it" in tool.spec.description
    for example in tool.spec.examples:
        if not isinstance(example, str):
            assert Checker(tool.spec.parameters).check(example[1]) == example[1]
