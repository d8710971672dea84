"""Images that tools give to models, in the form that MCP has for them.

They stand in the result's `metadata["parts"]`, as `{"type": "image", "mimeType", "data"}` with the
data in base64. Tools are hostile: what is read from there is checked first.
"""

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

PARTS = "parts"
"""The key of a result's metadata that holds its images, audio and files."""
MOST_PARTS = 100
"""How many images of one result are looked at."""
MAX_BASE64 = 5_000_000
"""How long the base64 text of one image may be; providers take no more."""
_HASH_DIGITS = 16
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


@dataclass(frozen=True, slots=True)
class Image:
    """A PNG, JPEG, GIF or WebP image for a model; a tool returns it, alone or among texts.

    `media_type` is read from the bytes, whatever their source calls them.

    Raises:
        ValueError: when the bytes are no such image, or more than a model takes.
    """

    data: bytes = field(repr=False)
    media_type: str = field(init=False)

    def __post_init__(self) -> None:
        kind = _media_type(self.data)
        if not kind:
            raise ValueError("it is no PNG, JPEG, GIF or WebP image")
        if len(self.data) * 4 > MAX_BASE64 * 3:
            raise ValueError(f"it has more than {MAX_BASE64 * 3 // 4:,} bytes")
        object.__setattr__(self, "media_type", kind)

    @property
    def base64(self) -> str:
        """The bytes as base64 text."""
        return b64encode(self.data).decode()

    @property
    def url(self) -> str:
        """The image as a URL that holds it."""
        return f"data:{self.media_type};base64,{self.base64}"

    @property
    def part(self) -> dict[str, str]:
        """The image as `metadata["parts"]` holds it."""
        return {"type": "image", "mimeType": self.media_type, "data": self.base64}

    @property
    def line(self) -> str:
        """The line that stands for the image in texts and records."""
        return line_of("image", self.media_type, self.data)


def line_of(kind: str, media_type: str, data: bytes) -> str:
    """Return the line that stands for bytes in texts and records."""
    digest = hashlib.sha256(data).hexdigest()[:_HASH_DIGITS]
    return f"[{kind} {media_type}, {len(data):,} bytes, sha256 {digest}]"


def image_parts(metadata: dict[str, Any]) -> list[dict[str, str]]:
    """Return the parts of a result that say they are images, in plain values, not looked into."""
    # The values are a tool's own: only those of exact types are asked for anything.
    parts = dict.get(metadata, PARTS)
    if type(parts) is not list:
        return []
    return list(islice(filter(None, map(_image_part, parts)), MOST_PARTS))


def images_in(metadata: dict[str, Any]) -> Iterator[Image | str]:
    """Yield the images of a result, in their order; for one that cannot be shown, why."""
    for part in image_parts(metadata):
        data = part["data"]
        try:
            # Looked at before it is decoded: a text of any length may stand here.
            yield "it is too large" if len(data) > MAX_BASE64 else Image(decoded(data))
        except ValueError as error:
            yield str(error)


def _image_part(part: Any) -> dict[str, str] | None:
    held = part.get("resource") if type(part) is dict and part.get("type") == "resource" else part
    if type(held) is not dict:
        return None
    kind, media_type = part.get("type"), held.get("mimeType")
    data = held.get("blob") if held is not part else held.get("data")
    media_type = media_type if type(media_type) is str else ""
    if type(data) is not str or not (kind == "image" or media_type.startswith("image/")):
        return None
    return {"type": "image", "mimeType": media_type, "data": data}


def decoded(data: str) -> bytes:
    """Return the bytes of base64 text.

    Raises:
        ValueError: when it is none.
    """
    try:
        return b64decode(data, validate=True)
    except ValueError as error:
        raise ValueError("its data is no base64") from error


def _media_type(data: Any) -> str:
    if not isinstance(data, bytes):
        return ""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _BEGINNINGS.items() if data.startswith(start)), "")
