from base64 import b64encode
from typing import Any

import pytest

from openjarvis import llm
from openjarvis.core.images import MAX_BASE64, MOST_PARTS, image_parts, images_in
from openjarvis.core.types import ToolCall
from openjarvis.execution.executor import ToolExecutor
from pictures import GIF, JPEG, PNG, WEBP, part


@pytest.mark.parametrize(
    ("data", "kind"),
    [(PNG, "image/png"), (JPEG, "image/jpeg"), (GIF, "image/gif"), (WEBP, "image/webp")],
)
def test_the_media_type_is_read_from_the_bytes(data: bytes, kind: str) -> None:
    assert llm.Image(data).media_type == kind
    assert [one.media_type for one in images_in({"parts": [part(data, "image/svg+xml")]})] == [kind]


@pytest.mark.parametrize(
    "data", [b"", b"<svg/>", b"RIFF1234WAVE", PNG + b"\0" * MAX_BASE64, "text", None]
)
def test_what_no_model_can_see_is_no_image(data: Any) -> None:
    with pytest.raises(ValueError, match=r"no PNG|more than"):
        llm.Image(data)


class Odd(dict):  # type: ignore[type-arg]
    def get(self, *_: Any) -> Any:
        raise RuntimeError("asked")


HOSTILE = [
    "no list",
    [None, 3, "text", []],
    [Odd(part(PNG))],
    [{"type": "image"}],
    [{"type": "image", "data": b"bytes"}],
    [{"type": "audio", "mimeType": "audio/mpeg", "data": "aGk="}],
    [{"type": "resource", "resource": "none"}],
    [{"type": "resource", "resource": {"uri": "a:b", "blob": "aGk="}}],
]


@pytest.mark.parametrize("parts", HOSTILE)
def test_parts_that_are_no_images_are_passed_over(parts: Any) -> None:
    assert list(images_in({"parts": parts})) == []
    assert list(images_in(Odd(parts=parts))) == []


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("aGVsbG8=", "no PNG"),
        ("not base64!", "no base64"),
        ("ÿ", "no base64"),
        ("A" * (MAX_BASE64 + 4), "too large"),
    ],
)
def test_an_image_that_cannot_be_shown_says_why(data: str, why: str) -> None:
    [said] = images_in({"parts": [{"type": "image", "mimeType": "image/png", "data": data}]})

    assert isinstance(said, str)
    assert why in said


def test_an_image_in_a_resource_is_one_too_and_there_are_not_too_many() -> None:
    blob = {"mimeType": "image/png", "blob": b64encode(PNG).decode(), "uri": "a:b"}

    parts = image_parts({"parts": [{"type": "resource", "resource": blob}] * (2 * MOST_PARTS)})

    assert parts == [part(PNG)] * MOST_PARTS


def test_a_tool_returns_images_alone_or_among_texts() -> None:
    @llm.tool
    def chart() -> llm.Image:
        """Draw it."""
        return llm.Image(PNG)

    @llm.tool
    async def charts() -> list[Any]:
        """Draw them."""
        return ["Two:", llm.Image(PNG), {"and": 1}, llm.Image(GIF)]

    executor = ToolExecutor([chart, charts])

    one = executor.execute(ToolCall("1", "chart", "{}"))
    two = executor.execute(ToolCall("2", "charts", "{}"))

    assert one.content == llm.Image(PNG).line
    assert one.content.startswith(f"[image image/png, {len(PNG)} bytes, sha256 ")
    assert one.metadata["parts"] == [part(PNG)]
    assert two.content.splitlines()[0::2] == ["Two:", '{"and": 1}']
    assert two.metadata["parts"] == [part(PNG), part(GIF)]
    assert "IHDR" not in repr(llm.Image(PNG))
