"""The tool that reads a text file inside the allowed directories."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

from openjarvis.core.errors import ToolError
from openjarvis.core.registry import ToolRegistry
from openjarvis.core.types import ToolResult
from openjarvis.safety.paths import AllowedDirs, read_confined
from openjarvis.toolkit.services import Services
from openjarvis.toolkit.typed import TypedTool

MAX_BYTES = 1_048_576


@ToolRegistry.register("file_read")
class FileReadTool(TypedTool):
    """Read a text file of the user's.

    Call it when the user names a file or asks what is in one. It reads UTF-8 text of at most 1 MB,
    inside the allowed directories.
    """

    name = "file_read"
    category = "filesystem"
    read_only = True
    idempotent = True
    open_world = False
    required = ("path",)
    examples = (
        ("What does notes.txt say?", {"path": "notes.txt"}),
        ("Show me the first 20 lines of docs/plan.md", {"path": "docs/plan.md", "max_lines": 20}),
        "Read the file README.md",
    )

    def __init__(self, allowed_dirs: AllowedDirs = None) -> None:
        """Read below `allowed_dirs` only; None means the working directory."""
        self._allowed_dirs = allowed_dirs

    @classmethod
    def build(cls, services: Services) -> Self:
        return cls(services.allowed_dirs)

    def run(
        self,
        path: Annotated[str, "The file, relative to the working directory or absolute"] = "",
        max_lines: Annotated[int | None, "Read only so many lines from the beginning"] = None,
    ) -> ToolResult:
        if not path:
            raise ToolError("No path: name the file to read.")
        if max_lines is not None and max_lines < 1:
            raise ToolError(f"max_lines must be 1 or more, got {max_lines}.")
        real, content = read_confined(path, self._allowed_dirs, max_bytes=MAX_BYTES)
        return ToolResult(
            self.name,
            _head(_text(content, real), max_lines),
            metadata={"path": str(real), "size_bytes": len(content)},
        )


def _text(content: bytes, path: Path) -> str:
    if b"\0" not in content:
        try:
            return content.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            raise _not_text(path) from error
    raise _not_text(path)


def _not_text(path: Path) -> ToolError:
    return ToolError(f"{path.name!r} is not UTF-8 text; file_read reads text files only.")


def _head(text: str, max_lines: int | None) -> str:
    if max_lines is None:
        return text
    lines: Sequence[str] = text.split("\n", max_lines)
    return text if len(lines) <= max_lines else "\n".join(lines[:max_lines]) + "\n"
